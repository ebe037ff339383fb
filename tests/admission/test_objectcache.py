"""Objects that admission remembers: read once, forgotten when they change, never too many."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.admission import objectcache
from kubetrio.admission.objectcache import ObjectCache
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.resources.objects import stamp
from kubetrio.store import scan
from kubetrio.testing.store_model import MemoryStore


class Counting(MemoryStore):
    """A store that counts reads."""

    reads = 0

    async def get(self, key: str) -> Any:
        self.reads += 1
        return await super().get(key)


def config(name: str, **data: str) -> Any:
    meta = {"name": name, "namespace": "d"}
    return stamp({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})


def key(name: str) -> str:
    return f"/registry/configmaps/d/{name}"


async def test_an_object_is_read_once_a_change() -> None:
    """A commit makes the next one who asks read again."""
    store = Counting()
    cache = ObjectCache(Dispatcher(store))
    assert await cache.get(key("a")) is None
    await store.create(key("a"), config("a", v="1"))
    for value in ("1", "2"):
        found = await cache.get(key("a"))
        assert found is not None
        assert found["data"] == {"v": value}
        assert await cache.get(key("a")) is found
        await store.update(key("a"), config("a", v="2"), expected=store.revision)
    assert store.reads == 3
    await store.delete(key("a"), expected=store.revision)
    assert await cache.get(key("a")) is None


async def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest give way; what is large is not kept at all."""
    monkeypatch.setattr(objectcache, "REMEMBERED", 2)
    monkeypatch.setattr(objectcache, "REMEMBERED_BYTES", 8000)
    store = Counting()
    cache = ObjectCache(Dispatcher(store))
    for name in ("a", "b", "c"):
        await store.create(key(name), config(name))
        await cache.get(key(name))
    await cache.get(key("c"))
    assert store.reads == 3
    await cache.get(key("a"))
    assert store.reads == 4
    await store.create(key("large"), config("large", v="x" * 2000))
    await cache.get(key("large"))
    await cache.get(key("large"))
    assert store.reads == 6


async def test_what_is_under_a_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, page by page."""
    monkeypatch.setattr(scan, "PAGE_KEYS", 2)
    store = MemoryStore()
    for name in ("a", "b", "c"):
        await store.create(key(name), config(name))
    found = await ObjectCache(Dispatcher(store)).under("/registry/configmaps/d/")
    assert [obj["metadata"]["name"] for obj in found] == ["a", "b", "c"]
