"""Rows about flow control: what a small flow, the mouse, keeps beside a large one, the elephant."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

from benchmarks import levels, load, requests, tools
from benchmarks.clock import sleep
from benchmarks.errors import BenchError
from benchmarks.load import LoadResult, LoadSpec
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.subjects import Running, Subject

# Refused by authorization, so behind flow control: as cheap as a request can be.
CHEAP = levels.PROBED
SETTLE_S = 0.5  # from the elephant's first requests, for its queue to fill
SPARE_S = 2.0  # for the mouse to start and connect
LATENCY = (Target("p50_ratio", "<=", 4), Target("p99_ratio", "<=", 10))


def _spec(run: Running, user: str, *, connections: int, expect: tuple[int, ...]) -> LoadSpec:
    """Cheap requests of a user, without a length of time."""
    endpoint = levels.acting(run, user)
    op = dataclasses.replace(requests.fixed(endpoint, CHEAP, label=user), expect=expect)
    return LoadSpec(endpoint=endpoint, ops=(op,), connections=connections)


def _round(lab: Lab, run: Running, user: str, connections: int) -> Sample:
    """The mouse alone, then beside the elephant.

    Raises:
        BenchError: the elephant was not there for the whole of the mouse's time.
    """
    seconds, warmup = lab.plan.seconds, lab.plan.warmup
    mouse = dataclasses.replace(
        _spec(run, user, connections=1, expect=(403,)), seconds=seconds, warmup=warmup
    )
    alone = load.run(mouse)
    elephant = dataclasses.replace(
        # What does not fit into its queue is refused.
        _spec(run, "elephant", connections=connections, expect=(403, 429)),
        seconds=SETTLE_S + SPARE_S + warmup + seconds,
        announce=True,
    )
    with tools.running("load", dataclasses.asdict(elephant)) as running:
        running.answer()
        sleep(SETTLE_S)
        beside = load.run(mouse)
        crowd = load.result(running.answer())
    if not crowd.started < beside.started < beside.ended < crowd.started + elephant.seconds:
        raise BenchError("the elephant left before the mouse")
    return _sample(alone, beside, crowd)


def _sample(alone: LoadResult, beside: LoadResult, crowd: LoadResult) -> Sample:
    busy = f"; its generator {crowd.cpu_share:.0%} busy" if crowd.cpu_share > 0.8 else ""
    return Sample(
        value=beside.rate,
        yardstick=alone.rate,
        p50_ms=beside.p50_ms,
        p99_ms=beside.p99_ms,
        p50_yardstick_ms=alone.p50_ms,
        p99_yardstick_ms=alone.p99_ms,
        note=f"alone p50 {alone.p50_ms:.3f} p99 {alone.p99_ms:.3f} ms,"
        f" elephant {crowd.rate:,.0f} req/s p50 {crowd.p50_ms:.1f} ms{busy}",
    )


def _beside(user: str, connections: int) -> Callable[[Lab, Subject], Opened]:
    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        with subject.running() as run:
            levels.configure(run, shares=50)
            yield lambda: _round(lab, run, user, connections)

    return opened


ROWS = (
    BenchmarkRow(
        name="isolation-level-64",
        title="cheap GET, 1 connection beside 64 of another flow, one level",
        unit="req/s",
        open=_beside("mouse", 64),
        yardstick="alone",
        target=Target("ratio", ">=", 0.25),
        latency=LATENCY,
    ),
    BenchmarkRow(
        name="isolation-level-1000",
        title="cheap GET, 1 connection beside 1,000 of another flow, one level",
        unit="req/s",
        open=_beside("mouse", 1_000),
        yardstick="alone",
        target=Target("ratio", ">=", 0.25),
        latency=LATENCY,
    ),
    BenchmarkRow(
        name="isolation-other-64",
        title="cheap GET, 1 connection beside 64 of another level",
        unit="req/s",
        open=_beside("other", 64),
        yardstick="alone",
        target=Target("ratio", ">=", 0.25),
        latency=LATENCY,
    ),
)
