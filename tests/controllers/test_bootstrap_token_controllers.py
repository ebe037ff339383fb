"""Bootstrap tokens that end, and the ConfigMap that is signed with them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.controllers.bootstraptokens import signature
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_time
from kubetrio.server.parts import Parts
from kubetrio.testing.controllers import Writes, refused, running
from kubetrio.testing.server import InProcess, open_api

Object = dict[str, Any]
CLEANER, SIGNER = "token-cleaner-controller", "bootstrap-signer-controller"


def token(token_id: str, namespace: str = "kube-system", **data: str) -> Object:
    """A Secret with a bootstrap token."""
    said = {"token-id": token_id, "token-secret": "0123456789abcdef", **data}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": f"bootstrap-token-{token_id}", "namespace": namespace},
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in said.items()},
    }


SIGNING = {"usage-bootstrap-signing": "true"}


async def left(server: InProcess) -> list[str]:
    """The ids of the tokens that are there."""
    await wait_all_tasks_blocked()
    client = server.client()
    listed = await client.list(client.kind("v1", "Secret"))
    return [item["metadata"]["name"].rpartition("-")[2] for item in listed.items]


async def test_tokens_end(autojump_clock: MockClock) -> None:
    """In time, at once where they are over or say nothing that is a time; others stay."""
    async with open_api() as server, running(server, CLEANER):
        client, now = server.client(), server.env.now()
        await client.create(token("aaaaaa"))
        await client.create(token("bbbbbb", expiration=format_time(now + 100)))
        await client.create(token("cccccc", expiration=format_time(now - 100)))
        await client.create(token("dddddd", expiration="soon"))
        await client.create(token("eeeeee", "default", expiration="soon"))
        await client.create({**token("ffffff", expiration="soon"), "type": "Opaque"})
        assert await left(server) == ["eeeeee", "aaaaaa", "bbbbbb", "ffffff"]
        await trio.sleep(90)
        assert "bbbbbb" in await left(server)
        await trio.sleep(15)
        assert await left(server) == ["eeeeee", "aaaaaa", "ffffff"]


async def test_a_longer_life_counts(autojump_clock: MockClock) -> None:
    """A token whose end was moved lives until then."""
    async with open_api() as server, running(server, CLEANER):
        client, now = server.client(), server.env.now()
        made = await client.create(token("aaaaaa", expiration=format_time(now + 100)))
        moved = token("aaaaaa", expiration=format_time(now + 300))["data"]
        await client.update({**made, "data": moved})
        await trio.sleep(200)
        assert await left(server) == ["aaaaaa"]
        await trio.sleep(101)
        assert await left(server) == []


def test_signatures_are_those_of_kubeadm() -> None:
    """The example of k8s.io/cluster-bootstrap's own test."""
    content = "Hello from the other side. I must have called a thousand times."
    assert signature(content, "joshua", "my voice is my passcode") == (
        "eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8"
    )


INFO: Object = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "cluster-info", "namespace": "kube-public"},
    "data": {"kubeconfig": "a: b", "mine": "x", "jws-kubeconfig-zzzzzz": "stale"},
}


async def info(server: InProcess) -> Object:
    """The data of the ConfigMap."""
    await wait_all_tasks_blocked()
    client = server.client()
    found = await client.get(client.kind("v1", "ConfigMap"), "cluster-info", "kube-public")
    data: Object = found["data"]
    return data


def signed(content: str, *ids: str) -> Object:
    """What it should have."""
    signatures = {
        f"jws-kubeconfig-{one}": signature(content, one, "0123456789abcdef") for one in ids
    }
    return {"kubeconfig": content, "mine": "x", **signatures}


async def test_the_configuration_is_signed_with_each_token(server: InProcess) -> None:
    """Again when it or they change; with none that is not for signing, named or complete so."""
    client = server.client()
    async with running(server, SIGNER):
        await client.create(INFO)
        assert await info(server) == signed("a: b")
        await client.create(token("aaaaaa", **SIGNING))
        await client.create(token("bbbbbb", **SIGNING))
        await client.create(token("cccccc"))
        await client.create(token("dddddd", **SIGNING, expiration="2000-01-01T00:00:00Z"))
        await client.create(token("eeeeee", "default", **SIGNING))
        odd = token("ffffff", **SIGNING)
        await client.create({**odd, "metadata": {**odd["metadata"], "name": "other"}})
        assert await info(server) == signed("a: b", "aaaaaa", "bbbbbb")
        await client.delete(client.kind("v1", "Secret"), "bootstrap-token-aaaaaa", "kube-system")
        assert await info(server) == signed("a: b", "bbbbbb")
        changed = {"data": {"kubeconfig": "c: d"}}
        await client.patch(client.kind("v1", "ConfigMap"), "cluster-info", changed, "kube-public")
        assert await info(server) == signed("c: d", "bbbbbb")


async def test_a_signature_ends_with_its_token(autojump_clock: MockClock) -> None:
    """Also where nobody deletes the token."""
    async with open_api() as server, running(server, SIGNER):
        client, now = server.client(), server.env.now()
        await client.create(INFO)
        await client.create(token("aaaaaa", **SIGNING, expiration=format_time(now + 60)))
        assert await info(server) == signed("a: b", "aaaaaa")
        await trio.sleep(62)
        assert await info(server) == signed("a: b")


async def test_what_is_there_at_the_start_is_signed(server: InProcess) -> None:
    """And without a kubeconfig nothing is, nor is the ConfigMap made."""
    client = server.client()
    await client.create(token("aaaaaa", **SIGNING))
    async with running(server, SIGNER):
        with pytest.raises(ApiError):
            await info(server)
        await client.create({**INFO, "data": {"mine": "x"}})
        assert await info(server) == {"mine": "x"}
    await client.delete(client.kind("v1", "ConfigMap"), "cluster-info", "kube-public")
    await client.create(INFO)
    async with running(server, SIGNER):
        assert await info(server) == signed("a: b", "aaaaaa")


async def test_they_write_what_their_roles_allow() -> None:
    """Each in its own namespace."""
    writes = Writes()
    async with open_api(parts=Parts(admission=[writes])) as server:
        client = server.client()
        async with running(server, SIGNER, CLEANER):
            await client.create(INFO)
            await client.create(token("aaaaaa", **SIGNING))
            await client.create(token("bbbbbb", **SIGNING, expiration="soon"))
            await wait_all_tasks_blocked()
        own = writes.by_controllers()
        assert {(str(one.operation), one.resource) for one in own} == {
            ("UPDATE", "configmaps"), ("DELETE", "secrets"),
        }  # fmt: skip
        assert refused(server, own) == []
