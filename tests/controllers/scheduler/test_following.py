"""What a scheduler follows besides pods and nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.config import Config
from kubetrio.controllers.controller import Controller
from kubetrio.controllers.scheduler.following import (
    ClusterFollower,
    binds_claims,
    fresh_cluster,
)
from kubetrio.controllers.scheduler.framework import Happening
from kubetrio.testing.controllers import context_of
from kubetrio.testing.server import InProcess, open_api
from kubetrio.testing.workloads import LABELS, NAMESPACE, workload

Object = dict[str, Any]


class Follower(Controller):
    """A controller that does nothing."""

    name = "follower"

    async def sync(self, key: str) -> None:
        """Do nothing."""


@contextmanager
def following(server: InProcess) -> Iterator[tuple[Controller, ClusterFollower, Any, list[Any]]]:
    """A follower, what it keeps, and what happened."""
    context = context_of(server)
    happened: list[Happening] = []
    cluster = fresh_cluster(server.config)
    controller = Follower(context)
    yield (
        controller,
        ClusterFollower(controller, context, cluster, happened.append),
        cluster,
        happened,
    )


def made(kind: str, api_version: str = "v1", name: str = "x", **more: Any) -> Object:
    """An object of a kind."""
    meta = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **more}


async def test_the_state_is_kept(autojump_clock: MockClock) -> None:
    """Claims, classes, budgets, Services and controllers come and go, and it is told what may
    help pods."""
    async with open_api(seed=0) as server:
        client = server.client()
        with following(server) as (controller, follower, cluster, happened):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(controller.run)
                await controller.began.wait()
                assert NAMESPACE in cluster.namespaces
                happened.clear()
                claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "c",
                         "resources": {"requests": {"storage": "1Gi"}}}  # fmt: skip
                await client.create(made("PersistentVolumeClaim", spec=claim))
                assert happened == [Happening.VOLUME]
                assert cluster.volumes.claims[f"{NAMESPACE}/x"].class_name == "c"
                service = {"selector": LABELS, "ports": [{"port": 1}]}
                await client.create(made("Service", spec=service))
                budget = {"selector": {"matchLabels": LABELS}, "minAvailable": 1}
                await client.create(made("PodDisruptionBudget", "policy/v1", spec=budget))
                await client.create(workload("ReplicaSet", "web"))
                assert cluster.owners.services == {NAMESPACE: {"x": LABELS}}
                assert str(cluster.owners.controllers[NAMESPACE, "ReplicaSet", "web"]) == "app=web"
                assert [(space, str(one.selector)) for space, one in follower.budgets] == [
                    (NAMESPACE, "app=web")
                ]
                await client.delete(client.kind("v1", "Service"), "x", NAMESPACE)
                await client.delete(client.kind("apps/v1", "ReplicaSet"), "web", NAMESPACE)
                assert cluster.owners.services == {NAMESPACE: {}}
                assert cluster.owners.controllers == {}
                nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("asked", "binds"),
    [
        (("-*", "persistentvolume-binder"), True),
        (("persistentvolume-binder-controller", "-persistentvolume-binder-controller"), True),
        (("*", "-persistentvolume-binder"), False),
        (("-*",), False),
        (("mine",), False),
    ],
)
def test_a_controller_may_bind_claims(asked: tuple[str, ...], binds: bool) -> None:
    """By either of its names; the first that is said of it holds."""
    assert binds_claims(Config(data_dir=Path("data"), controllers=asked)) is binds
