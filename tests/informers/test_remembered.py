"""What single objects say, remembered until a commit: told at once, and by its own size."""

from __future__ import annotations

import orjson

from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.remembered import Remembered
from kubetrio.resources.objects import stamp
from kubetrio.store.model import Stamped
from kubetrio.testing.store_model import MemoryStore


def config(name: str, value: str) -> Stamped:
    meta = {"name": name, "namespace": "d"}
    return stamp({"apiVersion": "v1", "kind": "C", "metadata": meta, "data": {"v": value}})


def value_of(text: bytes) -> str:
    value: str = orjson.loads(text)["data"]["v"]
    return value


async def test_what_is_known_is_told_without_waiting() -> None:
    """Until the commit that changes it."""
    store = MemoryStore()
    known = Remembered(Dispatcher(store), value_of, most=10, most_bytes=1000)
    assert known.known("/registry/cs/d/a") is None
    await store.create("/registry/cs/d/a", config("a", "1"))
    assert await known.get("/registry/cs/d/a") == "1"
    assert known.known("/registry/cs/d/a") == "1"
    await store.update("/registry/cs/d/a", config("a", "2"), expected=store.revision)
    assert known.known("/registry/cs/d/a") is None
    assert known.remembered() == (0, 0)


async def test_what_counts_is_what_is_kept() -> None:
    """A large object of which little is remembered takes little room; one too large takes none."""
    store = MemoryStore()
    known = Remembered(
        Dispatcher(store), value_of, most=10, most_bytes=80, size=lambda _, value: len(value)
    )
    for name, value in (("a", "x" * 9), ("b", "x" * 10)):
        await store.create(f"/registry/cs/d/{name}", config(name, value))
        assert await known.get(f"/registry/cs/d/{name}") == value
    assert known.remembered() == (1, 9)
