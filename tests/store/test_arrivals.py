"""Waiting for revisions."""

import trio
from trio.testing import wait_all_tasks_blocked

from kubetrio.store.arrivals import Arrivals


async def test_each_task_is_woken_by_its_revision() -> None:
    """Whatever the order in which they began to wait."""
    arrivals, woken = Arrivals(1), list[int]()

    async def wait(revision: int) -> None:
        await arrivals.wait_for(revision)
        woken.append(revision)

    async with trio.open_nursery() as nursery:
        for revision in (5, 3, 9, 1):
            nursery.start_soon(wait, revision)
        await wait_all_tasks_blocked()
        assert woken == [1]
        arrivals.announce(4)
        await wait_all_tasks_blocked()
        assert woken == [1, 3]
        arrivals.announce(9)
    assert sorted(woken[2:]) == [5, 9]


async def test_a_cancelled_task_waits_no_more() -> None:
    """Others go on waiting for theirs."""
    arrivals = Arrivals(0)
    with trio.move_on_after(0.01) as waited:
        await arrivals.wait_for(7)
    assert waited.cancelled_caught
    async with trio.open_nursery() as nursery:
        nursery.start_soon(arrivals.wait_for, 2)
        await wait_all_tasks_blocked()
        arrivals.announce(7)


async def test_another_history_wakes_all() -> None:
    """Those who wait for a revision go on waiting for it; those who wait for news have it."""
    arrivals, woken = Arrivals(5), list[str]()

    async def wait() -> None:
        await arrivals.wait_for(9)
        woken.append("revision")

    async def news() -> None:
        await arrivals.wait_for_news(9)
        woken.append("news")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        nursery.start_soon(news)
        await wait_all_tasks_blocked()
        arrivals.rewind(2)
        await wait_all_tasks_blocked()
        assert (arrivals.revision, woken) == (2, ["news"])
        arrivals.announce(9)
    assert woken == ["news", "revision"]
