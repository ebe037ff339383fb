"""Rows about a server that does nothing: start-up, memory, CPU; and what the generator can do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from benchmarks import process
from benchmarks.clock import perf_counter, sleep
from benchmarks.rows import BenchmarkRow, Lab, Sample, Target
from benchmarks.subjects import Subject

SETTLE_S = 2.0  # after ready, a server still reconciles


@contextlib.contextmanager
def _generator(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    """Measures no subject: `subject` is ignored."""
    del subject
    with lab.yardsticks.serve("yard_raw") as endpoint:

        def sample() -> Sample:
            result = lab.yardsticks.rate(endpoint, 16)
            return Sample(
                value=result.rate,
                yardstick=lab.yardsticks.asgi(16),
                p50_ms=result.p50_ms,
                p99_ms=result.p99_ms,
                note=f"generator: {result.cpu_us:.1f} us CPU a request",
            )

        yield sample


@contextlib.contextmanager
def _start_up(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.start_up():
        pass  # the first start writes bytecode files

    def sample() -> Sample:
        imports = lab.yardsticks.imports()
        with subject.start_up() as started:
            return Sample(value=started.ready_s, yardstick=imports)

    yield sample


@contextlib.contextmanager
def _idle_memory(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    del lab

    def sample() -> Sample:
        with subject.running() as run:
            sleep(SETTLE_S)
            return Sample(value=process.memory_mb(run.pids))

    yield sample


@contextlib.contextmanager
def _idle_cpu(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.running() as run:
        sleep(SETTLE_S)

        def sample() -> Sample:
            begin, cpu = perf_counter(), process.cpu_seconds(run.pids)
            sleep(lab.plan.idle_seconds)
            used = process.cpu_seconds(run.pids) - cpu
            return Sample(value=100 * used / (perf_counter() - begin))

        yield sample


ROWS = (
    BenchmarkRow(
        name="generator",
        title="what the generator reaches (trivial TLS server)",
        unit="req/s",
        open=_generator,
        yardstick="asgi-16",
        most_rounds=1,
    ),
    BenchmarkRow(
        name="startup",
        title="start on an empty data directory to ready",
        unit="s",
        open=_start_up,
        yardstick="imports",
        target=Target("ratio", "<=", 2.0),
    ),
    BenchmarkRow(
        name="idle-rss",
        title="memory when idle",
        unit="MB",
        open=_idle_memory,
        target=Target("value", "<=", 90),
        most_rounds=3,
    ),
    BenchmarkRow(
        name="idle-cpu",
        title="CPU when idle",
        unit="%",
        open=_idle_cpu,
        target=Target("value", "<", 0.5),
        most_rounds=2,
    ),
)
