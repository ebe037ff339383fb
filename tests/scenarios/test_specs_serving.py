"""Kubernetes' e2e specs that dial pods, with a function behind their ports.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/apps (1.36); nothing else of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import trio
from simulated import Cluster, cluster, is_ready
from specs import Specs
from trio.testing import MockClock

from kubetrio.embedding import Parts, serve_pods

SPECS = spec = Specs()
PORT = 9376


async def hostname(pod: Mapping[str, Any], port: int, stream: trio.abc.HalfCloseableStream) -> None:
    """Answer with the name of the pod, as the image of the specs does."""
    await stream.receive_some()
    body = str(pod["metadata"]["name"]).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
    await stream.send_all(head % len(body) + body)


async def _serves(there: Cluster, kind: str) -> None:
    """Each pod of a workload answers with its own name, by the proxy of the server."""
    ports = [{"containerPort": PORT}]
    await there.workload(kind, "w", replicas=1, pods={"ports": ports})

    async def made() -> object:
        return len(await there.all_of("Pod", "w")) == 1

    await there.until(made)
    pods = await there.all_of("Pod", "w")
    for pod in pods:

        async def ready(name: str = pod["metadata"]["name"]) -> object:
            return is_ready(await there.get("Pod", name))

        await there.until(ready)
    async with there.server.connect() as client:
        for pod in pods:
            name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
            assert (await there.get("Pod", name))["metadata"]["uid"] == uid
            path = f"/api/v1/namespaces/default/pods/{name}/proxy"
            page = await client.request("GET", path)
            if page.status == 301:  # clients follow it, as that of the specs does
                assert page.head.get(b"location").endswith(f"{path}/".encode())
                page = await client.request("GET", f"{path}/")
            assert (page.status, page.body) == (200, name.encode())


@spec("ReplicaSet should serve a basic image on each replica with a public image")
async def _set(there: Cluster) -> None:
    await _serves(there, "ReplicaSet")


@spec("ReplicationController should serve a basic image on each replica with a public image")
async def _controller(there: Cluster) -> None:
    await _serves(there, "ReplicationController")


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_pods_that_answer(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with (
        serve_pods(hostname, lambda _, port: port == PORT) as pods,
        cluster(parts=Parts(pod_server=pods)) as there,
    ):
        await SPECS[title](there)
