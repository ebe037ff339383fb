"""Work queues: against a small model, and on a clock that is told what time it is."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
import trio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine
from prometheus_client.core import Metric
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.informers.workqueue import (
    BASE_DELAY_S,
    BURST,
    MAX_DELAY_S,
    QPS,
    RateLimiter,
    ShutDown,
    WorkQueue,
    queue_families,
)
from kubetrio.observe.series import go_float

KEYS = st.sampled_from(["a", "b", "c"])


class Model:
    """What a queue does, said in another way: time stands in each step, and nobody waits."""

    def __init__(self) -> None:
        self.now = 0.0
        self.line: list[str] = []
        self.again: set[str] = set()
        self.working: set[str] = set()
        self.later: dict[str, float] = {}

    def add(self, key: str) -> None:
        if key in self.working:
            self.again.add(key)
        elif key not in self.line:
            self.line.append(key)

    def add_after(self, key: str, delay: float) -> None:
        if delay <= 0:
            self.add(key)
        else:
            self.later[key] = min(self.now + delay, self.later.get(key, inf))

    def due(self) -> None:
        for key, _ in sorted(self.later.items(), key=lambda one: one[1]):
            if self.later[key] <= self.now:
                del self.later[key]
                self.add(key)

    def get(self) -> str | None:
        self.due()
        if not self.line:
            return None
        key = self.line.pop(0)
        self.working.add(key)
        return key

    def done(self, key: str) -> None:
        self.working.discard(key)
        if key in self.again:
            self.again.discard(key)
            self.line.append(key)


class Machine(RuleBasedStateMachine):
    """The queue beside the model; delays are never equal, so that their order is known."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = MockClock()
        self.model = Model()
        self.queue: Any = None
        self.used: set[float] = set()
        self.run(self._open)

    async def _open(self) -> None:
        self.queue = WorkQueue("q")

    def run(self, step: Any) -> Any:
        """One step in an event loop of its own, at the model's time."""
        clock = MockClock()

        async def at_time() -> Any:
            clock.jump(self.model.now - trio.current_time())
            return await step()

        return trio.run(at_time, clock=clock)

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        async def step() -> None:
            self.queue.add(key)

        self.run(step)
        self.model.add(key)

    @rule(key=KEYS, delay=st.integers(-1, 30))
    def add_after(self, key: str, delay: int) -> None:
        until = self.model.now + delay
        if delay > 0 and until in self.used:
            return
        self.used.add(until)

        async def step() -> None:
            self.queue.add_after(key, delay)

        self.run(step)
        self.model.add_after(key, delay)

    @rule(seconds=st.integers(1, 20))
    def wait(self, seconds: int) -> None:
        self.model.now += seconds

    @rule()
    def get(self) -> None:
        async def step() -> str | None:
            found: list[str] = []
            async with trio.open_nursery() as nursery:

                async def take() -> None:
                    found.append(await self.queue.get())

                nursery.start_soon(take)
                await wait_all_tasks_blocked()
                nursery.cancel_scope.cancel()
            return found[0] if found else None

        assert self.run(step) == self.model.get()

    @precondition(lambda self: self.model.working)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.model.working)))

        async def step() -> None:
            self.queue.done(key)

        self.run(step)
        self.model.done(key)

    @invariant()
    def equal(self) -> None:
        assert list(self.queue._queue) == self.model.line
        assert self.queue.depth == len(self.model.line) + len(self.model.again)


def test_a_queue_is_as_its_model() -> None:
    """Keys wait once, are worked on by one at a time, and come back when added meanwhile."""
    run_machine(Machine, settings=settings(deadline=None, max_examples=60))


async def test_who_waits_wakes_when_a_delay_is_over(autojump_clock: MockClock) -> None:
    """Also where a shorter one was added meanwhile, and where others wait too."""
    queue, taken = WorkQueue("q"), list[tuple[float, str]]()
    begun = trio.current_time()

    async def work() -> None:
        while True:
            key = await queue.get()
            taken.append((trio.current_time() - begun, key))
            queue.done(key)

    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(work)
        queue.add_after("late", 10)
        await trio.sleep(1)
        queue.add_after("early", 2)
        queue.add_after("late", 100)  # the earlier time holds
        await trio.sleep(200)
        nursery.cancel_scope.cancel()
    assert taken == [(3, "early"), (10, "late")]


async def test_a_key_wakes_one_worker(autojump_clock: MockClock) -> None:
    """And a worker that is busy leaves the next delay to another that waits."""
    queue, log = WorkQueue("q"), list[tuple[str, str, float]]()
    looks = dict.fromkeys("xyz", 0)

    async def work(name: str) -> None:
        while True:
            looks[name] += 1
            key = await queue.get()
            log.append((name, key, trio.current_time()))
            if key == "long":
                await trio.sleep(100)
            queue.done(key)

    async with trio.open_nursery() as nursery:
        for name in looks:
            nursery.start_soon(work, name)
        await wait_all_tasks_blocked(0.002)
        for second, key in ((5, "long"), (10, "b"), (20, "c"), (3, "first")):
            queue.add_after(key, second)
        await trio.sleep(50)
        assert [one[1:] for one in log] == [("first", 3), ("long", 5), ("b", 10), ("c", 20)]
        assert sum(looks.values()) == len(looks) + len(log) - 1  # one is busy
        queue.add("now")
        await wait_all_tasks_blocked(0.002)
        assert sum(looks.values()) == len(looks) + len(log) - 1
        assert log[-1][1:] == ("now", 50)
        nursery.cancel_scope.cancel()


