"""Simulated nodes, with a clock that jumps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.client.client import Client
from kubetrio.config import Simulation
from kubetrio.machinery.timestamps import parse_micro
from kubetrio.testing.controllers import running
from kubetrio.testing.server import InProcess, open_api

NAMES = ("simulated-node-controller", "node-lifecycle-controller")
LEASES = "kube-node-lease"


@asynccontextmanager
async def nodes(count: int) -> AsyncIterator[InProcess]:
    """A server with simulated nodes."""
    async with open_api(seed=0) as server:
        config = replace(server.config, simulation=Simulation(nodes=count))
        async with running(server, *NAMES, config=config):
            await wait_all_tasks_blocked(0.002)
            yield server


async def ready(client: Client) -> dict[str, str]:
    """Status of the condition, by the name of the node."""
    found = await client.list(client.kind("v1", "Node"))
    return {
        node["metadata"]["name"]: next(
            (
                one["status"]
                for one in node["status"].get("conditions", ())
                if one["type"] == "Ready"
            ),
            "",
        )
        for node in found.items
    }


async def renewals(client: Client) -> dict[str, float]:
    """When each Lease was renewed."""
    found = await client.list(client.kind("coordination.k8s.io/v1", "Lease"), LEASES)
    return {
        lease["metadata"]["name"]: parse_micro(lease["spec"]["renewTime"]) for lease in found.items
    }


async def annotate(client: Client, name: str, state: str | None) -> None:
    """Say how a node is."""
    annotations = {"simulation.kubetrio.io/state": state}
    await client.patch(client.kind("v1", "Node"), name, {"metadata": {"annotations": annotations}})


async def test_nodes_are_there_and_ready(mock_clock: MockClock) -> None:
    """As many as are asked for, without the taint of new ones, and each with a range of its own."""
    async with nodes(3) as server:
        client = server.client()
        found = (await client.list(client.kind("v1", "Node"))).items
        assert [node["metadata"]["name"] for node in found] == ["node-0", "node-1", "node-2"]
        assert len({node["spec"]["podCIDR"] for node in found}) == 3
        assert await ready(client) == dict.fromkeys(("node-0", "node-1", "node-2"), "True")
        assert not any(node["spec"].get("taints") for node in found)


async def test_leases_are_renewed(autojump_clock: MockClock) -> None:
    """Every ten seconds where there are few; so the nodes stay ready."""
    async with nodes(2) as server:
        client = server.client()
        first = await renewals(client)
        await trio.sleep(300)
        last = await renewals(client)
        assert set(first) == {"node-0", "node-1"}
        assert all(290 <= last[name] - first[name] <= 300 for name in first)
        assert set((await ready(client)).values()) == {"True"}


async def test_a_lease_that_was_changed_is_renewed(autojump_clock: MockClock) -> None:
    """What others wrote into it stays."""
    async with nodes(1) as server:
        client = server.client()
        kind = client.kind("coordination.k8s.io/v1", "Lease")
        spec = {"leaseTransitions": 7, "renewTime": None}
        await client.patch(
            kind, "node-0", {"metadata": {"labels": {"a": "b"}}, "spec": spec}, LEASES
        )
        for _ in range(2):
            await trio.sleep(25)
            lease = await client.get(kind, "node-0", LEASES)
            assert server.env.now() - parse_micro(lease["spec"]["renewTime"]) <= 10
            assert lease["spec"]["leaseTransitions"] == 7
            assert lease["metadata"]["labels"] == {"a": "b"}


async def test_many_leases_are_renewed_less_often(autojump_clock: MockClock) -> None:
    """25 a second, and each before its node counts as silent."""
    async with nodes(300) as server:
        client = server.client()
        before = server.api.storage.store.revision
        await trio.sleep(60)
        written = server.api.storage.store.revision - before
        assert 60 * 22 <= written <= 60 * 28
        assert set((await ready(client)).values()) == {"True"}


async def test_a_lost_node_is_silent(autojump_clock: MockClock) -> None:
    """It counts as unreachable after the usual time, and is back with its next renewal."""
    async with nodes(3) as server:
        client = server.client()
        await annotate(client, "node-1", "lost")
        await trio.sleep(70)
        assert await ready(client) == {"node-0": "True", "node-1": "Unknown", "node-2": "True"}
        await annotate(client, "node-1", None)
        await trio.sleep(1)
        assert (await ready(client))["node-1"] == "True"


async def test_a_node_may_be_not_ready(autojump_clock: MockClock) -> None:
    """It says so itself, at once."""
    async with nodes(1) as server:
        client = server.client()
        await annotate(client, "node-0", "not-ready")
        await trio.sleep(1)
        assert await ready(client) == {"node-0": "False"}


async def test_a_node_of_a_client_is_simulated_too(autojump_clock: MockClock) -> None:
    """Its annotation says so; it gets a range that no other has."""
    async with nodes(1) as server:
        client = server.client()
        for name, annotations in (("mine", {"simulation.kubetrio.io/node": "true"}), ("real", {})):
            await client.create(
                {"apiVersion": "v1", "kind": "Node",
                 "metadata": {"name": name, "annotations": annotations}}
            )  # fmt: skip
        await trio.sleep(20)
        mine = await client.get(client.kind("v1", "Node"), "mine")
        assert mine["spec"]["podCIDR"] == "100.64.1.0/24"
        assert set(await renewals(client)) == {"node-0", "mine"}
        assert (await ready(client))["real"] == ""


async def test_a_deleted_node_gives_its_range_back(autojump_clock: MockClock) -> None:
    """The next node that has no number of its own gets it."""
    async with nodes(2) as server:
        client = server.client()
        await client.delete(client.kind("v1", "Node"), "node-0")
        await client.create(
            {"apiVersion": "v1", "kind": "Node",
             "metadata": {"name": "mine", "annotations": {"simulation.kubetrio.io/node": "true"}}}
        )  # fmt: skip
        await trio.sleep(1)
        mine = await client.get(client.kind("v1", "Node"), "mine")
        assert mine["spec"]["podCIDR"] == "100.64.0.0/24"
