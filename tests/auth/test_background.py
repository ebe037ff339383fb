"""Work that outlives the request that asked for it."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from kubetrio.auth.background import Background, Flight, NotRunning


async def test_what_is_started_early_begins_with_the_server() -> None:
    """Nothing is lost, and nothing runs before."""
    background, done = Background(), trio.Event()

    async def work() -> None:
        done.set()

    background.start(work, "early")
    await trio.testing.wait_all_tasks_blocked()
    assert not done.is_set()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(background.run)
        await done.wait()
        nursery.cancel_scope.cancel()
    assert not background.running


async def test_all_wait_for_one_flight_and_leaving_does_not_end_it() -> None:
    """The first that asked may go away; the next flight is another one."""
    background, go, flights = Background(), trio.Event(), list[int]()
    flight = Flight(background)

    async def work() -> None:
        flights.append(1)
        await go.wait()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(background.run)
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(0):
            await flight.join(work, "first")
        async with trio.open_nursery() as others:
            for _ in range(10):
                others.start_soon(flight.join, work, "other")
            await trio.testing.wait_all_tasks_blocked()
            assert flight.under_way
            go.set()
        assert len(flights) == 1
        await flight.join(work, "later")
        assert len(flights) == 2
        nursery.cancel_scope.cancel()


async def test_nothing_can_be_asked_of_a_server_that_does_not_run() -> None:
    """It is an error, not a wait without end."""
    with pytest.raises(NotRunning):
        await Flight(Background()).join(trio.sleep_forever, "never")
