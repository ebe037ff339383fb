"""Nodes get ranges for their pods."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.client.client import Client
from kubetrio.config import Services
from kubetrio.config.controllers import NodeIpam
from kubetrio.testing.controllers import running
from kubetrio.testing.server import open_api

NAME = "node-ipam-controller"


@asynccontextmanager
async def cluster(cidr: str, **sizes: Any) -> AsyncIterator[Client]:
    """A server with the controller."""
    async with open_api(seed=0) as server:
        chosen = NodeIpam(cluster_cidr=cidr, **sizes)
        services = Services(cluster_ip_range="10.0.1.0/24")
        config = replace(server.config, node_ipam=chosen, services=services)
        async with running(server, NAME, config=config):
            yield server.client()


async def make(client: Client, name: str, **spec: Any) -> None:
    """Create a node."""
    await client.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec}
    )
    await wait_all_tasks_blocked(0.002)


async def ranges(client: Client) -> dict[str, list[str]]:
    """The ranges of all nodes."""
    found = await client.list(client.kind("v1", "Node"))
    return {one["metadata"]["name"]: one["spec"].get("podCIDRs", []) for one in found.items}


async def test_each_node_gets_a_range(autojump_clock: MockClock) -> None:
    """Another than Services and other nodes have."""
    async with cluster("10.0.0.0/22") as client:
        await make(client, "has", podCIDR="10.0.2.0/24", podCIDRs=["10.0.2.0/24"])
        await make(client, "a")
        await make(client, "b")
        assert await ranges(client) == {
            "has": ["10.0.2.0/24"], "a": ["10.0.0.0/24"], "b": ["10.0.3.0/24"],
        }  # fmt: skip


async def test_two_families(autojump_clock: MockClock) -> None:
    """A node gets one range of each."""
    async with cluster("10.128.0.0/16,fd00::/56", mask_size_ipv4=26) as client:
        await make(client, "a")
        assert await ranges(client) == {"a": ["10.128.0.0/26", "fd00::/64"]}


async def test_a_node_waits_for_a_range(autojump_clock: MockClock) -> None:
    """It is told that there is none, and gets that of a node that goes."""
    async with cluster("10.9.0.0/24") as client:
        await make(client, "a")
        await make(client, "b")
        assert await ranges(client) == {"a": ["10.9.0.0/24"], "b": []}
        events = (await client.list(client.kind("v1", "Event"))).items
        assert [one["message"] for one in events] == ["Node b status is now: CIDRNotAvailable"]
        await client.delete(client.kind("v1", "Node"), "a")
        await trio.sleep(60)
        assert await ranges(client) == {"b": ["10.9.0.0/24"]}


async def test_simulated_nodes_and_no_range(autojump_clock: MockClock) -> None:
    """The first have their own, and without --cluster-cidr no node gets any."""
    async with cluster("10.9.0.0/16") as client:
        meta = {"name": "s", "annotations": {"simulation.kubetrio.io/node": "true"}}
        await client.create({"apiVersion": "v1", "kind": "Node", "metadata": meta})
        await wait_all_tasks_blocked(0.002)
        assert await ranges(client) == {"s": []}
    async with cluster("") as client:
        await make(client, "a")
        assert await ranges(client) == {"a": []}
