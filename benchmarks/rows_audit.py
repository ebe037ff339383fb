"""Rows about what the audit log costs: every request noted at level Metadata, beside none."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import load, process, requests
from benchmarks.load import LoadResult, LoadSpec
from benchmarks.requests import Op
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.rows_overhead import ORDER
from benchmarks.subjects import Running, Subject

POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"
CONNECTIONS = 16
Make = Callable[[Lab, Running], Op]


def _audited(make: Make, mode: str) -> Callable[[Lab, Subject], Opened]:
    """Requests of one kind with the log, beside the same without."""

    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        with contextlib.ExitStack() as stack:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            policy = place / "policy.yaml"
            policy.write_text(POLICY)
            flags = (
                f"--audit-policy-file={policy}",
                f"--audit-log-path={place / 'audit.log'}",
                f"--audit-log-mode={mode}",
                "--audit-log-maxbackup=1",
            )
            runs = {
                on: stack.enter_context(
                    subject.running(objects=lab.plan.small, flags=flags if on else ())
                )
                for on in (True, False)
            }

            def sample() -> Sample:
                found: dict[bool, list[LoadResult]] = {True: [], False: []}
                cpu = {True: 0.0, False: 0.0}
                for on in ORDER:
                    run = runs[on]
                    before = process.cpu_seconds(run.pids)
                    spec = LoadSpec(
                        endpoint=run.endpoint,
                        ops=(make(lab, run),),
                        connections=CONNECTIONS,
                        seconds=lab.plan.seconds * 2 / len(ORDER),
                        warmup=lab.plan.warmup / 2,
                    )
                    found[on].append(load.run(spec))
                    cpu[on] += process.cpu_seconds(run.pids) - before
                answered = {on: sum(one.answered for one in found[on]) for on in found}
                spent = {on: cpu[on] * 1e6 / answered[on] for on in cpu}
                # Slices are equally long: sums compare as rates do.
                rate = {on: sum(one.rate for one in found[on]) / len(found[on]) for on in found}
                return Sample(
                    value=rate[True],
                    yardstick=rate[False],
                    note=f"CPU of the server {spent[True]:.1f} us by request, without"
                    f" {spent[False]:.1f}",
                )

            yield sample

    return opened


def _get(lab: Lab, run: Running) -> Op:
    return requests.get(run.endpoint, run.namespace, lab.plan.small)


FIRSTS = itertools.count(1_000_000, 1_000_000)


def _post(lab: Lab, run: Running) -> Op:
    del lab
    return requests.post(run.endpoint, run.namespace, next(FIRSTS))


def _row(name: str, title: str, make: Make, mode: str, at_least: float | None) -> BenchmarkRow:
    return BenchmarkRow(
        name=name,
        title=f"{title}, {CONNECTIONS} connections, audit at level Metadata in mode {mode}",
        unit="req/s",
        open=_audited(make, mode),
        yardstick="without",
        target=None if at_least is None else Target("ratio", ">=", at_least),
    )


ROWS = (
    _row("audit-get-16", "GET 1 KB", _get, "batch", 0.85),
    _row("audit-post-16", "POST 1 KB", _post, "batch", 0.85),
    _row("audit-get-16-blocking", "GET 1 KB", _get, "blocking", None),
    _row("audit-post-16-blocking", "POST 1 KB", _post, "blocking", None),
)
