"""Rows about growth: what a GET costs when the store holds many objects."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from benchmarks import requests
from benchmarks.load import LoadResult
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.rows_request import measure
from benchmarks.subjects import Running, Subject


def _growth(step: int) -> Callable[[Lab, Subject], Opened]:
    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        few, many = lab.plan.growth[0], lab.plan.growth[step]
        with (
            subject.running(objects=many) as large,
            subject.running(objects=few) as small,
        ):

            def sample() -> Sample:
                before = _gets(lab, small, few)
                after = _gets(lab, large, many)
                return Sample(
                    value=1e6 / after.rate,
                    yardstick=1e6 / before.rate,
                    p50_ms=after.p50_ms,
                    p99_ms=after.p99_ms,
                    note=f"{many:,} objects beside {few:,}",
                )

            yield sample

    return opened


def _gets(lab: Lab, run: Running, objects: int) -> LoadResult:
    return measure(lab, run, 16, requests.get(run.endpoint, run.namespace, objects))


ROWS = (
    BenchmarkRow(
        name="get-at-100k",
        title="a GET among 100,000 objects, beside 1,000",
        unit="us",
        open=_growth(1),
        yardstick="few",
    ),
    BenchmarkRow(
        name="get-at-1m",
        title="a GET among 1,000,000 objects, beside 1,000",
        unit="us",
        open=_growth(2),
        yardstick="few",
        target=Target("ratio", "<=", 1.5),
    ),
)
