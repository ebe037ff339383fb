"""Engines tell the revisions of keys and when they were made, also behind encryption."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from kubetrio.env import Env, seeded
from kubetrio.store.memory import Retention, open_memory
from kubetrio.store.model import EventType, Stamped, Store
from kubetrio.store.past import past_of
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.settings import StoreConfig

VALUE = Stamped(b'{"r":"', b'"}')


async def tell(store: Store, env: Env) -> None:
    past = past_of(store)
    assert past is not None
    first = await store.create("a", VALUE)
    await trio.sleep(100)
    second = await store.update("a", VALUE, expected=first.revision)
    other = await store.create("b", VALUE)
    gone = await store.delete("a", expected=second.revision)
    found = await past.revisions_of("a")
    assert [one.type for one in found] == [
        EventType.CREATED, EventType.UPDATED, EventType.DELETED,
    ]  # fmt: skip
    assert [one.revision for one in found] == [first.revision, second.revision, gone]
    now_ms = env.now() * 1000
    assert abs(found[2].at_ms - now_ms) < 1500
    assert 99_000 < found[1].at_ms - found[0].at_ms < 101_500
    dates = await past.dates([first.revision, other.revision, 10**6])
    assert set(dates) == {first.revision, other.revision}
    assert dates[first.revision] == found[0].at_ms
    await store.compact(second.revision)
    kept = await past.revisions_of("a")
    assert [one.revision for one in kept][-1] == gone
    assert await past.revisions_of("never") == []


@pytest.mark.parametrize("engine", ["sqlite", "memory"])
async def test_revisions_have_their_times(
    engine: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Of each revision what it did and when, and of several at once."""
    env = seeded(1)
    if engine == "memory":
        async with open_memory(Retention(), wall=env.now) as memory:
            await tell(memory, env)
    else:
        async with open_store(tmp_path, StoreConfig(), env) as store:
            await tell(store, env)


async def test_a_store_without_a_clock_has_no_times() -> None:
    """What it did is told all the same."""
    async with open_memory(Retention(compact_interval_s=0)) as memory:
        made = await memory.create("a", VALUE)
        [past] = await memory.revisions_of("a")
        assert past == (made.revision, EventType.CREATED, 0)
        assert await memory.dates([made.revision]) == {}
