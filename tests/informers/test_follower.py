"""A follower tells of all that is stored, and of what changes while it looks."""

from __future__ import annotations

import contextlib

import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.follower import PAGE_KEYS, Follower
from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.model import Event, EventType, KeyValue, Range, RangeResult, Stamped
from kubetrio.testing.store_model import MemoryStore

PREFIX = "/registry/things/"


def value(color: str) -> Stamped:
    """What is stored of a thing."""
    return Stamped(b'{"color":"%b","resourceVersion":"' % color.encode(), b'"}')


async def write(store: MemoryStore, key: str, color: str | None) -> None:
    """Create, replace or delete a key."""
    now = await store.get(key)
    if color is None:
        if now is not None:
            await store.delete(key, expected=now.revision)
    elif now is None:
        await store.create(key, value(color))
    else:
        await store.update(key, value(color), expected=now.revision)


class Busy(MemoryStore):
    """A store in which something happens before and after each page is read."""

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[tuple[str, str | None]] = []
        self.fails = self.reads = 0

    async def range(
        self, keys: Range, *, at: int | None = None, limit: int = 0, max_bytes: int = 0
    ) -> RangeResult:
        """See `Store`; small pages."""
        await self.happen()
        self.reads += 1
        if self.fails and self.reads % 2 == 0:  # the second page of a list, or the first
            self.fails -= 1
            raise StoreUnavailable("not now")
        found = await super().range(keys, at=at, limit=min(limit, 2), max_bytes=max_bytes)
        await self.happen()
        return found

    async def happen(self) -> None:
        """The next change, if there is one left."""
        if self.changes:
            key, color = self.changes.pop(0)
            await write(self, key, color)


class Mirror:
    """What a follower told of."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def found(self, item: KeyValue) -> None:
        self.values[item.key] = item.value

    def changed(self, event: Event) -> None:
        if event.type is EventType.DELETED:
            self.values.pop(event.key, None)
        else:
            self.values[event.key] = event.value


KEYS = st.sampled_from([f"{PREFIX}{name}" for name in "abcdefgh"] + ["/registry/others/a"])
CHANGES = st.lists(st.tuples(KEYS, st.sampled_from(["red", "blue", None])), max_size=20)


@settings(deadline=None, max_examples=100)
@given(CHANGES, CHANGES, CHANGES, st.integers(0, 2))
def test_what_it_told_is_what_is_stored(
    before: list[tuple[str, str | None]],
    during: list[tuple[str, str | None]],
    after: list[tuple[str, str | None]],
    fails: int,
) -> None:
    """Whatever happens while it lists, also when that fails and is begun anew."""

    async def run() -> None:
        store, mirror = Busy(), Mirror()
        for key, color in before:
            await write(store, key, color)
        store.changes, store.fails = list(during), fails
        follower = Follower(Dispatcher(store), PREFIX, mirror.found, mirror.changed)
        while not follower.synced:
            with contextlib.suppress(StoreUnavailable):
                await follower.sync()
        assert follower.synced
        for key, color in after:
            await write(store, key, color)
        store.changes.clear()
        page = await MemoryStore.range(store, Range.prefix(PREFIX), limit=PAGE_KEYS)
        assert mirror.values == {item.key: item.value for item in page.items}

    trio.run(run)


async def test_after_a_stop_it_tells_nothing() -> None:
    """For good."""
    store, mirror = MemoryStore(), Mirror()
    follower = Follower(Dispatcher(store), PREFIX, mirror.found, mirror.changed)
    await follower.sync()
    follower.stop()
    await write(store, PREFIX + "a", "red")
    assert not mirror.values
