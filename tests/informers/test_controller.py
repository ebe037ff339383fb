"""Controllers: keys are worked on until they are well."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.informers.controller import Controller
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import conflict, internal_error
from kubetrio.store.errors import StoreUnavailable


class Working(Controller):
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
