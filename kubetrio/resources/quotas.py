"""Quotas in the store: read for admission, charged by it, and recounted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trio

from kubetrio.admission.quotausage import ZERO, concerned, counts_for, resource_of, usage
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.quantity import Quantity
from kubetrio.resources import revising
from kubetrio.resources.objects import order_metadata, stamp
from kubetrio.schema.registry import Registry, ResourceType
from kubetrio.store.errors import KeyMissing, RevisionMismatch
from kubetrio.store.model import Store

Object = dict[str, Any]
EXPECTED_S = 5.0  # a write that was charged for is stored by then, or was refused


class StoredQuotas:
    """The quotas of one server; see `admission.quota.Quotas`.

    What is charged for is stored a moment later.  Counting in between would find less than was
    charged, and let others in on that: `expecting` says when not to.

    Args:
        store: where they live.
        registry: resources that can be counted.
    """

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._resource = registry.resources["", "v1", "resourcequotas"]
        self._expected: dict[str, dict[str, float]] = {}  # keys and until when, by namespace
        self._countable: dict[GroupResource, ResourceType] = {}
        for resource in registry.resources.values():
            self._countable.setdefault(resource.group_resource, resource)

    async def of(self, namespace: str) -> list[Object]:
        """The quotas of a namespace; of all of them when that is empty."""
        return await revising.read_all(self._store, self._resource, namespace)

    def expect(self, namespace: str, key: str) -> None:
        """See `admission.quota.Quotas`."""
        expected = self._expected.setdefault(namespace, {})
        expected[key] = trio.current_time() + EXPECTED_S

    def forget(self, namespace: str, key: str) -> None:
        """See `admission.quota.Quotas`."""
        expected = self._expected.get(namespace)
        if expected is not None:
            expected.pop(key, None)
            if not expected:
                del self._expected[namespace]

    def stored(self, key: str) -> bool:
        """Note that an object was written; whether it was expected."""
        if not self._expected:
            return False
        namespace = key.rsplit("/", 2)[1]
        if key not in self._expected.get(namespace, ()):
            return False
        self.forget(namespace, key)
        return True

    def expecting(self, namespace: str) -> bool:
        """Whether something that was charged for in a namespace is not stored yet."""
        now = trio.current_time()
        for key, until in list(self._expected.get(namespace, {}).items()):
            if until <= now:
                self.forget(namespace, key)
        return namespace in self._expected

    async def charge(self, quota: Object, used: Mapping[str, str]) -> bool:
        """Write what is used of a quota; False when somebody else wrote it meanwhile."""
        return await self._write(quota, {**(quota.get("status") or {}), "used": dict(used)})

    async def _write(self, quota: Object, status: Object) -> bool:
        meta = quota["metadata"]
        key = self._resource.key(meta["namespace"], meta["name"])
        new = {**quota, "metadata": order_metadata(meta), "status": status}
        try:
            await self._store.update(key, stamp(new), expected=int(meta["resourceVersion"]))
        except (RevisionMismatch, KeyMissing):
            return False
        return True

    async def recount(self, namespace: str) -> bool:
        """Make the status of a namespace's quotas what is stored; False when one was changed."""
        settled = True
        for quota in await self.of(namespace):
            hard = dict(sorted(((quota.get("spec") or {}).get("hard") or {}).items()))
            counted = await self._count(namespace, quota, hard)
            used = {name: str(counted[name]) for name in hard if name in counted}
            status = {"hard": hard, "used": used} if hard else {}
            if status != (quota.get("status") or {}):
                settled = await self._write(quota, status) and settled
        return settled

    async def _count(self, namespace: str, quota: Object, hard: Object) -> dict[str, Quantity]:
        counted: dict[str, Quantity] = {}
        kinds = {kind for name in hard if (kind := resource_of(name)) is not None}
        for kind in sorted(kinds):
            names = concerned(kind, hard)
            counted.update(dict.fromkeys(names, ZERO))
            resource = self._countable.get(kind)
            if resource is None:
                continue
            for obj in await revising.read_all(self._store, resource, namespace):
                if not counts_for(kind, obj, quota):
                    continue
                used = usage(kind, obj)
                for name in names:
                    if name in used:
                        counted[name] = counted[name] + used[name]
        return counted
