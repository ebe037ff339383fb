"""Empties a namespace: every object of every kind, pods first, here and at other servers.

Source: docs "Namespaces" (automatic deletion), KEP-5080 (ordered namespace deletion);
k8s.io/kubernetes/pkg/controller/namespace/deletion/namespaced_resources_deleter.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import orjson
import trio

from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.namespaces.conditions import Left, RemainingContent
from kubetrio.controllers.namespaces.others import CollectionError, OtherResource, OtherServers
from kubetrio.machinery.status import ApiError
from kubetrio.resources import objects
from kubetrio.resources.deletion import FOREGROUND, ORPHAN
from kubetrio.resources.operations import Operations
from kubetrio.resources.writes import DeleteOptions, Target
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.wellknown import POD_RESOURCE
from kubetrio.store.errors import StoreError
from kubetrio.store.model import KeyValue, Range, Store
from kubetrio.store.scan import scan

Object = dict[str, Any]

ACCOUNT = "namespace-controller"
AT_A_TIME = 16  # deletions under way: they share the syncs of the store
PAGE_KEYS = 100
STEP = 20  # objects looked at without a turn for others
POLICIES = frozenset({FOREGROUND, ORPHAN})
DELETE = DeleteOptions(propagation="Background")


class Content:
    """The content of namespaces.

    Args:
        registry: what is served.
        operations: writes.
        store: where it is.
        others: have content, too.
    """

    def __init__(
        self,
        registry: LiveRegistry,
        operations: Operations,
        store: Store,
        others: OtherServers,
    ) -> None:
        self._others = others
        self._registry = registry
        self._operations = operations
        self._store = store
        self._who = as_service_account(ACCOUNT)

    async def delete(
        self, namespace: str, elapsed_s: float, *, elsewhere: bool = True
    ) -> tuple[RemainingContent, int]:
        """Delete what is in a namespace.

        Pods go first; while some of them are there, nothing else is deleted.

        Args:
            namespace: its name.
            elapsed_s: for how long it has been deleted, in seconds.
            elsewhere: whether it is deleted at other servers, too.

        Returns:
            What is left, and in how many seconds to look again; 0 for not at all.
        """
        resources, unknown = self._others.found() if elsewhere else ((), ())
        remains, wait_s = RemainingContent(unknown), 0
        kinds = self._kinds()
        for kind in [one for one in kinds if one.group_resource == POD_RESOURCE]:
            wait_s = await self._of_kind(kind, namespace, elapsed_s, remains)
            if remains.objects:
                # As upstream, whose conditions do not say yet what is left.
                return RemainingContent(unknown, failures=remains.failures), wait_s
        for kind in kinds:
            if kind.group_resource != POD_RESOURCE:
                wait_s = max(wait_s, await self._of_kind(kind, namespace, elapsed_s, remains))
        for resource in resources:
            wait_s = max(wait_s, await self._of_other(resource, namespace, remains))
        return remains, wait_s

    def _kinds(self) -> Sequence[Kind]:
        """One kind of each collection with namespaces."""
        return [
            kind
            for kind in self._registry.current.preferred("delete", "list")
            if kind.namespaced and kind.storage_prefix
        ]

    async def _of_kind(
        self, kind: Kind, namespace: str, elapsed_s: float, remains: RemainingContent
    ) -> int:
        """Delete the objects of a kind; in how many seconds to look again."""
        wait_s = 0
        try:
            remaining = await self._deleted(kind, namespace)
            if remaining is None:
                return 0
            if kind.group_resource == POD_RESOURCE:
                wait_s = remaining if elapsed_s < remaining else 0
            left = await self._left(kind, namespace)
        except (ApiError, StoreError) as error:
            remains.failures.append(str(error))
            return wait_s
        return remains.add(left, namespace, kind.group_resource, kind.version, wait_s)

    async def _of_other(
        self, resource: OtherResource, namespace: str, remains: RemainingContent
    ) -> int:
        """Delete the objects of a resource that another server has; when to look again."""
        try:
            left = await self._others.delete(resource, namespace)
        except CollectionError as error:
            remains.failures.append(str(error))
            return 0
        version = resource.route.group_version.version
        return remains.add(left, namespace, resource.group_resource, version, 0)

    async def _deleted(self, kind: Kind, namespace: str) -> int | None:
        """Delete all objects of a kind; the longest time one may take, None if there are none.

        Raises:
            ApiError: the first that was refused; the others are deleted.
            StoreError: they cannot be read.
        """
        failures: list[ApiError | StoreError] = []
        grace_s: int | None = None
        limiter = trio.CapacityLimiter(AT_A_TIME)

        async def delete(name: str) -> None:
            async with limiter:
                try:
                    await self._operations.delete(Target(kind, namespace, name), DELETE, self._who)
                except ApiError as error:
                    if error.code != 404:
                        failures.append(error)
                except StoreError as error:
                    failures.append(error)

        keys, more = Range.prefix(kind.prefix(namespace)), True
        while more:
            page = await self._store.range(keys, limit=PAGE_KEYS)
            more = page.more
            if page.items:
                keys = keys.after(page.items[-1].key)
            async with trio.open_nursery() as nursery:
                for number, item in enumerate(page.items, 1):
                    grace_s = max(grace_s or 0, _grace(item) if _pods(kind) else 0)
                    meta = objects.metadata(item.value)
                    if not _waits(meta):
                        nursery.start_soon(delete, meta["name"])
                    if number % STEP == 0:
                        await trio.lowlevel.checkpoint()
        if failures:
            raise failures[0]
        return grace_s

    async def _left(self, kind: Kind, namespace: str) -> Left:
        number, finalizers = 0, Counter[str]()
        async for item in scan(self._store, Range.prefix(kind.prefix(namespace)), PAGE_KEYS):
            number += 1
            finalizers.update(objects.metadata(item.value).get("finalizers") or ())
            if number % STEP == 0:
                await trio.lowlevel.checkpoint()
        return Left(number, finalizers)


def _pods(kind: Kind) -> bool:
    return kind.group_resource == POD_RESOURCE


def _grace(item: KeyValue) -> int:
    """Seconds that a pod may take to end."""
    pod: Object = orjson.loads(item.value)
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    return (pod.get("spec") or {}).get("terminationGracePeriodSeconds") or 0


def _waits(meta: Object) -> bool:
    """Whether an object is deleted already, and another deletion would change nothing in it."""
    finalizers = meta.get("finalizers") or ()
    return "deletionTimestamp" in meta and bool(finalizers) and POLICIES.isdisjoint(finalizers)
