"""Rows about slow requests: what others keep beside a flow that asks for twenty times its level.

The elephant lists a collection by a label that nothing has: each list reads and decodes every
object, holds its seats while it does, and answers with nothing, so the generator costs little.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator

from benchmarks import leases, levels, load, requests, tools
from benchmarks.clock import perf_counter, sleep
from benchmarks.errors import BenchError
from benchmarks.leases import LeaseSpec
from benchmarks.load import LoadResult, LoadSpec
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.server import CONTROLLER, EVERYBODY
from benchmarks.subjects import Running, Subject

SHARES = 4  # of 253: 10 of 600 seats
TIMES = 20  # what the elephant asks for over what its level has
SETTLE_S = 1.0
SPARE_S = 3.0  # for the other generator to start and connect
LATENCY = (Target("p50_ratio", "<=", 4), Target("p99_ratio", "<=", 10))
SMALL_FLOW = 8  # connections: more than a fair part of the level, far less than the elephant


@contextlib.contextmanager
def _elephants(lab: Lab, subject: Subject) -> Iterator[tuple[Running, int]]:
    """A server with the levels, and how many lists at once are twenty times a level."""
    with subject.running(objects=lab.plan.listed // 5, allowed=EVERYBODY) as run:
        levels.configure(run, shares=SHARES, borrowing=False)
        seats = _metric(run, "nominal_limit_seats", "zoo")
        before = _metric(run, "work_estimated_seats_sum", "zoo")
        load.run(dataclasses.replace(_lists(run, "elephant", 1), count=1))
        width = _metric(run, "work_estimated_seats_sum", "zoo") - before
        yield run, round(TIMES * seats / width)


def _metric(run: Running, name: str, *names: str) -> float:
    """A number of some levels, added up."""
    text = str(run.endpoint.call("GET", "/metrics", accept=(200,))["text"])
    level = f'priority_level="(?:{"|".join(names)})"'
    found = re.findall(
        rf"^apiserver_flowcontrol_{name}{{[^}}]*{level}[^}}]*}} (\S+)$", text, re.MULTILINE
    )
    return sum(map(float, found))


def _lists(run: Running, user: str, connections: int) -> LoadSpec:
    """Slow lists of a user, without a length of time."""
    endpoint = levels.acting(run, user)
    op = requests.fixed(endpoint, f"{run.collection}?labelSelector=app%3Dnone", label=user)
    return LoadSpec(endpoint=endpoint, ops=(op,), connections=connections)


def _gets(run: Running, user: str) -> LoadSpec:
    """GETs of a small object on one connection, without a length of time."""
    endpoint = levels.acting(run, user) if user else run.endpoint
    return LoadSpec(
        endpoint=endpoint, ops=(requests.get(endpoint, run.namespace, 100),), connections=1
    )


@contextlib.contextmanager
def _trampling(
    run: Running, connections: int, seconds: float
) -> Iterator[Callable[[], LoadResult]]:
    """The elephant, for at least so many seconds from when its queue is full.

    What is yielded waits for it to end.

    Raises:
        BenchError: it left before the block asked for its result.
    """
    seconds += SETTLE_S + SPARE_S
    spec = dataclasses.replace(_lists(run, "elephant", connections), seconds=seconds, announce=True)
    with tools.running("load", dataclasses.asdict(spec)) as running:
        running.answer()
        begun = perf_counter()
        sleep(SETTLE_S)

        def result() -> LoadResult:
            if perf_counter() > begun + seconds:
                raise BenchError("the elephant left before the others")
            return load.result(running.answer())

        yield result


def _timed(lab: Lab, spec: LoadSpec) -> LoadSpec:
    return dataclasses.replace(spec, seconds=lab.plan.seconds, warmup=lab.plan.warmup)


def _fair(user: str) -> Callable[[Lab, Subject], Opened]:
    """Lists of a small flow beside those of the elephant: half of all is its fair share."""

    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        with _elephants(lab, subject) as (run, connections):

            def sample() -> Sample:
                mouse = _timed(lab, _lists(run, user, SMALL_FLOW))
                with _trampling(run, connections, lab.plan.seconds + lab.plan.warmup) as result:
                    with tools.running(
                        "load", dataclasses.asdict(dataclasses.replace(mouse, announce=True))
                    ) as running:
                        running.answer()
                        before = _metric(run, "dispatched_requests_total", *levels.LEVELS)
                        beside = load.result(running.answer())
                        after = _metric(run, "dispatched_requests_total", *levels.LEVELS)
                    crowd = result()
                # From the mouse's first request to its last, so that both count the same time.
                seconds = beside.ended - beside.started
                return Sample(
                    value=beside.answered / seconds,
                    yardstick=(after - before) / 2 / seconds,
                    p50_ms=beside.p50_ms,
                    p99_ms=beside.p99_ms,
                    note=f"elephant {connections} connections, p50 {crowd.p50_ms:,.0f} ms",
                )

            yield sample

    return opened


def _small(user: str) -> Callable[[Lab, Subject], Opened]:
    """GETs on one connection, alone and beside the elephant."""

    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        with _elephants(lab, subject) as (run, connections):

            def sample() -> Sample:
                mouse = _timed(lab, _gets(run, user))
                alone = load.run(mouse)
                with _trampling(run, connections, lab.plan.seconds + lab.plan.warmup) as result:
                    beside = load.run(mouse)
                    crowd = result()
                return Sample(
                    value=beside.rate,
                    yardstick=alone.rate,
                    p50_ms=beside.p50_ms,
                    p99_ms=beside.p99_ms,
                    p50_yardstick_ms=alone.p50_ms,
                    p99_yardstick_ms=alone.p99_ms,
                    note=f"alone p50 {alone.p50_ms:.3f} p99 {alone.p99_ms:.3f} ms,"
                    f" elephant {crowd.rate:.0f} lists/s p50 {crowd.p50_ms:,.0f} ms",
                )

            yield sample

    return opened


@contextlib.contextmanager
def _election(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    """Renewals of a Lease, alone and beside the elephant."""
    with _elephants(lab, subject) as (run, connections):
        endpoint = levels.acting(run, CONTROLLER)
        meant = run.endpoint.call(
            "GET", f"{levels.GROUP}/prioritylevelconfigurations/leader-election"
        )
        found = levels.level_of(endpoint, leases.LEASES + "/" + leases.NAME)
        if found != meant["metadata"]["uid"]:
            raise BenchError(f"leases are of level {found}, not of leader-election")
        spec = LeaseSpec(endpoint=endpoint, seconds=lab.plan.seconds)

        def sample() -> Sample:
            alone = leases.run(spec)
            with _trampling(run, connections, lab.plan.seconds) as result:
                beside = leases.run(spec)
                crowd = result()
            return Sample(
                value=beside.rounds / (beside.ended - beside.started),
                yardstick=alone.rounds / (alone.ended - alone.started),
                p50_ms=beside.p50_ms,
                p99_ms=beside.p99_ms,
                p50_yardstick_ms=alone.p50_ms,
                p99_yardstick_ms=alone.p99_ms,
                note=f"alone p50 {alone.p50_ms:.2f} p99 {alone.p99_ms:.2f} ms; PUT alone"
                f" {alone.put_p50_ms:.2f}/{alone.put_p99_ms:.2f}, beside"
                f" {beside.put_p50_ms:.2f}/{beside.put_p99_ms:.2f} ms;"
                f" elephant {crowd.rate:.0f} lists/s p50 {crowd.p50_ms:,.0f} ms",
            )

        yield sample


ROWS = (
    BenchmarkRow(
        name="elephant-share-level",
        title="slow LISTs, 8 connections beside 20 times the level's seats of another flow in it",
        unit="req/s",
        open=_fair("mouse"),
        yardstick="half of both",
        target=Target("ratio", ">=", 0.95),
    ),
    BenchmarkRow(
        name="elephant-share-other",
        title="slow LISTs, 8 connections of one level beside 20 times the seats of another",
        unit="req/s",
        open=_fair("other"),
        yardstick="half of both",
        target=Target("ratio", ">=", 0.95),
    ),
    BenchmarkRow(
        name="elephant-get-other",
        title="GET, 1 connection of one level beside 20 times the seats of another in slow LISTs",
        unit="req/s",
        open=_small("other"),
        yardstick="alone",
        target=Target("ratio", ">=", 0.25),
        latency=LATENCY,
    ),
    BenchmarkRow(
        name="elephant-get-masters",
        title="GET, 1 connection of system:masters beside the same",
        unit="req/s",
        open=_small(""),
        yardstick="alone",
        target=Target("ratio", ">=", 0.25),
        latency=LATENCY,
    ),
    BenchmarkRow(
        name="elephant-election",
        title="reading and renewing a Lease of leader election beside the same, each 10 ms",
        unit="rounds/s",
        open=_election,
        yardstick="alone",
        latency=(Target("p99_ratio", "<=", 3),),
    ),
)
