"""A clock that can be moved while everything else is real."""

from __future__ import annotations

import time  # noqa: TID251  (the real clock is what this is compared with)

import pytest
import trio

from kubetrio.clock import MovableClock
from kubetrio.env import Env, seeded


def test_who_sleeps_wakes_when_the_clock_is_moved() -> None:
    """All whose time has come, in the order of their times; the others sleep on."""
    clock = MovableClock()
    woken: list[float] = []

    async def sleeper(seconds: float) -> None:
        await trio.sleep(seconds)
        woken.append(seconds)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for seconds in (7200.0, 60.0, 3600.0):
                nursery.start_soon(sleeper, seconds)
            await trio.testing.wait_all_tasks_blocked()
            begun = trio.current_time()
            clock.move(3601)
            await trio.testing.wait_all_tasks_blocked()
            assert trio.current_time() - begun >= 3601
            assert sorted(woken) == [60.0, 3600.0]
            nursery.cancel_scope.cancel()

    real = time.monotonic()
    trio.run(main, clock=clock)
    assert time.monotonic() - real < 30


def test_the_wall_clock_goes_along_and_back() -> None:
    """But not that by which certificates are made."""
    clock = MovableClock()
    base = Env(now=lambda: 1000.0)
    env = clock.env(base)
    monotonic = clock.current_time()
    clock.move(60)
    assert (env.now(), env.certificates_now(), clock.wall_ahead_s) == (1060.0, 1060.0, 60.0)
    assert env.utcnow().timestamp() == 1000.0
    clock.restore_wall_clock()
    assert env.now() == 1000.0
    assert clock.current_time() >= monotonic + 60


def test_a_clock_is_not_moved_back() -> None:
    """Trio does not know that."""
    with pytest.raises(ValueError, match="back"):
        MovableClock().move(-1)


def test_clocks_of_clients_stay_their_own() -> None:
    """Where an Env has one."""
    clock = MovableClock()
    env = clock.env(seeded(1))
    assert env.clients_now is time.time
