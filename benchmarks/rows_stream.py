"""Rows about streaming lists: the state of a large collection as the first events of a watch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from benchmarks import initial, probe, process
from benchmarks.initial import InitialResult, InitialSpec
from benchmarks.probe import ProbeSpec
from benchmarks.rows import BenchmarkRow, Lab, Sample, Target
from benchmarks.rows_list import PROBED, calm_probe, lists, pause_sample
from benchmarks.subjects import Running, Subject


def _streams(lab: Lab, run: Running) -> InitialResult:
    return initial.run(
        InitialSpec(endpoint=run.endpoint, path=run.collection, seconds=lab.plan.seconds)
    )


@contextlib.contextmanager
def _time(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.running(objects=lab.plan.large) as run:

        def sample() -> Sample:
            yardstick = lists(run.endpoint, run.collection, lab.plan.seconds)
            before = _memory(run, forget=True)
            result = _streams(lab, run)
            grown = f", memory grown by {_memory(run) - before:,.0f} MB" if run.pids else ""
            return Sample(
                value=result.p50_ms,
                yardstick=yardstick.p50_ms,
                p50_ms=result.p50_ms,
                p99_ms=result.p99_ms,
                note=f"{result.events:,} events, {result.bytes / 1e6:,.0f} MB{grown}",
            )

        yield sample


def _memory(run: Running, *, forget: bool = False) -> float:
    """Resident memory: now, forgetting its peak, or the peak; 0 when the processes are unknown."""
    if not run.pids:
        return 0.0
    if forget:
        process.forget_peak(run.pids)
    return process.memory_mb(run.pids, peak=not forget)


@contextlib.contextmanager
def _pause(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.running(objects=lab.plan.large) as run:

        def sample() -> Sample:
            calm = calm_probe(lab, run)
            spec = ProbeSpec(endpoint=run.endpoint, path=PROBED, seconds=120)
            during, result = probe.during(spec, lambda: _streams(lab, run))
            return pause_sample(
                calm, during, f"{result.lists + 1} streams of {result.p50_ms:,.0f} ms each"
            )

        yield sample


ROWS = (
    BenchmarkRow(
        name="stream-list",
        title="streaming list of 100,000 (sendInitialEvents)",
        unit="ms",
        open=_time,
        yardstick="json",
    ),
    BenchmarkRow(
        name="stream-list-pause",
        title="pause of a GET during a streaming list of 100,000",
        unit="ms",
        open=_pause,
        target=Target("value", "<", 20),
    ),
)
