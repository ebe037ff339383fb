"""Default roles and bindings: made at start, and what was taken from them given back.

Source: k8s.io/kubernetes/pkg/registry/rbac/rest/storage_rbac.go (post-start hook
``rbac/bootstrap-roles``); the objects are facts in ``schemas/bootstrap.json``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import trio

from kubetrio.auth.rbac.matching import GROUP
from kubetrio.auth.rbac.reconciliation import is_protected, reconciled_binding, reconciled_role
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.machinery.status import ApiError
from kubetrio.observe.logs import Log
from kubetrio.resources.operations import Operations
from kubetrio.resources.own import OWN
from kubetrio.resources.writes import DeleteOptions, Target
from kubetrio.schema import builtin
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.wire.report import Report

Object = dict[str, Any]

log = Log("kubetrio.bootstrap")
KINDS = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
# Roles that became aggregated ones: what was changed in them goes to the new ones.
AGGREGATED = {
    name: f"system:aggregate-to-{name}" for name in ("admin", "edit", "view")
}  # fmt: skip


class DefaultRoles:
    """Keeps the default roles and bindings of one server.

    Args:
        registry: what is served.
        operations: writes.
        informers: say what is stored.
        more: roles that this server has beside the default ones.
    """

    def __init__(
        self,
        registry: LiveRegistry,
        operations: Operations,
        informers: SharedInformerFactory,
        more: Sequence[Object] = (),
    ) -> None:
        self._registry = registry
        self._operations = operations
        self._informers = informers
        self._more = more

    async def run(self) -> None:
        """Make what is missing, and add what stored ones lack.

        What is refused is logged and left out.  Objects are written beside each other, so that
        they share the disk's syncs; nothing refers to one that has to be there first.

        Raises:
            ApiError: the store takes no writes.
        """
        for kind in KINDS:
            await self._informers.informer_for(self._kind(kind)).sync()
        await self._prime()
        async with trio.open_nursery() as nursery:
            for fact in (*builtin.parsed("bootstrap").values(), *self._more):
                if fact["kind"] in KINDS:
                    nursery.start_soon(self._ensure, fact)

    def _kind(self, kind: str) -> Kind:
        return self._registry.by_kind[GroupVersionKind(GROUP, "v1", kind)]

    def _stored(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        return self._informers.informer_for(kind).lister.get(name, namespace)

    async def _prime(self) -> None:
        """Copy roles of old servers to those that are gathered into them now."""
        kind = self._kind("ClusterRole")
        for old, new in AGGREGATED.items():
            role = self._stored(kind, old)
            if role is None or role.get("aggregationRule") or self._stored(kind, new) is not None:
                continue
            kept = ("labels", "annotations")
            meta = {name: role["metadata"][name] for name in kept if name in role["metadata"]}
            await self._create(kind, {**role, "metadata": {"name": new, **meta}})

    async def _ensure(self, fact: Object) -> None:
        kind = self._kind(fact["kind"])
        gvk = kind.group_version_kind
        default = scheme_of(gvk.group).decode(gvk, fact, Report(), {})
        kind.rules.default(default)
        meta = default["metadata"]
        stored = self._stored(kind, meta["name"], meta.get("namespace", ""))
        try:
            if stored is None:
                await self._create(kind, default)
            else:
                await self._reconcile(kind, stored, default)
        except ApiError as error:
            if error.code >= 500:
                raise
            log.warning(
                "object not written", object=f"{kind.kind}/{meta['name']}", reason=error.message
            )

    async def _create(self, kind: Kind, wanted: Object) -> None:
        meta = wanted["metadata"]
        target = Target(resource=kind, namespace=meta.get("namespace", ""), name=meta["name"])
        sent = {**wanted, "metadata": dict(meta)}
        try:
            await self._operations.create(target, wanted, OWN, sent=sent)
        except ApiError as error:
            if error.code != 409:  # another server was faster
                raise

    async def _reconcile(self, kind: Kind, stored: Object, wanted: Object) -> None:
        if is_protected(stored):
            return
        meta = stored["metadata"]
        target = Target(resource=kind, namespace=meta.get("namespace", ""), name=meta["name"])
        if not kind.kind.endswith("Binding"):
            better: Object | None = reconciled_role(stored, wanted)
        else:
            better = reconciled_binding(stored, wanted)
        if better == stored:
            return
        if better is None:  # for another role: that cannot be changed
            await self._operations.delete(target, DeleteOptions(), OWN)
            await self._create(kind, wanted)
            return
        corrected = better

        def correct(live: Object) -> Object:
            if live["metadata"]["resourceVersion"] != meta["resourceVersion"]:
                return live  # another client wrote meanwhile: at the next start
            return {**corrected, "metadata": {**live["metadata"], **corrected["metadata"]}}

        await self._operations.patch(target, correct, OWN)
