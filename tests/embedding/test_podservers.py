"""Functions behind ports of simulated pods, reached as clients reach them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import trio
from trio.testing import MockClock

from kubetrio.embedding import Parts, Simulation, serve_pods
from kubetrio.testing.server import in_memory, open_api

POD = "/api/v1/namespaces/default/pods/p"


async def answer(pod: Mapping[str, Any], port: int, stream: trio.abc.HalfCloseableStream) -> None:
    """Say the names of the pod and the port."""
    if port == 82:
        raise ValueError("it fails")
    await stream.receive_some()
    body = f"{pod['metadata']['name']} {port}".encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
    await stream.send_all(head % len(body) + body)


async def test_the_proxy_reaches_a_function(autojump_clock: MockClock, tmp_path: Path) -> None:
    """On the ports that are chosen; others refuse, and a function that fails ends a connection."""
    config = replace(in_memory(tmp_path), simulation=Simulation(nodes=1))
    async with (
        serve_pods(answer, lambda _, port: port in (80, 82)) as pods,
        open_api(config=config, kept=True, parts=Parts(pod_server=pods)) as server,
        server.connect() as client,
    ):
        await trio.sleep(1)
        await server.client().create({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        })  # fmt: skip
        await trio.sleep(2)
        page = await client.request("GET", f"{POD}:80/proxy/")
        assert (page.status, page.body) == (200, b"p 80")
        for port in (81, 82):
            page = await client.request("GET", f"{POD}:{port}/proxy/")
            assert page.status in (502, 503)
