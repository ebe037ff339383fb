"""Snapshots: whatever happens, going back brings the state that was."""

from __future__ import annotations

import trio
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.snapshot import Snapshot
from kubetrio.store.model import EventType, Stamped
from kubetrio.testing.store_model import MemoryStore

KEYS = ("/registry/a/1", "/registry/a/2", "/registry/b/x/1")
TEXTS = ("one", "two")


def value(text: str) -> Stamped:
    return Stamped(b'{"rev":"', b'","text":"%b"}' % text.encode())


def reopen(complete: bytes) -> Stamped:
    begin = len(b'{"rev":"')
    return Stamped(complete[:begin], complete[complete.index(b'"', begin) :])


async def put(store: MemoryStore, key: str, text: str | None) -> None:
    """Have a key say something, or go."""
    found = await store.get(key)
    if text is None:
        if found is not None:
            await store.delete(key, expected=found.revision)
    elif found is None:
        await store.create(key, value(text))
    else:
        await store.update(key, value(text), expected=found.revision)


def state(store: MemoryStore) -> dict[str, bytes]:
    """What is stored, but for revisions."""
    return {key: reopen(item.value).after for key, item in store.state().items()}


writes = st.tuples(st.just("put"), st.sampled_from(KEYS), st.none() | st.sampled_from(TEXTS))
steps = st.lists(
    writes | st.just(("snapshot", "", None)) | st.tuples(st.just("reset"), st.just(""), st.none()),
    max_size=30,
)


@given(steps=steps, picks=st.data())
def test_a_snapshot_brings_back_what_was_stored(
    steps: list[tuple[str, str, str | None]], picks: st.DataObject
) -> None:
    """Any of several, again and again, against a copy of the state that was."""

    async def main() -> None:
        store = MemoryStore(step=3)
        dispatcher = Dispatcher(store)
        made: list[tuple[Snapshot, dict[str, bytes]]] = []
        for what, key, text in steps:
            before = store.revision
            if what == "put":
                await put(store, key, text)
            elif what == "snapshot":
                made.append((Snapshot(dispatcher, reopen), state(store)))
            elif made:
                snapshot, wanted = picks.draw(st.sampled_from(made))
                changes = snapshot.changes()
                assert len({change.key for change in changes}) == len(changes)
                await store.write_all(changes)
                assert state(store) == wanted
                assert snapshot.changes() == []
            assert store.revision >= before

    trio.run(main)


async def test_what_is_as_it_was_needs_no_write() -> None:
    """Whoever tidied up behind a test leaves nothing to do, and nothing in memory."""
    store = MemoryStore()
    await put(store, KEYS[0], "one")
    snapshot = Snapshot(Dispatcher(store), reopen)
    await put(store, KEYS[0], "two")
    await put(store, KEYS[1], "new")
    assert len(snapshot.changes()) == 2
    await put(store, KEYS[0], "one")
    await put(store, KEYS[1], None)
    assert snapshot.changes() == []


async def test_the_past_may_be_compacted() -> None:
    """A snapshot has the values itself."""
    store = MemoryStore()
    await put(store, KEYS[0], "one")
    snapshot = Snapshot(Dispatcher(store), reopen)
    await put(store, KEYS[0], "two")
    await store.compact(store.revision)
    (change,) = snapshot.changes()
    assert (change.type, change.value) == (EventType.UPDATED, value("one"))


async def test_what_comes_back_has_a_time_to_live() -> None:
    """As its collection says."""
    store = MemoryStore()
    await put(store, KEYS[0], "one")
    await put(store, KEYS[1], "one")
    snapshot = Snapshot(Dispatcher(store), reopen, lambda key: 60.0 if key == KEYS[0] else 0.0)
    await put(store, KEYS[0], None)
    await put(store, KEYS[1], None)
    assert [change.ttl_s for change in snapshot.changes()] == [60.0, 0.0]


async def test_notes_of_the_store_itself_stay() -> None:
    """They are no objects."""
    store = MemoryStore()
    snapshot = Snapshot(Dispatcher(store), reopen)
    await store.create("/kubetrio/encrypted", value("note"))
    assert snapshot.changes() == []


async def test_a_closed_snapshot_follows_no_more() -> None:
    """And closing it twice is fine."""
    store = MemoryStore()
    snapshot = Snapshot(Dispatcher(store), reopen)
    snapshot.close()
    snapshot.close()
    await put(store, KEYS[0], "one")
    assert snapshot.changes() == []
