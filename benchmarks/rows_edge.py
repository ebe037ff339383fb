"""Rows about a small device: bytes on flash by update, and memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence

from benchmarks import load, process, requests
from benchmarks.clock import sleep
from benchmarks.load import LoadSpec
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.subjects import Running, Subject, create_namespace

EDGE = ("--profile=edge",)
OBJECT_BYTES = 256  # as it is sent; 0.5 KB as it is stored
OBJECTS = 100
STORED = 10_000
SETTLE_S = 2.0


def _by_update(lab: Lab, run: Running) -> float:
    """KB of 10^3 bytes on the disk by update of one of some objects."""
    endpoint, updates = run.endpoint, lab.plan.churn
    made = requests.post(endpoint, run.namespace, 0, size=OBJECT_BYTES)
    load.run(LoadSpec(endpoint=endpoint, ops=(made,), connections=1, count=OBJECTS))
    os.sync()
    before = process.written_bytes(run.pids)
    put = requests.put(endpoint, run.namespace, OBJECTS, size=OBJECT_BYTES)
    load.run(LoadSpec(endpoint=endpoint, ops=(put,), connections=1, count=updates))
    os.sync()
    return (process.written_bytes(run.pids) - before) / updates / 1e3


def _flash(durability: str) -> Callable[[Lab, Subject], Opened]:
    """One connection, so that no two updates share a sync; beside a server without the profile."""

    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        chosen = f"--durability={durability}"

        def sample() -> Sample:
            found = []
            for flags in ((*EDGE, chosen), (chosen,)):
                with subject.running(flags=flags) as run:
                    found.append(_by_update(lab, run))
            return Sample(value=found[0], yardstick=found[1])

        yield sample

    return opened


def _filled(count: int) -> Callable[[Running], None]:
    def fill(run: Running) -> None:
        create_namespace(run)
        run.fill(0, count)

    return fill


@contextlib.contextmanager
def _memory(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    def after(flags: Sequence[str], count: int) -> float:
        with subject.restarts(_filled(count), flags) as start, start() as started:
            sleep(SETTLE_S)
            return process.memory_mb((started.process.pid,))

    def sample() -> Sample:
        count = min(STORED, lab.plan.listed)
        return Sample(value=after(EDGE, count), yardstick=after((), count))

    yield sample


ROWS = (
    BenchmarkRow(
        name="flash-update",
        title="bytes on the disk by durable update of 0.5 KB, edge profile",
        unit="KB",
        open=_flash("full"),
        yardstick="default profile",
        target=Target("value", "<", 6),
        most_rounds=2,
    ),
    BenchmarkRow(
        name="flash-update-normal",
        title="the same with --durability=normal",
        unit="KB",
        open=_flash("normal"),
        yardstick="default profile",
        target=Target("value", "<", 2),
        most_rounds=2,
    ),
    BenchmarkRow(
        name="edge-memory",
        title="memory of the edge profile with 10,000 objects of 1 KB",
        unit="MB",
        open=_memory,
        yardstick="default profile",
        target=Target("value", "<", 60),
        most_rounds=2,
    ),
)
