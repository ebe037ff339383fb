"""A seed decides the order of tasks."""

from __future__ import annotations

import trio

from kubetrio.harness.scheduler import seed_scheduler


def order(seed: int) -> list[int]:
    """Numbers of twenty tasks in the order in which they run."""
    ran: list[int] = []

    async def one(number: int) -> None:
        for _ in range(3):
            await trio.lowlevel.checkpoint()
            ran.append(number)

    async def main() -> None:
        seed_scheduler(seed)
        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(one, number)

    trio.run(main)
    return ran


def test_the_order_is_a_function_of_the_seed() -> None:
    """Equal for one seed, another for another one."""
    assert order(1) == order(1)
    assert order(1) != order(2)
