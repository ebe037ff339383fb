"""People who create what nothing acts on are told so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kubetrio.config import Config, Requests
from kubetrio.kinds.inert import INERT
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


async def test_all_of_the_table_are_served_kinds() -> None:
    """By their names; the documentation lists them."""
    async with open_api(seed=1) as server:
        served = {(kind.group, kind.resource) for kind in server.api.registry.resources.values()}
    assert set(INERT) <= served
    page = (ROOT / "docs/reference/compatibility.md").read_text()
    named = set(re.findall(r"`([a-z.0-9]+)`", page))
    assert {f"{resource}.{group}".rstrip(".") for group, resource in INERT} <= named
