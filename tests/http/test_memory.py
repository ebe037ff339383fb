"""Memory that goes back when a crowd has gone."""

from __future__ import annotations

import gc
import weakref

import pytest
import trio
import trio.testing

from kubetrio.env import seeded
from kubetrio.http import memory
from kubetrio.http.memory import FallDetector, Memory, collect, forget_deadlines


class Cycle:
    """An object that only the collector finds."""

    def __init__(self) -> None:
        self.myself = self


def test_a_tide_ebbs_once_below_half() -> None:
    """And again only behind another high."""
    detector = FallDetector(least=10)
    assert [detector.has_fallen(level) for level in (3, 20, 11, 9, 4, 2, 30, 3)] == [
        False, False, False, True, False, False, False, True,
    ]  # fmt: skip


def test_what_is_small_is_no_tide() -> None:
    """A few connections that end are nothing to look at the memory for."""
    detector = FallDetector(least=10)
    assert not any(detector.has_fallen(level) for level in (9, 0, 9, 0))


async def test_scopes_that_ended_are_forgotten() -> None:
    """Trio would keep them until their deadline, here an hour."""
    ended = []
    for _ in range(300):
        with trio.CancelScope(deadline=trio.current_time() + 3600) as scope:
            ended.append(weakref.ref(scope))
            await trio.lowlevel.checkpoint()
    del scope
    assert any(each() for each in ended)
    await forget_deadlines()
    assert not any(each() for each in ended)


async def test_deadlines_of_others_stay() -> None:
    """However many are forgotten beside them."""
    with trio.move_on_after(0.05) as scope:
        await forget_deadlines()
        await trio.sleep(5)
    assert scope.cancelled_caught


async def test_garbage_goes_some_seconds_behind_a_crowd(autojump_clock: object) -> None:
    """Without an allocation that would have the collector look."""
    del autojump_clock
    gc.disable()
    try:
        garbage = weakref.ref(Cycle())
        kept = Memory(seeded(0))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kept.run)
            kept.look(100, 0)
            await trio.sleep(2 * memory.PAUSE_S)
            assert garbage() is not None
            kept.look(1, 0)
            await trio.sleep(2 * memory.PAUSE_S)
            assert garbage() is None
            nursery.cancel_scope.cancel()
    finally:
        gc.enable()


def test_old_objects_are_left_alone_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking at all of them would keep others waiting; the young ones are looked at."""
    gc.collect()
    gc.disable()
    try:
        old = Cycle()
        gc.collect()
        found, old = weakref.ref(old), None  # type: ignore[assignment]
        young = weakref.ref(Cycle())
        monkeypatch.setattr(memory, "MOST_OBJECTS", 1)
        collect()
        assert young() is None
        assert found() is not None
        monkeypatch.undo()
    finally:
        gc.enable()
