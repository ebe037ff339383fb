"""Priority levels for benchmarks: two alike, and who belongs to which."""

from __future__ import annotations

import dataclasses
import http.client
from typing import Any

from benchmarks.clock import perf_counter, sleep
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError, Unavailable
from benchmarks.subjects import Running

GROUP = "/apis/flowcontrol.apiserver.k8s.io/v1"
LEVELS = {"zoo": ("elephant", "mouse"), "apart": ("other",)}
PROBED = "/api/v1/namespaces/default/configmaps/none"
IN_FORCE_S = 10.0


def acting(run: Running, user: str) -> Endpoint:
    """The server, for requests of a user."""
    return dataclasses.replace(run.endpoint, token=user)


def configure(run: Running, *, shares: int, borrowing: bool = True) -> None:
    """Create the levels and wait until each user's requests are of the right one.

    Args:
        run: the server.
        shares: of each level.
        borrowing: whether they may use the seats that others lend.

    Raises:
        Unavailable: the server does not know the users.
        BenchError: the levels are not in force within ten seconds.
    """
    if not {user for users in LEVELS.values() for user in users} <= set(run.visitors):
        raise Unavailable("needs users whose tokens the benchmark knows")
    for name, users in LEVELS.items():
        made = _level(name, shares)
        if not borrowing:
            made["spec"]["limited"]["borrowingLimitPercent"] = 0
        level = run.endpoint.call("POST", f"{GROUP}/prioritylevelconfigurations", made)
        run.endpoint.call("POST", f"{GROUP}/flowschemas", _schema(name, users))
        uid = level["metadata"]["uid"]
        until = perf_counter() + IN_FORCE_S
        for user in users:
            while (found := level_of(acting(run, user))) != uid:
                if perf_counter() > until:
                    raise BenchError(f"requests of {user} are of level {found}, not of {name}")
                sleep(0.02)


def level_of(endpoint: Endpoint, path: str = PROBED) -> str | None:
    """The uid of the level a GET is counted to, by the header of its answer."""
    connection = http.client.HTTPSConnection(
        endpoint.host, endpoint.port, context=endpoint.context(), timeout=30
    )
    try:
        connection.request("GET", path, headers=endpoint.headers())
        return connection.getresponse().getheader("X-Kubernetes-PF-PriorityLevel-UID")
    finally:
        connection.close()


def _level(name: str, shares: int) -> dict[str, Any]:
    # One queue a flow: what is fair to flows is measured, not how sharding spreads them.
    queuing = {"queues": 64, "handSize": 1, "queueLengthLimit": 200}
    return {
        "metadata": {"name": name},
        "spec": {
            "type": "Limited",
            "limited": {
                "nominalConcurrencyShares": shares,
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
