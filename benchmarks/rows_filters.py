"""Rows about many watches that want little of what is written, and watches that begin late."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

from benchmarks import load, process, requests, tools
from benchmarks.clock import perf_counter, sleep
from benchmarks.errors import BenchError, Unavailable
from benchmarks.load import LoadSpec
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.subjects import Running, Subject, revision_of
from benchmarks.watchers import WatchResult, WatchSpec

SETTLE_S = 1.0
NAMES, SELECTORS, LATE = 10, 1, 5  # times the watches of the plan
WRITTEN = 100  # before late ones begin: each gets all of it


def _writes(lab: Lab, run: Running, count: int = 0) -> LoadSpec:
    """One connection that replaces the objects, for the plan's time or so many times."""
    return LoadSpec(
        endpoint=run.endpoint,
        ops=(requests.put(run.endpoint, run.namespace, lab.plan.small),),
        connections=1,
        seconds=0 if count else lab.plan.seconds,
        count=count,
    )


def _cpu_of_a_write(lab: Lab, run: Running) -> float:
    """Milliseconds of CPU that the server takes for each write, and for what follows of it."""
    before = process.cpu_seconds(run.pids)
    written = load.run(_writes(lab, run))
    return (process.cpu_seconds(run.pids) - before) * 1e3 / written.answered


def _beside(each: str, times: int) -> Callable[[Lab, Subject], Opened]:
    """Writes beside watches that want none of them.

    Args:
        each: query of a watch, `%d` for its number.
        times: how many, by the watches of the plan.
    """

    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        with subject.running(objects=lab.plan.small) as run:
            if not run.pids:
                raise Unavailable("CPU time needs the process")
            yield lambda: _round(lab, run, each, lab.plan.watchers * times)

    return opened


def _round(lab: Lab, run: Running, each: str, watchers: int) -> Sample:
    """The writes alone, and beside the watches.

    Raises:
        BenchError: a watch got an event.
    """
    path = f"{run.collection}?watch=1&resourceVersion={revision_of(run)}&"
    spec = WatchSpec(endpoint=run.endpoint, path=path, watchers=watchers, each=each)
    alone = _cpu_of_a_write(lab, run)
    with tools.running("watchers", dataclasses.asdict(spec)) as running:
        running.answer()
        sleep(SETTLE_S)
        beside = _cpu_of_a_write(lab, run)
        running.tell(0)
        seen = WatchResult(**running.answer())
    if seen.events:
        raise BenchError(f"watches that want nothing got {seen.events} events")
    return Sample(value=beside, yardstick=alone, note=f"{watchers:,} watches")


@contextlib.contextmanager
def _late(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.running(objects=lab.plan.small) as run:

        def sample() -> Sample:
            path = f"{run.collection}?watch=1&resourceVersion={revision_of(run)}"
            load.run(_writes(lab, run, WRITTEN))
            watchers = lab.plan.watchers * LATE
            spec = WatchSpec(endpoint=run.endpoint, path=path, watchers=watchers)
            before, begun = process.cpu_seconds(run.pids), perf_counter()
            with tools.running("watchers", dataclasses.asdict(spec)) as running:
                running.answer()
                running.tell(WRITTEN)
                seen = WatchResult(**running.answer())
            cpu = (process.cpu_seconds(run.pids) - before) * 1e6 / max(seen.events, 1)
            return Sample(
                value=seen.events / (seen.ended - begun),
                note=f"{watchers:,} watches of {WRITTEN:,} events each, {cpu:.1f} us CPU an event",
            )

        yield sample


ROWS = (
    BenchmarkRow(
        name="watch-names",
        title="CPU of a PUT beside 10,000 watches of other single objects",
        unit="ms",
        open=_beside("fieldSelector=metadata.name%3Dother-%d", NAMES),
        yardstick="alone",
        target=Target("ratio", "<=", 1.2),
    ),
    BenchmarkRow(
        name="watch-selectors",
        title="CPU of a PUT beside 1,000 watches of other labels",
        unit="ms",
        open=_beside("labelSelector=app%3Dother-%d", SELECTORS),
        yardstick="alone",
        target=Target("ratio", "<=", 1.2),
    ),
    BenchmarkRow(
        name="watch-late",
        title="events/s of 5,000 watches that begin 100 writes late, all at once",
        unit="events/s",
        open=_late,
    ),
)