async def test_an_idle_queue_has_no_timer(mock_clock: MockClock) -> None:
    """Nobody is woken while there is nothing to do."""
    queue = WorkQueue("q")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(queue.get)
        await wait_all_tasks_blocked()
        assert trio.lowlevel.current_statistics().seconds_to_next_deadline == inf
        nursery.cancel_scope.cancel()


async def test_failures_double_the_delay(mock_clock: MockClock) -> None:
    """From 5 ms to 1000 s, for each key, until it is forgotten."""
    limiter = RateLimiter(qps=inf)
    found = [limiter.when("a") for _ in range(20)]
    assert found == [min(BASE_DELAY_S * 2**n, MAX_DELAY_S) for n in range(20)]
    assert limiter.when("b") == BASE_DELAY_S
    for _ in range(2000):
        assert limiter.when("a") == MAX_DELAY_S
    limiter.forget("a")
    assert limiter.failures("a") == 0
    assert limiter.when("a") == BASE_DELAY_S


async def test_many_failures_are_spread(mock_clock: MockClock) -> None:
    """After a burst of 100 each waits a tenth of a second longer; time fills the bucket again."""
    limiter = RateLimiter()
    delays = [limiter.when(str(n)) for n in range(BURST + 20)]
    assert delays[:BURST] == [BASE_DELAY_S] * BURST
    assert delays[BURST:] == pytest.approx([n / QPS for n in range(1, 21)])
    mock_clock.jump(3.0)
    assert [limiter.when(f"later {n}") for n in range(10)] == [BASE_DELAY_S] * 10


async def test_a_queue_that_is_shut_down_gives_out_what_it_has(mock_clock: MockClock) -> None:
    """It takes nothing more, forgets what was delayed, and ends those who wait."""
    queue = WorkQueue("q")
    queue.add("a")
    queue.add_after("b", 1)
    queue.shut_down()
    queue.add("c")
    queue.add_after("d", 0)
    assert await queue.get() == "a"
    mock_clock.jump(5)
    with pytest.raises(ShutDown):
        await queue.get()


async def test_draining_waits_for_work_under_way(mock_clock: MockClock) -> None:
    """Those who wait for keys are ended meanwhile."""
    queue, order = WorkQueue("q"), list[str]()
    queue.add("a")
    await queue.get()

    async def drain() -> None:
        await queue.shut_down_with_drain()
        order.append("drained")

    async def wait() -> None:
        with pytest.raises(ShutDown):
            await queue.get()
        order.append("ended")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        nursery.start_soon(drain)
        await wait_all_tasks_blocked()
        assert order == ["ended"]
        queue.done("a")
    assert order == ["ended", "drained"]


def values(families: list[Metric], name: str) -> dict[str, float]:
    """The samples of a family, by the end of their name and their bucket."""
    return {
        sample.name.removeprefix(name) + sample.labels.get("le", ""): sample.value
        for family in families
        if family.name == name
        for sample in family.samples
    }


async def test_metrics_have_the_names_of_client_go(mock_clock: MockClock) -> None:
    """And count as it does."""
    queue = WorkQueue("q")
    queue.add("a")
    queue.add("a")
    queue.add_after("b", 2)
    mock_clock.jump(3)
    assert await queue.get() == "a"
    mock_clock.jump(4)
    assert await queue.get() == "b"
    mock_clock.jump(1)
    queue.add("b")
    found = list(queue_families([queue]))
    assert values(found, "workqueue_depth") == {"": 1}
    assert values(found, "workqueue_adds") == {"_total": 3}
    assert values(found, "workqueue_retries") == {"_total": 1}
    assert values(found, "workqueue_unfinished_work_seconds") == {"": 6}
    assert values(found, "workqueue_longest_running_processor_seconds") == {"": 5}
    waited = values(found, "workqueue_queue_duration_seconds")
    assert (waited["_count"], waited["_sum"]) == (2, 7)
    queue.done("a")
    worked = values(list(queue_families([queue])), "workqueue_work_duration_seconds")
    assert (worked["_count"], worked["_sum"], worked["_bucket10"]) == (1, 5, 1)
    assert {sample.labels["name"] for family in found for sample in family.samples} == {"q"}


def test_buckets_are_those_of_client_go() -> None:
    """With the rounding that repeated multiplication has in Go."""
    from kubetrio.informers.workqueue import BUCKETS

    assert [go_float(bound) for bound in BUCKETS] == [
        "1e-08", "1e-07", "1e-06", "9.999999999999999e-06", "9.999999999999999e-05",
        "0.001", "0.01", "0.1", "1", "10",
    ]  # fmt: skip
