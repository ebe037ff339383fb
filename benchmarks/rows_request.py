"""Rows about single requests: GET, POST, PUT, DELETE and a mix of them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator

from benchmarks import load, requests
from benchmarks.load import LoadResult, LoadSpec
from benchmarks.requests import Op
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.subjects import Running, Subject

FEW = 20  # objects in the small list of the mixed load


def measure(lab: Lab, run: Running, connections: int, *ops: Op) -> LoadResult:
    """A load for the plan's time."""
    return load.run(
        LoadSpec(
            endpoint=run.endpoint,
            ops=ops,
            connections=connections,
            seconds=lab.plan.seconds,
            warmup=lab.plan.warmup,
        )
    )


def beside_asgi(lab: Lab, result: LoadResult, connections: int, note: str = "") -> Sample:
    """A result beside yardstick (a) with as many connections."""
    busy = f"generator {result.cpu_share:.0%} busy" if result.cpu_share > 0.8 else ""
    return Sample(
        value=result.rate,
        yardstick=lab.yardsticks.asgi(connections),
        p50_ms=result.p50_ms,
        p99_ms=result.p99_ms,
        note="; ".join(filter(None, (note, busy))),
    )


def _get(connections: int) -> Callable[[Lab, Subject], Opened]:
    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        with subject.running(objects=lab.plan.small) as run:
            op = requests.get(run.endpoint, run.namespace, lab.plan.small)
            yield lambda: beside_asgi(lab, measure(lab, run, connections, op), connections)

    return opened


@contextlib.contextmanager
def _get_protobuf(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.running(objects=lab.plan.small) as run:
        where, span = (run.endpoint, run.namespace), lab.plan.small
        as_json = requests.get(*where, span)
        as_protobuf = requests.get(*where, span, accept=requests.PROTOBUF)

        def sample() -> Sample:
            yardstick = measure(lab, run, 16, as_json)
            result = measure(lab, run, 16, as_protobuf)
            return Sample(
                value=result.rate,
                yardstick=yardstick.rate,
                p50_ms=result.p50_ms,
                p99_ms=result.p99_ms,
            )

        yield sample


def _post(connections: int) -> Callable[[Lab, Subject], Opened]:
    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        with subject.running() as run:
            firsts = itertools.count(0, 1_000_000)

            def sample() -> Sample:
                op = requests.post(run.endpoint, run.namespace, next(firsts))
                return beside_asgi(lab, measure(lab, run, connections, op), connections)

            yield sample

    return opened


@contextlib.contextmanager
def _put(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.running(objects=lab.plan.small) as run:
        op = requests.put(run.endpoint, run.namespace, lab.plan.small)
        yield lambda: beside_asgi(lab, measure(lab, run, 16, op), 16)


@contextlib.contextmanager
def _delete(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.running() as run:
        firsts = itertools.count(0, lab.plan.deleted)

        def sample() -> Sample:
            first = next(firsts)
            run.fill(first, first + lab.plan.deleted)
            result = load.run(
                LoadSpec(
                    endpoint=run.endpoint,
                    ops=(requests.delete(run.endpoint, run.namespace, first),),
                    connections=16,
                    count=lab.plan.deleted,
                )
            )
            return beside_asgi(lab, result, 16)

        yield sample


@contextlib.contextmanager
def _mixed(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.running(objects=lab.plan.small) as run:
        where, namespace, span = run.endpoint, run.namespace, lab.plan.small
        ops = (
            requests.get(where, namespace, span, weight=7),
            requests.fixed(where, f"{run.collection}?limit={FEW}", label="list", weight=1),
            requests.put(where, namespace, span, weight=2),
        )

        def sample() -> Sample:
            result = measure(lab, run, 16, *ops)
            note = ", ".join(
                f"{label} p50 {of['p50_ms']:.1f} p99 {of['p99_ms']:.1f} ms"
                for label, of in result.by_op.items()
            )
            return beside_asgi(lab, result, 16, note)

        yield sample


ROWS = (
    BenchmarkRow(
        name="get-1",
        title="GET 1 KB, 1 connection",
        unit="req/s",
        open=_get(1),
        yardstick="asgi-1",
    ),
    BenchmarkRow(
        name="get-16",
        title="GET 1 KB, 16 connections",
        unit="req/s",
        open=_get(16),
        yardstick="asgi-16",
        target=Target("ratio", ">=", 6),
    ),
    BenchmarkRow(
        name="get-16-protobuf",
        title="GET 1 KB as protobuf, 16 connections",
        unit="req/s",
        open=_get_protobuf,
        yardstick="json",
    ),
    BenchmarkRow(
        name="post-1",
        title="durable POST 1 KB, 1 connection",
        unit="req/s",
        open=_post(1),
        yardstick="asgi-1",
    ),
    BenchmarkRow(
        name="post-16",
        title="durable POST 1 KB, 16 connections",
        unit="req/s",
        open=_post(16),
        yardstick="asgi-16",
        target=Target("ratio", ">=", 2.5),
    ),
    BenchmarkRow(
        name="post-64",
        title="durable POST 1 KB, 64 connections",
        unit="req/s",
        open=_post(64),
        yardstick="asgi-64",
        target=Target("ratio", ">=", 2.5),
    ),
    BenchmarkRow(
        name="put-16",
        title="durable PUT 1 KB, 16 connections",
        unit="req/s",
        open=_put,
        yardstick="asgi-16",
    ),
    BenchmarkRow(
        name="delete-16",
        title="durable DELETE, 16 connections",
        unit="req/s",
        open=_delete,
        yardstick="asgi-16",
    ),
    BenchmarkRow(
        name="mixed-16",
        title="70% GET, 10% LIST of 20, 20% PUT, 16 connections",
        unit="req/s",
        open=_mixed,
        yardstick="asgi-16",
    ),
)
