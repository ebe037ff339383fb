"""One call opens a server that does all that `serve` does."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.harness import Harness, Setup, open_harness, run
from kubetrio.machinery.status import ApiError

Object = dict[str, Any]
POD = {"containers": [{"name": "c", "image": "i"}]}
DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "beasts.zoo.example.com"},
    "spec": {
        "group": "zoo.example.com", "scope": "Namespaced",
        "names": {"plural": "beasts", "kind": "Beast"},
        "versions": [{
            "name": "v1", "served": True, "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object"}},
        }],
    },
}  # fmt: skip


def made(kind: str, name: str, namespace: str = "", **more: Any) -> Object:
    """An object of the core group."""
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **place}, **more}


async def live(server: Harness) -> list[str]:
    """What a program does first, and what it finds."""
    client = server.client()
    pod = await client.create(made("Pod", "p", "default", spec=POD))
    assert pod["spec"]["serviceAccountName"] == "default"
    await client.create(DEFINITION)
    await trio.sleep(1)
    beast = {"apiVersion": "zoo.example.com/v1", "kind": "Beast"}
    meta = {"namespace": "default", "ownerReferences": [{
        "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["metadata"]["uid"],
    }]}  # fmt: skip
    one = await client.create({**beast, "metadata": {"generateName": "b", **meta}})
    await client.create(made("Namespace", "n"))
    await trio.sleep(1)
    await client.create(made("Pod", "q", "n", spec=POD))
    await client.delete(client.kind("v1", "Pod"), "p", "default")
    await client.delete(client.kind("v1", "Namespace"), "n")
    await trio.sleep(5)
    for kind, name, where in (
        (client.kind("v1", "Namespace"), "n", ""),
        (client.kind(beast["apiVersion"], "Beast"), one["metadata"]["name"], "default"),
    ):
        with pytest.raises(ApiError) as caught:
            await client.get(kind, name, where)
        assert caught.value.code == 404
    return [one["metadata"]["name"], one["metadata"]["uid"], str(server.api.storage.store.revision)]


async def test_it_is_whole_when_the_block_begins(autojump_clock: MockClock) -> None:
    """Accounts are there, definitions are served, garbage and namespaces go."""
    async with open_harness(Setup(seed=1)) as server:
        await live(server)


def test_a_seed_decides_what_is_found() -> None:
    """On a mock clock, with all that runs inside."""
    assert run(live, Setup(seed=3)) == run(live, Setup(seed=3))
