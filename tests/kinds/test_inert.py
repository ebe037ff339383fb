"""People who create what nothing acts on are told so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from kubetrio.config import Config, Requests
from kubetrio.kinds.coordination.leading import LEASED_S
from kubetrio.kinds.inert import ACTED_S, INERT
from kubetrio.machinery.timestamps import format_micro
from kubetrio.testing.client import Client
from kubetrio.testing.server import open_api

ROOT = Path(__file__).parents[2]
PATH = "/api/v1/namespaces/default/services"
KUBECTL = {"User-Agent": "kubectl/v1.36.0 (linux/amd64)"}


def service(name: str, kind: str) -> bytes:
    ports = '"ports":[{"port":80}]'
    meta = f'"metadata":{{"name":"{name}"}}'
    body = f'{{"apiVersion":"v1","kind":"Service",{meta},"spec":{{"type":"{kind}",{ports}}}}}'
    return body.encode()


async def told(client: Client, name: str, kind: str, **headers: str) -> str:
    """The warning of a new service."""
    given = {"Content-Type": "application/json", **headers}
    made = await client.request("POST", PATH, given, service(name, kind))
    assert made.status == 201
    return made.head.get(b"warning").decode()


async def test_people_are_told_and_programs_are_not() -> None:
    """By the name that the client gives itself."""
    async with open_api(seed=1) as server, server.connect() as client:
        said = await told(client, "a", "LoadBalancer", **KUBECTL)
        assert said == (
            '299 - "Service is stored, but nothing makes a load balancer for it in kubetrio; '
            'other programs can"'
        )
        assert await told(client, "b", "ClusterIP", **KUBECTL) == ""
        assert await told(client, "c", "LoadBalancer") == ""
        patch = {"Content-Type": "application/merge-patch+json", **KUBECTL}
        changed = await client.request("PATCH", f"{PATH}/a", patch, b'{"metadata":{"labels":{}}}')
        assert (changed.status, changed.head.get(b"warning")) == (200, b"")


@pytest.mark.parametrize(("whom", "expected"), [("all", True), ("none", False)])
async def test_a_flag_says_who_is_told(whom: str, expected: bool, tmp_path: Path) -> None:
    """Everybody, or nobody."""
    config = Config(data_dir=tmp_path, requests=Requests(inert_warnings=whom))
    async with open_api(seed=1, config=config) as server, server.connect() as client:
        assert bool(await told(client, "a", "LoadBalancer", **KUBECTL)) is expected
        assert bool(await told(client, "b", "LoadBalancer")) is expected


LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


async def warned(client: Client, path: str, body: dict[str, Any]) -> bool:
    """Whether kubectl is told that nothing acts on a new object."""
    made = await client.request("POST", path, KUBECTL, json=body)
    assert made.status == 201
    return bool(made.head.get(b"warning"))


def deployment(name: str) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }  # fmt: skip


async def test_nobody_is_told_beside_a_controller_manager(mock_clock: MockClock) -> None:
    """As long as it renews its Lease; a scheduler says nothing of deployments."""
    async with open_api(seed=1) as server, server.connect() as client:

        async def lease(component: str) -> None:
            body = {
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": component},
                "spec": {"renewTime": format_micro(server.env.now())},
            }  # fmt: skip
            assert (await client.request("POST", LEASES, json=body)).status == 201

        await lease("kube-scheduler")
        assert await warned(client, DEPLOYMENTS, deployment("a"))
        await lease("kube-controller-manager")
        assert not await warned(client, DEPLOYMENTS, deployment("b"))
        mock_clock.jump(LEASED_S + 1)
        assert await warned(client, DEPLOYMENTS, deployment("c"))


async def test_nobody_is_told_of_what_a_program_acts_on(mock_clock: MockClock) -> None:
    """It writes statuses; a person who does says nothing by it."""
    patch = {"Content-Type": "application/merge-patch+json"}
    body = b'{"status":{"observedGeneration":1}}'
    async with open_api(seed=1) as server, server.connect() as client:
        assert await warned(client, DEPLOYMENTS, deployment("a"))
        path = f"{DEPLOYMENTS}/a/status"
        done = await client.request("PATCH", path, {**patch, **KUBECTL}, body)
        assert done.status == 200
        assert await warned(client, DEPLOYMENTS, deployment("b"))
        done = await client.request("PATCH", path, patch, body)
        assert done.status == 200
        assert not await warned(client, DEPLOYMENTS, deployment("c"))
        assert await told(client, "s", "LoadBalancer", **KUBECTL)
        mock_clock.jump(ACTED_S + 1)
        assert await warned(client, DEPLOYMENTS, deployment("d"))


async def test_all_of_the_table_are_served_kinds() -> None:
    """By their names; the documentation lists them."""
    async with open_api(seed=1) as server:
        served = {
            (kind.group, kind.resource) for kind in server.api.storage.registry.resources.values()
        }
    assert set(INERT) <= served
    page = (ROOT / "docs/reference/compatibility.md").read_text()
    named = set(re.findall(r"`([a-z.0-9]+)`", page))
    assert {f"{resource}.{group}".rstrip(".") for group, resource in INERT} <= named


async def test_nobody_is_told_of_what_this_server_s_controllers_act_on(tmp_path: Path) -> None:
    """Only of the others."""
    config = Config(data_dir=tmp_path, controllers=("*", "deployment"))
    path = "/apis/apps/v1/namespaces/default"
    pod = '{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}'
    spec = f'{{"selector":{{"matchLabels":{{"a":"b"}}}},"template":{pod}}}'
    body = f'{{"metadata":{{"name":"w"}},"spec":{spec}}}'.encode()
    async with open_api(seed=1, config=config) as server, server.connect() as client:
        given = {"Content-Type": "application/json", **KUBECTL}
        for resource, told in (("deployments", False), ("replicasets", True)):
            made = await client.request("POST", f"{path}/{resource}", given, body)
            assert made.status == 201
            assert bool(made.head.get(b"warning")) is told
