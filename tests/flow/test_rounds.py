"""Rounds of the event loop, and whether flows share them."""

from __future__ import annotations

import trio
import trio.testing

from kubetrio.flow.rounds import CONTENTION_S, FlowContention, Rounds
from kubetrio.flow.ticket import Flow

ONE, OTHER = Flow("schema", "one", 1), Flow("schema", "other", 2)


async def pass_rounds(count: int) -> None:
    for _ in range(count):
        await trio.lowlevel.checkpoint()


async def test_rounds_are_seen_while_somebody_looks() -> None:
    """Each checkpoint of the only task is one; to ask twice is to ask once."""
    seen = 0

    def begin() -> None:
        nonlocal seen
        seen += 1

    rounds = Rounds(begin)
    await pass_rounds(5)
    assert seen == 0
    for _ in range(2):
        rounds.watch()
    await pass_rounds(5)
    assert seen == 5
    for _ in range(2):
        rounds.rest()
    await pass_rounds(5)
    assert seen == 5


async def test_tasks_are_counted_while_there_are_several_flows(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """And for some seconds longer; one flow alone costs nothing."""
    del autojump_clock
    contention = FlowContention()
    rounds = Rounds(contention.next_round)
    rounds.watch()
    with contention:
        for flow in (ONE, ONE, Flow("schema", "one", 1)):
            contention.meet(flow, trio.current_time())
        async with trio.open_nursery() as nursery:
            for _ in range(7):
                nursery.start_soon(pass_rounds, 2)
            await pass_rounds(2)
            assert contention.tasks == 0
            assert contention.until == 0
        contention.meet(OTHER, trio.current_time())
        assert contention.flow == OTHER
        async with trio.open_nursery() as nursery:
            for _ in range(7):
                nursery.start_soon(pass_rounds, 3)
            await pass_rounds(2)
            assert contention.tasks == 8
        assert contention.until == trio.current_time() + CONTENTION_S
        await trio.sleep(CONTENTION_S)
        await pass_rounds(2)
        assert contention.tasks == 0
    rounds.rest()


async def test_nothing_is_counted_outside_the_block() -> None:
    """Without a gate that runs there are no rounds to speak of."""
    contention = FlowContention()
    for flow in (ONE, OTHER):
        contention.meet(flow, 0.0)
    await pass_rounds(2)
    contention.next_round()
    assert contention.tasks == 0
    with contention:
        contention.meet(ONE, 1.0)
        await pass_rounds(2)
    contention.next_round()
    assert (contention.tasks, contention.until) == (0, 1.0 + CONTENTION_S)
