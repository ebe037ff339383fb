"""Rows about many informers that begin at once on large objects.

The test that made kube-apiserver run out of memory, and that its streaming encoders (KEP-5116) and
streaming lists (KEP-3157) are for: 400 objects of 1 MB, and clients that list and watch them all
at the same time.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

from benchmarks import initial, load, probe, process, requests, tools
from benchmarks.errors import BenchError, Unavailable
from benchmarks.load import LoadSpec
from benchmarks.probe import ProbeSpec
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.subjects import Running, Subject
from benchmarks.watchers import WatchSpec

OBJECTS, QUICK_OBJECTS = 400, 20
SIZE = 1_000_000
READY = "/readyz"

Informers = Callable[[Running, int, int], None]
"""Has so many informers get all of so many objects."""
BOOKMARKS = 10
"""Regular ones that an informer may get while others still read, one in a minute."""


def _lists(accept: str) -> Informers:
    """Informers that list."""

    def begin(run: Running, informers: int, objects: int) -> None:
        del objects
        op = requests.fixed(run.endpoint, run.collection, label="list", accept=accept)
        spec = LoadSpec(endpoint=run.endpoint, ops=(op,), connections=informers, count=informers)
        load.run(spec)

    return begin


def _streams(run: Running, informers: int, objects: int) -> None:
    """Informers that ask for the state as the first events of a watch.

    Raises:
        BenchError: one did not get all of it.
    """
    path = f"{run.collection}?{initial.QUERY}"
    spec = WatchSpec(endpoint=run.endpoint, path=path, watchers=informers)
    with tools.running("watchers", dataclasses.asdict(spec)) as running:
        running.answer()
        running.tell(objects + 1)  # and the bookmark behind them
        seen = running.answer()
    if not objects < seen["fewest"] <= seen["most"] <= objects + 1 + BOOKMARKS:
        raise BenchError(f"informers got {seen['fewest']} to {seen['most']} events")


def _memory(begin: Informers, informers: int) -> Callable[[Lab, Subject], Opened]:
    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        objects = OBJECTS if lab.plan.large >= OBJECTS * 100 else QUICK_OBJECTS
        with subject.running() as run:
            if not run.pids:
                raise Unavailable("memory needs the process")
            made = requests.post(run.endpoint, run.namespace, 0, size=SIZE)
            load.run(LoadSpec(endpoint=run.endpoint, ops=(made,), connections=4, count=objects))

            def sample() -> Sample:
                before = process.memory_mb(run.pids)
                process.forget_peak(run.pids)
                ready = ProbeSpec(endpoint=run.endpoint, path=READY, seconds=600, every_ms=100)
                during, _ = probe.during(ready, lambda: begin(run, informers, objects))
                grown = process.memory_mb(run.pids, peak=True) - before
                note = f"{objects} objects, {READY} {during.max_ms:.0f} ms at most"
                return Sample(value=grown, p50_ms=during.p50_ms, p99_ms=during.p99_ms, note=note)

            yield sample

    return opened


def _row(name: str, title: str, begin: Informers, informers: int) -> BenchmarkRow:
    return BenchmarkRow(
        name=f"informers-{name}-{informers}",
        title=f"memory grown by {informers} {title} of 400 objects of 1 MB, all at once",
        unit="MB",
        open=_memory(begin, informers),
        target=Target("value", "<", 150),
        most_rounds=1,
    )


ROWS = tuple(
    _row(name, title, begin, informers)
    for informers in (16, 64)
    for name, title, begin in (
        ("json", "LISTs", _lists("")),
        ("protobuf", "LISTs as protobuf", _lists(requests.PROTOBUF)),
        ("stream", "streaming lists", _streams),
    )
)
