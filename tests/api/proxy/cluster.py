"""A server with a node and a pod on it, on sockets of this process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kubetrio.testing.backend import FakeBackend, ReceivedRequest
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

PODS = "/api/v1/namespaces/default/pods"
POD = PODS + "/p"
MERGE = {"Content-Type": "application/merge-patch+json"}


async def unexpected(asked: ReceivedRequest) -> None:
    await asked.reply(418, b"nobody expected this")


@dataclass
class Cluster:
    """A server with a node and a pod on it.

    Args:
        server: the server.
        client: an administrator's connection.
        kubelet: of the node ``n``.
        web: what listens in the pod ``p``, on any address and port.
        dialled: addresses that the server connected to.
    """

    server: InProcess
    client: Client
    kubelet: FakeBackend
    web: FakeBackend
    dialled: list[str] = field(default_factory=list)


def pod(name: str, *, node: str = "n") -> dict[str, Any]:
    ports = [{"containerPort": 8080}]
    spec = {"containers": [{"name": "c", "image": "i", "ports": ports}], "nodeName": node}
    meta = {"name": name, "labels": {"a": "b"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


async def create(client: Client, path: str, obj: Any) -> None:
    answer = await client.request("POST", path, json=obj)
    assert answer.status == 201, answer.body
