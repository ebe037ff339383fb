"""Which node a pod gets where no scheduler runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.config import Simulation
from kubetrio.controllers.simulation.binding import Seats
from kubetrio.testing.controllers import running
from kubetrio.testing.server import InProcess, open_api
from kubetrio.testing.workloads import NAMESPACE, events_of, pods_of, template

Object = dict[str, Any]
NAMES = ("simulated-node-controller", "node-lifecycle-controller", "simulated-binding-controller")


@asynccontextmanager
async def cluster(nodes: int) -> AsyncIterator[InProcess]:
    """A server with simulated nodes on which nothing runs."""
    async with open_api(seed=0) as server:
        config = replace(server.config, simulation=Simulation(nodes=nodes))
        async with running(server, *NAMES, config=config):
            await trio.sleep(1)
            yield server


def pod(name: str, **spec: Any) -> Object:
    """A pod with one container."""
    made = {"apiVersion": "v1", "kind": "Pod", **template(**spec)}
    made["metadata"] = {"name": name, "namespace": NAMESPACE}
    return made


async def places(server: InProcess) -> dict[str, str]:
    """The node of each pod, empty for none."""
    return {
        one["metadata"]["name"]: one["spec"].get("nodeName", "")
        for one in await pods_of(server.client())
    }


async def test_pods_are_spread(autojump_clock: MockClock) -> None:
    """Nodes have as many pods as the next; a pod has the zone of its node in its labels."""
    async with cluster(3) as server:
        client = server.client()
        for number in range(9):
            await client.create(pod(f"p{number}"))
        await trio.sleep(1)
        found = list((await places(server)).values())
        assert {name: found.count(name) for name in found} == {
            "node-0": 3, "node-1": 3, "node-2": 3,
        }  # fmt: skip
        one = (await pods_of(client))[0]
        zone = one["metadata"]["labels"]["topology.kubernetes.io/zone"]
        assert zone == "simulated-" + "abc"[int(one["spec"]["nodeName"][-1])]
        scheduled = {row["type"]: row["status"] for row in one["status"]["conditions"]}
        assert scheduled["PodScheduled"] == "True"


async def test_selectors_and_taints_count(autojump_clock: MockClock) -> None:
    """A pod goes where its spec allows it, and waits where nothing does until that changes."""
    async with cluster(2) as server:
        client = server.client()
        nodes = client.kind("v1", "Node")
        await client.patch(nodes, "node-0", {"spec": {"unschedulable": True}})
        await trio.sleep(1)
        await client.create(pod("any"))
        await client.create(pod("there", nodeSelector={"kubernetes.io/hostname": "node-0"}))
        stands = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
        await client.create(
            pod("stands", nodeSelector={"kubernetes.io/hostname": "node-0"}, tolerations=[stands])
        )
        await trio.sleep(1)
        assert await places(server) == {"any": "node-1", "there": "", "stands": "node-0"}
        text = "0/2 nodes are available: none that is simulated fits and has room."
        assert ("Warning", "FailedScheduling", text) in await events_of(client, "Pod")
        waiting = (await pods_of(client))[2]["status"]["conditions"][0]
        assert (waiting["type"], waiting["reason"]) == ("PodScheduled", "Unschedulable")
        await client.patch(nodes, "node-0", {"spec": {"unschedulable": None}})
        await trio.sleep(1)
        assert (await places(server))["there"] == "node-0"


async def test_a_full_node_takes_no_more(autojump_clock: MockClock) -> None:
    """The number of pods that it says it has room for; one that goes makes room."""
    async with cluster(1) as server:
        client = server.client()
        status = {"status": {"allocatable": {"pods": "2"}}}
        await client.patch(client.kind("v1", "Node"), "node-0", status, subresource="status")
        for number in range(3):
            await client.create(pod(f"p{number}"))
            await trio.sleep(1)
        assert await places(server) == {"p0": "node-0", "p1": "node-0", "p2": ""}
        await client.delete(client.kind("v1", "Pod"), "p0", NAMESPACE, gracePeriodSeconds=0)
        await trio.sleep(1)
        assert await places(server) == {"p1": "node-0", "p2": "node-0"}


@pytest.mark.parametrize(
    "spec",
    [{"schedulerName": "mine"}, {"schedulingGates": [{"name": "example.com/later"}]}],
)
async def test_some_pods_are_not_for_it(autojump_clock: MockClock, spec: Object) -> None:
    """Those of other schedulers, and those that are held back."""
    async with cluster(1) as server:
        await server.client().create(pod("p", **spec))
        await trio.sleep(5)
        assert await places(server) == {"p": ""}


def test_seats_are_given_in_turn() -> None:
    """The node with the fewest pods comes first, unless it does not fit."""
    seats = Seats()
    for name in ("a", "b", "c"):
        seats.add_node(name)
    given = []
    for number in range(6):
        node = seats.choose(lambda name, _: name != "b")
        seats.put(f"p{number}", node)
        given.append(node)
    assert given == ["a", "c", "a", "c", "a", "c"]
    assert seats.choose(lambda _, count: count < 1) == "b"
    assert seats.choose(lambda *_: False) == ""
    seats.put("p0", "")
    seats.remove_node("b")
    assert seats.choose(lambda *_: True) == "a"
