"""Work queues of controllers, as client-go has them.

A key that is added again before its turn is there once.  One that is added while a worker works on
it is given out again when that is done, and never to two at a time.  Failures of a key delay it
twice as long each time, and all delays of a queue together are spread by a bucket.

Nothing runs beside the queue: a worker that waits in `get` wakes when a delay is over.  A key
wakes one worker, and one of those that wait has the time of the next delay.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterable
from math import inf

import trio

from kubetrio.observe import prometheus
from kubetrio.observe.series import Histogram

BASE_DELAY_S, MAX_DELAY_S = 0.005, 1000.0
QPS, BURST = 10.0, 100
DECADES = 10
_MOST_DOUBLINGS = 64  # from here on a delay is the longest, whatever the first one was


def _decades() -> tuple[float, ...]:
    """Bounds of buckets from 10 ns to 10 s, each ten times the one before, rounded as Go does."""
    return tuple(itertools.accumulate([10.0] * (DECADES - 1), float.__mul__, initial=10e-9))


BUCKETS = _decades()


class ShutDown(Exception):
    """The queue is shut down, and nothing is left in it."""


class RateLimiter:
    """Says how long to wait with what failed: by its failures, and by how many others wait.

    Source: client-go, ``DefaultTypedControllerRateLimiter``.

    Args:
        base_s: delay after the first failure, in seconds.
        max_s: longest of a key, in seconds.
        qps: how many keys a second are taken in the long run.
        burst: how many at once.
    """

    def __init__(
        self,
        base_s: float = BASE_DELAY_S,
        max_s: float = MAX_DELAY_S,
        qps: float = QPS,
        burst: int = BURST,
    ) -> None:
        self._base_s = base_s
        self._max_s = max_s
        self._qps = qps
        self._burst = burst
        self._failures: dict[str, int] = {}
        self._tokens = float(burst)
        self._counted_at = -inf

    def when(self, key: str) -> float:
        """Count a failure; seconds to wait."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        return max(self._backoff(failures), self._reserve())

    def _backoff(self, failures: int) -> float:
        if failures > _MOST_DOUBLINGS:
            return self._max_s
        return min(self._base_s * 2.0**failures, self._max_s)

    def _reserve(self) -> float:
        now = trio.current_time()
        earned = (now - self._counted_at) * self._qps
        self._tokens = min(self._tokens + earned, float(self._burst)) - 1
        self._counted_at = now
        return max(-self._tokens / self._qps, 0.0)

    def forget(self, key: str) -> None:
        """Count the failures of a key from none on."""
        self._failures.pop(key, None)

    def forget_all(self) -> None:
        """Count as if nothing had ever failed."""
        self._failures.clear()
        self._tokens = float(self._burst)

    def failures(self, key: str) -> int:
        """How often a key failed since it was forgotten."""
        return self._failures.get(key, 0)


