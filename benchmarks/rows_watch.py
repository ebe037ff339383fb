"""Rows about watches: one writer and many watchers, all events counted; and watchers that wait."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence

from benchmarks import load, process, requests, tools
from benchmarks.clock import perf_counter, sleep
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.load import LoadSpec
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.subjects import Running, Subject, revision_of
from benchmarks.watchers import WatchResult, WatchSpec

FEW = 20  # watchers that come and go before memory is measured
SETTLE_S = 2.0


def _fan_out(watchers: int) -> Callable[[Lab, Subject], Opened]:
    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        with subject.running(objects=lab.plan.small) as run:

            def sample() -> Sample:
                yardstick = lab.yardsticks.asgi(16)
                return dataclasses.replace(_round(lab, run, watchers), yardstick=yardstick)

            yield sample

    return opened


def _round(lab: Lab, run: Running, watchers: int) -> Sample:
    """Watchers wait, one connection writes for the plan's time, all events are awaited.

    Raises:
        BenchError: a watcher got another number of events than the others.
    """
    path = f"{run.collection}?watch=1&resourceVersion={revision_of(run)}"
    spec = WatchSpec(endpoint=run.endpoint, path=path, watchers=watchers)
    with tools.running("watchers", dataclasses.asdict(spec)) as running:
        running.answer()
        sleep(0.2)
        written = load.run(
            LoadSpec(
                endpoint=run.endpoint,
                ops=(requests.put(run.endpoint, run.namespace, lab.plan.small),),
                connections=1,
                seconds=lab.plan.seconds,
            )
        )
        running.tell(written.answered)
        seen = WatchResult(**running.answer())
    if seen.fewest != seen.most:
        raise BenchError(f"watchers saw {seen.fewest} to {seen.most} events")
    # From the first write to the last event, so that events still under way are not given away.
    return Sample(
        value=seen.events / (max(seen.ended, written.ended) - written.started),
        p50_ms=written.p50_ms,
        p99_ms=written.p99_ms,
        note=f"{written.rate:,.0f} writes/s (latency is theirs), last event"
        f" {max(0.0, seen.ended - written.ended) * 1e3:.0f} ms after the last write,"
        f" watch clients {seen.cpu_us:.1f} us CPU an event",
    )


@contextlib.contextmanager
def _idle(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    def sample() -> Sample:
        # A process of its own each time: one that has grown once grows less the second time.
        with lab.yardsticks.process("yard_raw") as (endpoint, pid):
            bare, _ = _grown_by_watchers(lab, endpoint, "/watch", (pid,))
        with subject.running() as run:
            revision = revision_of(run)
            path = f"{run.collection}?watch=1&allowWatchBookmarks=1&resourceVersion={revision}"
            grown, cpu = _grown_by_watchers(lab, run.endpoint, path, run.pids)
            return Sample(
                value=grown,
                yardstick=bare,
                note=f"{lab.plan.watchers:,} watchers, {cpu:.1f}% CPU while idle",
            )

    yield sample


def _grown_by_watchers(
    lab: Lab, endpoint: Endpoint, path: str, pids: Sequence[int]
) -> tuple[float, float]:
    """KB of 10^3 bytes that a server grows by for each idle watcher, and its CPU in percent."""
    few = WatchSpec(endpoint=endpoint, path=path, watchers=FEW)
    with tools.running("watchers", dataclasses.asdict(few)) as running:
        running.answer()
    sleep(SETTLE_S)  # what the first watch loads is no watcher's
    before = process.memory_mb(pids)
    many = dataclasses.replace(few, watchers=lab.plan.watchers)
    with tools.running("watchers", dataclasses.asdict(many)) as running:
        running.answer()
        sleep(SETTLE_S)
        after = process.memory_mb(pids)
        begin, cpu = perf_counter(), process.cpu_seconds(pids)
        sleep(lab.plan.idle_seconds)
        used = process.cpu_seconds(pids) - cpu
        idle = 100 * used / (perf_counter() - begin)
    return (after - before) * 1e3 / lab.plan.watchers, idle


ROWS = (
    BenchmarkRow(
        name="watch-100",
        title="watch fan-out, 1 writer, 100 watchers",
        unit="events/s",
        open=_fan_out(100),
        yardstick="asgi-16",
        target=Target("ratio", ">=", 20),
    ),
    BenchmarkRow(
        name="watch-500",
        title="watch fan-out, 1 writer, 500 watchers",
        unit="events/s",
        open=_fan_out(500),
        yardstick="asgi-16",
        target=Target("ratio", ">=", 40),
    ),
    BenchmarkRow(
        name="idle-watchers",
        title="memory by watcher, 1,000 idle ones over TLS",
        unit="KB",
        open=_idle,
        yardstick="bare-tls",
        target=Target("value", "<=", 60),
    ),
)
