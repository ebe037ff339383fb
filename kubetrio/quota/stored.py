"""Quotas in the store: read for admission, charged by it, and recounted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trio

from kubetrio.env import Env
from kubetrio.informers.informer import Item
from kubetrio.machinery.quantity import Quantity, amounts
from kubetrio.machinery.timestamps import format_time
from kubetrio.quota.usage import ZERO, concerned, counts_for, resource_of, usage
from kubetrio.resources import reading
from kubetrio.resources.fieldmanager import FieldManager
from kubetrio.resources.serverwrites import update_status_as_server
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.model import Store

Object = dict[str, Any]
CHARGING, COUNTING = "kube-apiserver", "kube-controller-manager"  # who owns what is written
EXPECTED_S = 5.0  # a write that was charged for is stored by then, or was refused


class StoredQuotas:
    """The quotas of one server; see `admission.quota.Quotas`.

    What is charged for is stored a moment later.  Counting in between would find less than was
    charged, and let others in on that: `expecting` says when not to.

    Only one task writes the quotas of a namespace at a time; who waits sees what the others wrote.

    Args:
        store: where they live.
        registry: resources that can be counted.
        env: wall clock.
    """

    def __init__(self, store: Store, registry: LiveRegistry, env: Env) -> None:
        self._store = store
        self._env = env
        self._turns: dict[str, trio.Lock] = {}
        self._writing: dict[str, Object] = {}
        self.registry = registry
        self._resource = registry.resources["", "v1", "resourcequotas"]
        self._expected: dict[str, dict[str, float]] = {}  # keys and until when, by namespace

    async def of(self, namespace: str) -> list[Object]:
        """The quotas of a namespace; of all of them when that is empty."""
        return await reading.read_all(self._store, self._resource, namespace)

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

    @asynccontextmanager
    async def turn(self, namespace: str) -> AsyncIterator[None]:
        """See `admission.quota.Quotas`."""
        lock = self._turns.setdefault(namespace, trio.Lock())
        try:
            async with lock:
                yield
        finally:
            statistics = lock.statistics()
            if not statistics.locked and not statistics.tasks_waiting:
                self._turns.pop(namespace, None)

    async def charge(self, quota: Object, used: Mapping[str, str]) -> bool:
        """Write what is used of a quota; False when another writer came first."""
        status = {**(quota.get("status") or {}), "used": dict(used)}
        return await self._write(quota, status, CHARGING)

    async def _write(self, quota: Object, status: Object, manager: str) -> bool:
        new = {**quota, "metadata": dict(quota["metadata"]), "status": status}
        fields = FieldManager(self._resource, manager, format_time(self._env.now()), "status")
        key = self._resource.key(quota["metadata"]["namespace"], quota["metadata"]["name"])
        self._writing[key] = new
        try:
            written = await update_status_as_server(self._store, self._resource, quota, new, fields)
        finally:
            del self._writing[key]
        return written is not None

    def of_others(self, old: Item, new: Item) -> bool:
        """Whether another writer changed the status of a quota."""
        own = self._writing.get(new.key)
        if own is not None:
            meta = {**own["metadata"], "resourceVersion": str(new.revision)}
            if {**own, "metadata": meta} == new.object:
                return False
        return bool(new.object.get("status") != old.object.get("status"))

    async def recount(self, namespace: str) -> bool:
        """Make the status of a namespace's quotas what is stored; False when one was changed."""
        settled = True
        for quota in await self.of(namespace):
            status = await self._counted(namespace, quota)
            if not _same(status, quota.get("status") or {}):
                async with self.turn(namespace):
                    settled = await self._write(quota, status, COUNTING) and settled
        return settled

    async def _counted(self, namespace: str, quota: Object) -> Object:
        """The status that a quota should have; uncounted resources keep their old values."""
        hard = dict(sorted(((quota.get("spec") or {}).get("hard") or {}).items()))
        before = (quota.get("status") or {}).get("used") or {}
        counted = await self._count(namespace, quota, hard)
        used = {name: before[name] for name in hard if name in before}
        used.update((name, str(counted[name])) for name in hard if name in counted)
        return {"hard": hard, "used": dict(sorted(used.items()))} if hard else {}

    async def _count(self, namespace: str, quota: Object, hard: Object) -> dict[str, Quantity]:
        counted: dict[str, Quantity] = {}
        kinds = {kind for name in hard if (kind := resource_of(name)) is not None}
        for kind in sorted(kinds):
            names = concerned(kind, hard)
            counted.update(dict.fromkeys(names, ZERO))
            resource = self.registry.by_group_resource.get(kind)
            if resource is None:
                continue
            for obj in await reading.read_all(self._store, resource, namespace):
                if not counts_for(kind, obj, quota):
                    continue
                used = usage(kind, obj)
                for name in names:
                    if name in used:
                        counted[name] = counted[name] + used[name]
        return counted


def _same(one: Object, other: Object) -> bool:
    """Whether two statuses say the same; others may write their amounts in another way."""
    return one.keys() == other.keys() and all(
        amounts(one[name]) == amounts(other[name]) for name in one
    )
