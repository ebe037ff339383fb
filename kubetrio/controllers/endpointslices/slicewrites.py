"""What the controllers of endpoint slices have in common: which slices are whose, and writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.endpointslices.slices import MANAGED_BY, SERVICE_NAME, Plan
from kubetrio.controllers.identity import as_service_account
from kubetrio.informers.digests import Digests
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.machinery.status import ApiError
from kubetrio.resources.operations import Operations
from kubetrio.resources.writes import DeleteOptions, Target
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.model import Reading

Object = dict[str, Any]
SLICES = "/registry/endpointslices/"


class SliceDigest(NamedTuple):
    """What is kept of a slice.

    Args:
        service: whose it is, by its label.
        manager: who made it, by its label.
    """

    service: str
    manager: str


def slice_digest(value: bytes) -> SliceDigest:
    """What is kept of a slice.

    Args:
        value: the stored slice.
    """
    labels = orjson.loads(value)["metadata"].get("labels") or {}
    return SliceDigest(labels.get(SERVICE_NAME) or "", labels.get(MANAGED_BY) or "")


class OwnSlices:
    """The slices that one controller made, by service.

    Args:
        manager: the name of the controller in labels.
        informers: say what slices there are.
        changed: told of ``namespace/name`` of a service one of whose slices changed.
    """

    def __init__(
        self, manager: str, informers: SharedInformerFactory, changed: Callable[[str], None]
    ) -> None:
        self._manager = manager
        self._tell = changed
        self._store: Reading = informers.store
        self._names: dict[str, set[str]] = {}
        self.digests: Digests[SliceDigest] = informers.digests(SLICES, slice_digest)
        self.digests.on_change(self._changed)

    def _changed(
        self, namespace: str, name: str, old: SliceDigest | None, new: SliceDigest | None
    ) -> None:
        for digest in (old, new):
            if digest is None or digest.manager != self._manager or not digest.service:
                continue
            key = f"{namespace}/{digest.service}"
            names = self._names.setdefault(key, set())
            if digest is new:
                names.add(name)
            elif digest != new:
                names.discard(name)
                if not names:
                    del self._names[key]
            self._tell(key)

    async def of(self, key: str) -> list[Object]:
        """The slices of a service; those that are being deleted are left out.

        Raises:
            StoreError: they cannot be read.
        """
        namespace = key.partition("/")[0]
        slices = list[Object]()
        for name in sorted(self._names.get(key, ())):
            item = await self._store.get(f"{SLICES}{namespace}/{name}")
            if item is not None:
                slice_ = orjson.loads(item.value)
                if "deletionTimestamp" not in slice_["metadata"]:
                    slice_["metadata"]["resourceVersion"] = str(item.revision)
                    slices.append(slice_)
        return slices


class SliceWriter:
    """Writes what was planned, in the name of one controller.

    Args:
        account: its service account.
        registry: what is served.
        operations: writes.
    """

    def __init__(self, account: str, registry: LiveRegistry, operations: Operations) -> None:
        self._kind = registry.resources["discovery.k8s.io", "v1", "endpointslices"]
        self._operations = operations
        self._who = as_service_account(account)

    async def write(self, plan: Plan) -> None:
        """Write what was planned.

        Raises:
            ApiError: one of the writes is refused; those before it are done.
        """
        for slice_ in plan.create:
            target = Target(self._kind, slice_["metadata"]["namespace"])
            try:
                await self._operations.create(target, slice_, self._who)
            except ApiError as error:
                causes = (error.details or {}).get("causes") or ()
                if any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
                    return
                raise
        for slice_ in plan.update:
            meta = slice_["metadata"]
            target = Target(self._kind, meta["namespace"], meta["name"])
            await self._operations.replace(target, slice_, self._who)
        await self.delete(plan.delete)

    async def delete(self, slices: Iterable[Object]) -> None:
        """Delete slices.

        Raises:
            ApiError: they cannot be deleted.
        """
        for slice_ in slices:
            meta = slice_["metadata"]
            target = Target(self._kind, meta["namespace"], meta["name"])
            try:
                await self._operations.delete(target, DeleteOptions(), self._who)
            except ApiError as error:
                if error.code != 404:
                    raise
