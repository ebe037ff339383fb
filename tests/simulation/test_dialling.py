"""Connections of a server to its simulated kubelets and pods."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
import trio
from trio.testing import MockClock

from kubetrio.backend.dial import DialError, Tls
from kubetrio.config import Simulation
from kubetrio.harness.transport import memory_pair
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.simulation.dialling import SimulatedDial
from kubetrio.testing.server import InProcess, in_memory, open_api
from kubetrio.transport import Transport

POD = "/api/v1/namespaces/default/pods/p"


async def elsewhere(address: str, port: str, _: Tls | None, __: float) -> Transport:
    """Connect to where no simulation is."""
    if port == "1":
        raise DialError(f"no {address}")
    return memory_pair()[0]


@asynccontextmanager
async def cluster(directory: Path) -> AsyncIterator[InProcess]:
    """A server with a node, and a pod on it that says something."""
    config = replace(in_memory(directory), simulation=Simulation(nodes=1))
    async with open_api(config=config, kept=True) as server:
        await trio.sleep(1)
        names = {"logs": "one", "http": "hello"}
        await server.client().create(
            {
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "name": "p", "namespace": "default",
                    "annotations": {
                        f"simulation.kubetrio.io/{key}": value for key, value in names.items()
                    },
                },
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            }
        )  # fmt: skip
        await trio.sleep(1)
        yield server


async def test_a_server_reaches_its_simulation(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Logs come from the kubelet, and the proxy leads to the pod."""
    async with cluster(tmp_path) as server, server.connect() as client:
        logs = await client.request("GET", f"{POD}/log")
        assert (logs.status, logs.body) == (200, b"one\n")
        page = await client.request("GET", f"{POD}/proxy/")
        assert (page.status, page.body) == (200, b"hello")
        missing = await client.request("GET", f"{POD}/log?previous=true")
        assert missing.status == 400


async def test_a_kubelet_tells_of_its_node(tmp_path: Path, autojump_clock: MockClock) -> None:
    """It is well, has a pod, and says what that uses."""
    node = "/api/v1/nodes/node-0/proxy"
    async with cluster(tmp_path) as server, server.connect() as client:
        health = await client.request("GET", f"{node}/healthz")
        assert (health.status, health.body) == (200, b"ok")
        pods = orjson.loads((await client.request("GET", f"{node}/pods")).body)
        assert (pods["kind"], [one["metadata"]["name"] for one in pods["items"]]) == (
            "PodList",
            ["p"],
        )
        summary = orjson.loads((await client.request("GET", f"{node}/stats/summary")).body)
        assert summary["node"]["nodeName"] == "node-0"
        assert [one["podRef"]["name"] for one in summary["pods"]] == ["p"]
        assert (await client.request("GET", f"{node}/other")).status == 404


async def test_addresses_lead_where_they_should(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Nothing listens at other ports and at addresses that no pod has; the rest is as it was."""
    async with cluster(tmp_path) as server:
        informers: SharedInformerFactory = server.api.storage.informers
        connect = SimulatedDial(elsewhere, informers)
        for address, port in (("198.18.0.1", "80"), ("100.64.0.9", "80")):
            with pytest.raises(DialError, match="connection refused"):
                await connect(address, port, None, 1)
        with pytest.raises(DialError, match=r"no 192\.0\.2\.1"):
            await connect("192.0.2.1", "1", None, 1)
        (await connect("192.0.2.1", "2", None, 1)).close()
        (await connect("198.18.0.1", "10250", None, 1)).close()
        (await connect("100.64.0.1", "80", None, 1)).close()
