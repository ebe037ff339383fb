"""Rows about watch fan-out: one writer, many watchers, all events counted."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

from benchmarks import load, requests, tools
from benchmarks.clock import sleep
from benchmarks.errors import BenchError
from benchmarks.load import LoadSpec
from benchmarks.rows import Lab, Opened, Row, Sample, Target
from benchmarks.subjects import Running, Subject
from benchmarks.watchers import WatchResult, WatchSpec


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
    revision = run.endpoint.call("GET", f"{run.collection}?limit=1")["metadata"]["resourceVersion"]
    path = f"{run.collection}?watch=1&resourceVersion={revision}"
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


ROWS = (
    Row(
        name="watch-100",
        title="watch fan-out, 1 writer, 100 watchers",
        unit="events/s",
        open=_fan_out(100),
        yardstick="asgi-16",
        target=Target("ratio", ">=", 20),
    ),
    Row(
        name="watch-500",
        title="watch fan-out, 1 writer, 500 watchers",
        unit="events/s",
        open=_fan_out(500),
        yardstick="asgi-16",
        target=Target("ratio", ">=", 40),
    ),
)
