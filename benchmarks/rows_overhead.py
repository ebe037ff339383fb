"""Rows about what flow control costs: time while nothing waits, memory while much does."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

from benchmarks import levels, load, process, requests, tools
from benchmarks.load import LoadResult, LoadSpec
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.server import EVERYBODY
from benchmarks.subjects import Running, Subject
from benchmarks.waiting import WaitingSpec

WITHOUT = "--enable-priority-and-fairness=false"
# With and without in turn, mirrored, so that what drifts on the machine drifts for both.
ORDER = (True, False, False, True, True, False, False, True)
WAITING = 10_000


def _median(numbers: list[float]) -> float:
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return (ordered[middle] + ordered[~middle]) / 2


def _get(user: str, connections: int) -> Callable[[Lab, Subject], Opened]:
    """GETs of a user (of system:masters if empty) with flow control, beside the same without."""

    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        with contextlib.ExitStack() as stack:
            runs: dict[bool, Running] = {
                on: stack.enter_context(
                    subject.running(
                        objects=lab.plan.small, flags=() if on else (WITHOUT,), allowed=EVERYBODY
                    )
                )
                for on in (True, False)
            }
            length = lab.plan.seconds * 2 / len(ORDER)

            def slice_(run: Running) -> LoadResult:
                endpoint = levels.acting(run, user) if user else run.endpoint
                op = requests.get(endpoint, run.namespace, lab.plan.small)
                return load.run(
                    LoadSpec(
                        endpoint=endpoint,
                        ops=(op,),
                        connections=connections,
                        seconds=length,
                        warmup=lab.plan.warmup / 2,
                    )
                )

            def sample() -> Sample:
                found: dict[bool, list[LoadResult]] = {True: [], False: []}
                cpu = {True: 0.0, False: 0.0}
                for on in ORDER:
                    before = process.cpu_seconds(runs[on].pids)
                    found[on].append(slice_(runs[on]))
                    cpu[on] += process.cpu_seconds(runs[on].pids) - before
                spent = {on: cpu[on] * 1e6 / sum(one.answered for one in found[on]) for on in cpu}
                rate, p50, p99 = (
                    {on: _median([getattr(one, name) for one in found[on]]) for on in found}
                    for name in ("rate", "p50_ms", "p99_ms")
                )
                busy = max(one.cpu_share for ones in found.values() for one in ones)
                return Sample(
                    value=rate[True],
                    yardstick=rate[False],
                    p50_ms=p50[True],
                    p99_ms=p99[True],
                    note=f"without p50 {p50[False]:.3f} p99 {p99[False]:.3f} ms; CPU of the server"
                    f" {spent[True]:.1f} us by request, without {spent[False]:.1f}"
                    + (f"; generator {busy:.0%} busy" if busy > 0.8 else ""),
                )

            yield sample

    return opened


@contextlib.contextmanager
def _waiting(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    """Memory of requests that wait, without any server: the gate and its dispatcher alone."""
    del lab, subject

    def sample() -> Sample:
        found = tools.run("waiting", dataclasses.asdict(WaitingSpec(requests=WAITING)))
        return Sample(
            value=found["gate_bytes"] / 1e6,
            note=f"{found['gate_bytes'] / WAITING:.0f} bytes for each request, and"
            f" {found['task_bytes'] / WAITING:.0f} of the task of its connection, which is there"
            " anyway",
        )

    yield sample


ROWS = (
    BenchmarkRow(
        name="overhead-get-1",
        title="GET 1 KB, 1 connection of an ordinary user, with flow control",
        unit="req/s",
        open=_get("mouse", 1),
        yardstick="without",
        target=Target("ratio", ">=", 0.95),
    ),
    BenchmarkRow(
        name="overhead-get-16-masters",
        title="GET 1 KB, 16 connections of system:masters, with flow control",
        unit="req/s",
        open=_get("", 16),
        yardstick="without",
        target=Target("ratio", ">=", 0.95),
    ),
    BenchmarkRow(
        name="overhead-get-16",
        title="GET 1 KB, 16 connections of an ordinary user, with flow control",
        unit="req/s",
        open=_get("mouse", 16),
        yardstick="without",
        target=Target("ratio", ">=", 0.95),
    ),
    BenchmarkRow(
        name="waiting-memory",
        title=f"memory of {WAITING:,} requests waiting at the gate",
        unit="MB",
        open=_waiting,
        target=Target("value", "<", 20),
        most_rounds=1,
    ),
)
