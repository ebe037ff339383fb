"""Controllers: keys are worked on until they are well."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.informers.reconciler import LONGEST_WAIT_S, Reconciler
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import conflict, internal_error
from kubetrio.store.errors import StoreUnavailable


class Working(Reconciler):
    """Notes when it worked on what, and fails as often as it is told."""

    def __init__(self, failures: dict[str, list[Exception]], workers: int = 1) -> None:
        super().__init__("working", workers=workers)
        self.failures = failures
        self.seen: list[tuple[str, float]] = []
        self.held: trio.Event | None = None

    async def sync(self, key: str) -> None:
        self.seen.append((key, trio.current_time()))
        if self.held is not None:
            await self.held.wait()
        if self.failures.get(key):
            raise self.failures[key].pop(0)


async def test_what_fails_is_tried_again_later_and_later(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Other keys go on; after a success the next failure is the first."""
    broken: list[Exception] = [
        StoreUnavailable("gone"), internal_error("no"), ZeroDivisionError(), StoreUnavailable("x"),
    ]  # fmt: skip
    controller = Working({"bad": broken})
    controller.queue.add("bad")
    controller.queue.add("good")
    begun = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller.run)
        await trio.sleep(10)
        nursery.cancel_scope.cancel()
    times = [at - begun for key, at in controller.seen if key == "bad"]
    assert times == pytest.approx([0, 0.005, 0.015, 0.035, 0.075])
    assert [key for key, _ in controller.seen[:2]] == ["bad", "good"]
    assert controller.queue.limiter.failures("bad") == 0
    assert len(caplog.records) == 4


async def test_a_conflict_is_no_news(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody else wrote first: it is tried again without a word."""
    error = conflict(GroupResource("", "pods"), "p", "changed")
    controller = Working({"k": [error]})
    controller.queue.add("k")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller.run)
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert len(controller.seen) == 2
    assert not caplog.records


async def test_workers_never_share_a_key(mock_clock: MockClock) -> None:
    """One that is added while it is worked on has to wait; others need not."""
    controller = Working({}, workers=3)
    controller.held = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller.run)
        for key in ("a", "b", "a"):
            controller.queue.add(key)
            await wait_all_tasks_blocked()
        assert [key for key, _ in controller.seen] == ["a", "b"]
        controller.held.set()
        await wait_all_tasks_blocked()
        assert [key for key, _ in controller.seen] == ["a", "b", "a"]
        nursery.cancel_scope.cancel()


async def test_it_begins_when_its_sources_are_there(mock_clock: MockClock) -> None:
    """And fails, to be run again, where one cannot be read."""

    class Source:
        ready = trio.Event()

        async def sync(self) -> None:
            await self.ready.wait()

    class Broken:
        async def sync(self) -> None:
            raise StoreUnavailable("gone")

    controller, source = Working({}), Source()
    controller.queue.add("a")
    controller.sources = [source]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller.run)
        await wait_all_tasks_blocked()
        assert controller.seen == []
        source.ready.set()
        await wait_all_tasks_blocked()
        assert len(controller.seen) == 1
        controller.queue.shut_down()
    controller.sources = [Broken()]
    with pytest.raises(StoreUnavailable):
        await controller.run()


async def test_who_pauses_cancels_and_begins_anew(autojump_clock: MockClock) -> None:
    """What was under way is done again after, once; what comes meanwhile waits."""
    controller = Working({})
    controller.held = trio.Event()
    cancelled: list[str] = []

    async def beside() -> None:
        try:
            await trio.sleep_forever()
        finally:
            cancelled.append("beside")

    controller.beside.append(beside)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller.run)
        controller.queue.add("a")
        await wait_all_tasks_blocked()
        await controller.pause()
        assert cancelled == ["beside"]
        controller.queue.add("b")
        await wait_all_tasks_blocked()
        assert [key for key, _ in controller.seen] == ["a"]
        controller.held.set()
        controller.begin_anew()
        controller.resume()
        await controller.queue.settled()
        assert sorted(key for key, _ in controller.seen) == ["a", "a", "b"]
        assert controller.queue.idle
        nursery.cancel_scope.cancel()


async def test_who_begins_anew_ends_delays_and_forgets_failures(autojump_clock: MockClock) -> None:
    """But for what nobody needs to look at any more."""
    controller = Working({"bad": [StoreUnavailable("gone")] * 9})
    begun = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller.run)
        controller.queue.add("bad")
        controller.queue.add_after("later", 3600)
        controller.queue.add_after("moot", 3600)
        await trio.sleep(0.1)
        controller.failures.clear()
        await controller.pause()
        controller.queue.begin_anew(lambda key: key == "moot")
        assert controller.queue.limiter.failures("bad") == 0
        controller.resume()
        await controller.queue.settled()
        assert trio.current_time() - begun < 1
        assert [key for key, _ in controller.seen][-2:] == ["bad", "later"]
        await trio.sleep(4000)
        assert "moot" not in {key for key, _ in controller.seen}
        nursery.cancel_scope.cancel()


async def test_one_that_is_not_running_can_be_paused(autojump_clock: MockClock) -> None:
    """Such as one that has failed, and begins anew in a moment."""
    controller = Working({})
    controller.beside.append(trio.sleep_forever)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller.run)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    with trio.fail_after(1):
        await controller.pause()
    controller.resume()


async def test_a_time_of_the_wall_clock_is_looked_at_each_hour(autojump_clock: MockClock) -> None:
    """It may be set meanwhile, which nobody is told of."""
    controller = Working({})
    controller.look_again_in("soon", 10.0)
    controller.look_again_in("late", 56 * 365 * 24 * 3600.0)
    begun = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller.run)
        await trio.sleep(3 * LONGEST_WAIT_S)
        nursery.cancel_scope.cancel()
    assert [(key, at - begun) for key, at in controller.seen] == [
        ("soon", 10.0),
        ("late", LONGEST_WAIT_S),
    ]
