"""How much of the code a write walks through, in Python calls, which do not depend on the machine.

A call that is made twice, or a function that does too little, shows here and in no benchmark.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any, Self

import pytest
import trio.testing

import kubetrio
from kubetrio.client.client import Client
from kubetrio.testing.server import InProcess

PACKAGE = str(Path(kubetrio.__file__).parent)
WARM = 5  # requests after which caches have what they will have
COUNTED = 3  # requests that are counted: work of the server's own may come between one
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "default", "labels": {"app": "d"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "d"}},
        "template": {
            "metadata": {"labels": {"app": "d"}},
            "spec": {"containers": [{"name": "nginx", "image": "nginx"}]},
        },
    },
}
CONFIG_MAP: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "c", "namespace": "default", "labels": {"a": "b"}},
    "data": {"key": "value"},
}


POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default", "labels": {"app": "p"}},
    "spec": {"containers": [{"name": "nginx", "image": "nginx"}]},
}
LEASE: dict[str, Any] = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "l", "namespace": "default"},
    "spec": {"holderIdentity": "n", "leaseDurationSeconds": 40},
}


class Walk:
    """Counts calls of the package's functions in a block, and changes from file to file.

    Attributes:
        calls: how often a function was entered, or entered again after it had waited.
        changes: how often that was in another file than the one before.
    """

    def __init__(self) -> None:
        self.calls = self.changes = 0
        self._file = ""

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(PACKAGE):
            self.calls += 1
            self.changes += file != self._file
            self._file = file

    def __enter__(self) -> Self:
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


@pytest.mark.skipif(sys.getprofile() is not None, reason="something else is counting")
@pytest.mark.parametrize(
    ("obj", "calls", "changes"), [(DEPLOYMENT, 395, 220), (CONFIG_MAP, 285, 178)]
)
async def test_a_post_walks_no_further(
    server: InProcess, obj: dict[str, Any], calls: int, changes: int
) -> None:
    """From the in-process client to the commit and back, with some slack."""
    client = Client(server.api.handle, server.api.storage.registry)

    async def post(name: str) -> None:
        await client.create({**obj, "metadata": {**obj["metadata"], "name": name}})

    for number in range(WARM):
        await post(f"warm{number}")
        await trio.testing.wait_all_tasks_blocked()
    walks = []
    for number in range(COUNTED):
        with Walk() as walk:
            await post(f"counted{number}")
        walks.append(walk)
        await trio.testing.wait_all_tasks_blocked()
    least = min(walk.calls for walk in walks), min(walk.changes for walk in walks)
    assert least[0] <= calls, least
    assert least[1] <= changes, least


@pytest.mark.skipif(sys.getprofile() is not None, reason="something else is counting")
@pytest.mark.parametrize(
    ("obj", "part", "member", "below", "calls"),
    [(POD, "status", "message", "status", 495), (LEASE, "spec", "holderIdentity", "", 378)],
)
async def test_a_merge_patch_walks_no_further(
    server: InProcess, obj: dict[str, Any], part: str, member: str, below: str, calls: int
) -> None:
    """What it does not name is not decoded again."""
    client = Client(server.api.handle, server.api.storage.registry)
    await client.create(obj)
    kind, meta = client.kind(obj["apiVersion"], obj["kind"]), obj["metadata"]

    async def patch(text: str) -> None:
        await client.patch(
            kind, meta["name"], {part: {member: text}}, meta["namespace"], subresource=below
        )

    for number in range(WARM):
        await patch(f"warm{number}")
        await trio.testing.wait_all_tasks_blocked()
    walks = []
    for number in range(COUNTED):
        with Walk() as walk:
            await patch(f"counted{number}")
        walks.append(walk.calls)
        await trio.testing.wait_all_tasks_blocked()
    assert min(walks) <= calls, walks
