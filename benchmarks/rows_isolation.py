"""Rows about flow control: what a small flow, the mouse, keeps beside a large one, the elephant."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import load, requests, tools
from benchmarks.clock import perf_counter, sleep
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError, Unavailable
from benchmarks.load import LoadResult, LoadSpec
from benchmarks.rows import Lab, Opened, Row, Sample, Target
from benchmarks.subjects import Running, Subject

GROUP = "/apis/flowcontrol.apiserver.k8s.io/v1"
# Refused by authorization, so behind flow control: as cheap as a request can be.
CHEAP = "/api/v1/namespaces/default/configmaps/none"
LEVELS = {"zoo": ("elephant", "mouse"), "apart": ("other",)}
IN_FORCE_S = 10.0
SETTLE_S = 0.5  # from the elephant's first requests, for its queue to fill
SPARE_S = 2.0  # for the mouse to start and connect
LATENCY = (Target("p50_ratio", "<=", 4), Target("p99_ratio", "<=", 10))


def _level(name: str) -> dict[str, Any]:
    # One queue a flow: what is fair to flows is measured, not how sharding spreads them.
    queuing = {"queues": 64, "handSize": 1, "queueLengthLimit": 200}
    return {
        "metadata": {"name": name},
        "spec": {
            "type": "Limited",
            "limited": {
                "nominalConcurrencyShares": 50,
                "limitResponse": {"type": "Queue", "queuing": queuing},
            },
        },
    }


def _schema(name: str, users: tuple[str, ...]) -> dict[str, Any]:
    rule = {
        "verbs": ["*"],
        "apiGroups": ["*"],
        "resources": ["*"],
        "clusterScope": True,
        "namespaces": ["*"],
    }
    return {
        "metadata": {"name": name},
        "spec": {
            "priorityLevelConfiguration": {"name": name},
            "matchingPrecedence": 100,
            "distinguisherMethod": {"type": "ByUser"},
            "rules": [
                {
                    "subjects": [{"kind": "User", "user": {"name": user}} for user in users],
                    "resourceRules": [rule],
                }
            ],
        },
    }


def _as(run: Running, user: str) -> Endpoint:
    return dataclasses.replace(run.endpoint, token=user)


def _configure(run: Running) -> None:
    """Create the levels and wait until each user's requests are of the right one.

    Raises:
        Unavailable: the server does not know the users.
        BenchError: the levels are not in force within ten seconds.
    """
    if not {user for users in LEVELS.values() for user in users} <= set(run.visitors):
        raise Unavailable("needs users whose tokens the benchmark knows")
    for name, users in LEVELS.items():
        level = run.endpoint.call("POST", f"{GROUP}/prioritylevelconfigurations", _level(name))
        run.endpoint.call("POST", f"{GROUP}/flowschemas", _schema(name, users))
        uid = level["metadata"]["uid"]
        until = perf_counter() + IN_FORCE_S
        for user in users:
            while (found := _level_of(_as(run, user))) != uid:
                if perf_counter() > until:
                    raise BenchError(f"requests of {user} are of level {found}, not of {name}")
                sleep(0.02)


def _level_of(endpoint: Endpoint) -> str | None:
    """Which level the cheap request is counted to, by the header of its answer."""
    connection = http.client.HTTPSConnection(
        endpoint.host, endpoint.port, context=endpoint.context(), timeout=30
    )
    try:
        connection.request("GET", CHEAP, headers=endpoint.headers())
        return connection.getresponse().getheader("X-Kubernetes-PF-PriorityLevel-UID")
    finally:
        connection.close()


def _spec(run: Running, user: str, *, connections: int, expect: tuple[int, ...]) -> LoadSpec:
    """Cheap requests of a user, without a length of time."""
    endpoint = _as(run, user)
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
            _configure(run)
            yield lambda: _round(lab, run, user, connections)

    return opened


ROWS = (
    Row(
        name="isolation-level-64",
        title="cheap GET, 1 connection beside 64 of another flow, one level",
        unit="req/s",
        open=_beside("mouse", 64),
        yardstick="alone",
        target=Target("ratio", ">=", 0.25),
        latency=LATENCY,
    ),
    Row(
        name="isolation-level-1000",
        title="cheap GET, 1 connection beside 1,000 of another flow, one level",
        unit="req/s",
        open=_beside("mouse", 1_000),
        yardstick="alone",
        target=Target("ratio", ">=", 0.25),
        latency=LATENCY,
    ),
    Row(
        name="isolation-other-64",
        title="cheap GET, 1 connection beside 64 of another level",
        unit="req/s",
        open=_beside("other", 64),
        yardstick="alone",
        target=Target("ratio", ">=", 0.25),
        latency=LATENCY,
    ),
)