class WorkQueue:
    """The queue of one controller; keys in the order in which they came.

    Args:
        name: label of its metrics.
        limiter: of `add_rate_limited`; client-go's default when None.
    """

    def __init__(self, name: str, limiter: RateLimiter | None = None) -> None:
        self.name = name
        self.shutting_down = False
        self.limiter = limiter or RateLimiter()
        self._queue: deque[str] = deque()
        self._dirty: dict[str, float] = {}  # what is to be worked on, and since when
        self._processing: dict[str, float] = {}  # what is worked on, and since when
        self._delayed: dict[str, float] = {}  # until when
        self._delays: list[tuple[float, int, str]] = []  # a heap; some in it are out of date
        self._numbers = itertools.count()
        self._workers = trio.lowlevel.ParkingLot()  # those that wait in `get`
        self._armed = inf  # when the first of them wakes by itself
        self._done = trio.Event()
        self._held = False
        self.adds = 0
        self.retries = 0
        self.waited = Histogram(BUCKETS)
        self.worked = Histogram(BUCKETS)

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def depth(self) -> int:
        """How many keys are to be worked on, delayed ones left out."""
        return len(self._dirty)

    @property
    def idle(self) -> bool:
        """Whether nothing is to be worked on but what is delayed, and no worker works."""
        return not self._dirty and not self._processing

    def running_s(self) -> list[float]:
        """For how long each key under work has been, in seconds."""
        now = trio.current_time()
        return [now - since for since in self._processing.values()]

    def add(self, key: str) -> None:
        """Have a key worked on, if it does not wait for that already."""
        if self.shutting_down or key in self._dirty:
            return
        self.adds += 1
        self._dirty[key] = trio.current_time()
        if key not in self._processing:
            self._queue.append(key)
            self._workers.unpark()

    def add_after(self, key: str, delay_s: float) -> None:
        """Add a key later; where it is delayed already, the earlier time holds.

        Args:
            key: what to work on.
            delay_s: how much later, in seconds.
        """
        if self.shutting_down:
            return
        self.retries += 1
        if delay_s <= 0:
            self.add(key)
            return
        until = trio.current_time() + delay_s
        if until < self._delayed.get(key, inf):
            self._delayed[key] = until
            heapq.heappush(self._delays, (until, next(self._numbers), key))
            self._arm_another()

    def add_rate_limited(self, key: str) -> None:
        """Add a key that failed, when the rate limiter says."""
        self.add_after(key, self.limiter.when(key))

    def forget(self, key: str) -> None:
        """Note that a key is well: its next failure is its first."""
        self.limiter.forget(key)

    async def get(self) -> str:
        """Wait for a key to work on; give it back with `done`.

        Raises:
            ShutDown: there will be none.
        """
        await trio.lowlevel.checkpoint()
        while True:
            now = trio.current_time()
            self._end_delays(now)
            if self._queue and not self._held:
                break
            if self.shutting_down:
                raise ShutDown
            await self._wait()
        key = self._queue.popleft()
        self._arm_another()
        self.waited.observe(now - self._dirty.pop(key))
        self._processing[key] = now
        return key

    async def _wait(self) -> None:
        """Wait for a key; for the next delay to end too, where no other worker does."""
        until = self._delays[0][0] if self._delays else inf
        if until >= self._armed:
            await self._workers.park()
            return
        self._armed = until
        try:
            with trio.move_on_at(until):
                await self._workers.park()
        finally:
            if self._armed == until:
                self._armed = inf

    def _arm_another(self) -> None:
        """Have a worker that waits wake when the next delay is over, if none does."""
        if self._delays and self._delays[0][0] < self._armed:
            self._workers.unpark()

    def _end_delays(self, now: float) -> None:
        while self._delays and self._delays[0][0] <= now:
            until, _, key = heapq.heappop(self._delays)
            if self._delayed.get(key) == until:
                del self._delayed[key]
                self.add(key)

    def done(self, key: str) -> None:
        """Note that the work on a key is over; where it was added meanwhile, it is queued."""
        since = self._processing.pop(key, None)
        if since is None:
            return
        self.worked.observe(trio.current_time() - since)
        if key in self._dirty:
            self._queue.append(key)
            self._workers.unpark()
        self._done.set()
        self._done = trio.Event()

    async def settled(self) -> None:
        """Wait until nothing is to be worked on but what is delayed, and no worker works."""
        while not self.idle:
            await self._done.wait()

    def hold(self) -> None:
        """Give nothing out until `release`."""
        self._held = True

    def release(self) -> None:
        """Give keys out again."""
        self._held = False
        self._workers.unpark_all()

    async def at_rest(self) -> None:
        """Wait until no worker works on a key."""
        while self._processing:
            await self._done.wait()

    def begin_anew(self, moot: Callable[[str], bool] = lambda _: False) -> None:
        """Forget failures, and end all delays: what is behind them is looked at again now.

        Args:
            moot: of the delayed keys, those that need no look.
        """
        self.limiter.forget_all()
        for key in [key for key in self._delayed if moot(key)]:
            del self._delayed[key]
        self._end_delays(inf)

    def shut_down(self) -> None:
        """Take nothing more; who waits in `get` is given what is left, delayed keys are not."""
        self.shutting_down = True
        self._delayed.clear()
        self._delays.clear()
        self._workers.unpark_all()

    async def shut_down_with_drain(self) -> None:
        """Shut down as `shut_down` does, and wait until no worker works on a key."""
        self.shut_down()
        await self.at_rest()


Number = Callable[[WorkQueue], float]
GAUGES: tuple[tuple[str, str, Number], ...] = (
    ("depth", "Keys to be worked on.", lambda queue: queue.depth),
    (
        "unfinished_work_seconds",
        "Sum of the times for which the keys under work have been, in seconds.",
        lambda queue: sum(queue.running_s()),
    ),
    (
        "longest_running_processor_seconds",
        "The longest of these times.",
        lambda queue: max(queue.running_s(), default=0.0),
    ),
)
COUNTERS: tuple[tuple[str, str, Number], ...] = (
    ("adds_total", "Keys added.", lambda queue: queue.adds),
    ("retries_total", "Keys added after a delay.", lambda queue: queue.retries),
)
HISTOGRAMS: tuple[tuple[str, str, Callable[[WorkQueue], Histogram]], ...] = (
    ("queue_duration_seconds", "How long keys wait.", lambda queue: queue.waited),
    ("work_duration_seconds", "How long the work on a key takes.", lambda queue: queue.worked),
)


def queue_families(queues: Iterable[WorkQueue]) -> Iterable[prometheus.Metric]:
    """The metrics of work queues, under client-go's names."""
    queues = tuple(queues)
    for family_type, rows in (
        (prometheus.GaugeMetricFamily, GAUGES),
        (prometheus.CounterMetricFamily, COUNTERS),
    ):
        for name, text, number in rows:
            family = family_type(f"workqueue_{name}", text, labels=("name",))
            for queue in queues:
                family.add_metric([queue.name], float(number(queue)))
            yield family
    for name, text, histogram in HISTOGRAMS:
        shown = prometheus.HistogramMetricFamily(f"workqueue_{name}", text, labels=("name",))
        for queue in queues:
            counted = histogram(queue)
            shown.add_metric([queue.name], counted.cumulative(), counted.total)
        yield shown
