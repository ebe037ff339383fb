"""The fixture `cluster`: a server, a kubelet and a pod."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kubetrio.backend.backends import Backends, KubeletConfig
from kubetrio.backend.dial import dial
from kubetrio.testing.backend import open_backend, tls_of
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess
from kubetrio.tls.pki import Pki

from .cluster import MERGE, POD, PODS, Cluster, create, pod, unexpected


@pytest.fixture
async def cluster(server: InProcess, client: Client, certificates: Pki) -> AsyncIterator[Cluster]:
    async with (
        open_backend(unexpected, tls_of(certificates)) as kubelet,
        open_backend(unexpected) as web,
    ):
        made = Cluster(server, client, kubelet, web)

        async def anywhere(host: str, port: str, tls: Any, timeout_s: float) -> Any:
            made.dialled.append(f"{host}:{port}")
            if host != "127.0.0.1":
                host, port = "127.0.0.1", str(web.port)
            return await dial(host, port, tls, timeout_s)

        backends = Backends(
            KubeletConfig(authority=certificates.ca.cert),
            server.env,
            lambda: certificates.admin,
            anywhere,
        )
        object.__setattr__(server.api.edge, "backends", backends)  # what is dialled is here
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}},
        }
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": status}
        await create(client, "/api/v1/nodes", node)
        await create(client, PODS, pod("p"))
        running = {"status": {"phase": "Running", "podIPs": [{"ip": "10.1.0.7"}]}}
        done = await client.request("PATCH", POD + "/status", headers=MERGE, json=running)
        assert done.status == 200, done.body
        yield made
