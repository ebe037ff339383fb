"""Rows about what roles cost: a user with a role that allows it, beside ``system:masters``."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator

from benchmarks import levels, load, process, requests
from benchmarks.endpoint import Endpoint
from benchmarks.load import LoadResult, LoadSpec
from benchmarks.requests import Op
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.rows_overhead import ORDER
from benchmarks.subjects import Running, Subject

GROUP = "rbac.authorization.k8s.io"
PATH = f"/apis/{GROUP}/v1/namespaces"
USER = "mouse"
CONNECTIONS = 16
LISTED = 100
Make = Callable[[Lab, Running, Endpoint], Op]


def grant(run: Running) -> None:
    """Let the user work with ConfigMaps of the row's namespace, and no more."""
    rule = {"verbs": ["*"], "apiGroups": [""], "resources": ["configmaps"]}
    meta = {"name": "bench"}
    run.endpoint.call("POST", f"{PATH}/{run.namespace}/roles", {"metadata": meta, "rules": [rule]})
    binding = {
        "metadata": meta,
        "subjects": [{"kind": "User", "name": USER, "apiGroup": GROUP}],
        "roleRef": {"kind": "Role", "name": "bench", "apiGroup": GROUP},
    }
    run.endpoint.call("POST", f"{PATH}/{run.namespace}/rolebindings", binding)


def _beside_masters(make: Make) -> Callable[[Lab, Subject], Opened]:
    """Requests of one kind by the user, beside the same by an administrator."""

    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        with subject.running(objects=lab.plan.small) as run:
            grant(run)
            endpoints = {True: levels.acting(run, USER), False: run.endpoint}

            def sample() -> Sample:
                found: dict[bool, list[LoadResult]] = {True: [], False: []}
                cpu = {True: 0.0, False: 0.0}
                for user in ORDER:
                    before = process.cpu_seconds(run.pids)
                    spec = LoadSpec(
                        endpoint=endpoints[user],
                        ops=(make(lab, run, endpoints[user]),),
                        connections=CONNECTIONS,
                        seconds=lab.plan.seconds * 2 / len(ORDER),
                        warmup=lab.plan.warmup / 2,
                    )
                    found[user].append(load.run(spec))
                    cpu[user] += process.cpu_seconds(run.pids) - before
                answered = {user: sum(one.answered for one in found[user]) for user in found}
                spent = {user: cpu[user] * 1e6 / answered[user] for user in cpu}
                # Slices are equally long: sums compare as rates do.
                rate = {user: sum(one.rate for one in found[user]) / 4 for user in found}
                return Sample(
                    value=rate[True],
                    yardstick=rate[False],
                    note=f"CPU of the server {spent[True]:.1f} us by request, of system:masters"
                    f" {spent[False]:.1f}",
                )

            yield sample

    return opened


def _get(lab: Lab, run: Running, endpoint: Endpoint) -> Op:
    return requests.get(endpoint, run.namespace, lab.plan.small)


def _list(lab: Lab, run: Running, endpoint: Endpoint) -> Op:
    del lab
    return requests.fixed(endpoint, f"{run.collection}?limit={LISTED}", label="list")


FIRSTS = itertools.count(1_000_000, 1_000_000)


def _post(lab: Lab, run: Running, endpoint: Endpoint) -> Op:
    del lab
    return requests.post(endpoint, run.namespace, next(FIRSTS))


def _row(name: str, title: str, make: Make) -> BenchmarkRow:
    return BenchmarkRow(
        name=name,
        title=f"{title}, {CONNECTIONS} connections of a user with a Role",
        unit="req/s",
        open=_beside_masters(make),
        yardstick="masters",
        target=Target("ratio", ">=", 0.93),
    )


ROWS = (
    _row("rbac-get-16", "GET 1 KB", _get),
    _row("rbac-list-16", f"LIST of {LISTED} objects of 1 KB", _list),
    _row("rbac-post-16", "POST 1 KB", _post),
)
