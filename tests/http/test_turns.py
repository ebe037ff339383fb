"""Few requests of strangers begin in one pass of the event loop."""

from collections import Counter

import pytest
import trio
import trio.testing

from kubetrio.http import turns
from kubetrio.http.turns import PER_PASS, Turns


class Passes(trio.abc.Instrument):
    """Counts passes of the loop."""

    def __init__(self) -> None:
        self.number = 0

    def after_io_wait(self, timeout: float) -> None:
        self.number += 1


async def test_a_crowd_begins_a_few_at_a_time_in_order() -> None:
    passes, begun, order = Passes(), Counter[int](), []
    trio.lowlevel.add_instrument(passes)
    taken = Turns()

    async def request(number: int, path: str) -> None:
        await taken.take(path)
        begun[passes.number] += 1
        order.append(number)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(taken.run)
        async with trio.open_nursery() as crowd:
            for number in range(10 * PER_PASS):
                crowd.start_soon(request, number, "/api/v1/pods")
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    trio.lowlevel.remove_instrument(passes)
    assert max(begun.values()) <= 2 * PER_PASS  # those that find a place, and those that waited
    # The first come first, but within a pass Trio chooses.
    assert sorted(order) == list(range(10 * PER_PASS))
    assert all(abs(at - number) < 2 * PER_PASS for at, number in enumerate(order))


@pytest.mark.parametrize("path", ["/", *turns.HEALTH])
@pytest.mark.parametrize("crowd", [PER_PASS, 2 * PER_PASS, 3 * PER_PASS, 2 * PER_PASS + 1])
async def test_whoever_comes_behind_a_crowd_that_filled_its_last_pass_begins(
    crowd: int, path: str
) -> None:
    taken = Turns()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(taken.run)
        for _ in range(crowd):
            nursery.start_soon(taken.take, path)
        await trio.testing.wait_all_tasks_blocked()
        with trio.fail_after(1):
            await taken.take(path)
        nursery.cancel_scope.cancel()


async def test_health_checks_do_not_wait_for_others() -> None:
    taken = Turns()
    async with trio.open_nursery() as nursery:
        for _ in range(10 * PER_PASS):
            nursery.start_soon(taken.take, "/nowhere")
        await trio.testing.wait_all_tasks_blocked()
        for path in turns.HEALTH:
            with trio.fail_after(0):
                await taken.take(path)
        nursery.cancel_scope.cancel()


async def test_who_leaves_gives_their_turn_to_the_next() -> None:
    taken = Turns()
    async with trio.open_nursery() as nursery:
        for _ in range(PER_PASS):
            await taken.take("/")
        with trio.move_on_after(0):
            await taken.take("/")
        nursery.start_soon(taken.run)
        await taken.take("/")
        nursery.cancel_scope.cancel()
