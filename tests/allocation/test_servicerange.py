"""The ServiceCIDR of the ranges that the server was started with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from kubetrio.allocation.servicerange import CONTROLLER, INTERVAL_S, DefaultServiceRange
from kubetrio.config import Config, Serving, Storage
from kubetrio.testing.client import Client
from kubetrio.testing.server import PORT, InProcess, open_api

RANGES = "/apis/networking.k8s.io/v1/servicecidrs"
RANGE = RANGES + "/kubernetes"
SERVICES = "/api/v1/namespaces/default/services"
BOTH = ["10.0.0.0/24", "fd00::/112"]
MERGE = {"Content-Type": "application/merge-patch+json"}


def keeper(server: InProcess, cidrs: list[str]) -> DefaultServiceRange:
    api = server.api
    dispatcher = api.storage.informers.dispatcher
    return DefaultServiceRange(
        api.storage.registry, api.writes.operations, dispatcher, server.env, cidrs
    )


def conditions(obj: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["type"], each["status"]) for each in obj["status"].get("conditions", ())]


async def test_it_is_there_and_ready(client: Client) -> None:
    """Made by the server, said to be ready by its controller through apply."""
    obj = (await client.request("GET", RANGE)).json()
    assert obj["spec"] == {"cidrs": ["10.0.0.0/24"]}
    assert conditions(obj) == [("Ready", "True")]
    assert obj["status"]["conditions"][0]["reason"] == ""
    owners = {
        (entry["manager"], entry["operation"], entry.get("subresource"))
        for entry in obj["metadata"]["managedFields"]
    }
    assert owners == {
        (CONTROLLER.field_manager, "Apply", "status"),
        ("kube-apiserver", "Update", None),
    }


async def test_it_comes_back(
    server: InProcess, client: Client, autojump_clock: trio.testing.MockClock
) -> None:
    """A while after somebody deleted it."""
    del autojump_clock
    async with trio.open_nursery() as nursery:
        nursery.start_soon(keeper(server, ["10.0.0.0/24"]).run)
        await trio.testing.wait_all_tasks_blocked()
        await client.request("DELETE", RANGE)
        assert (await client.request("GET", RANGE)).status == 404
        await trio.sleep(INTERVAL_S + 1)
        assert conditions((await client.request("GET", RANGE)).json()) == [("Ready", "True")]
        nursery.cancel_scope.cancel()


async def test_a_second_family_is_added(server: InProcess, client: Client) -> None:
    """When the server is started with it, and the first is still the same."""
    await keeper(server, BOTH).keep()
    assert (await client.request("GET", RANGE)).json()["spec"] == {"cidrs": BOTH}


async def test_other_ranges_are_left_alone(server: InProcess, client: Client) -> None:
    """They are somebody's decision; whether they are ready is too."""
    before = (await client.request("GET", RANGE)).json()
    await keeper(server, ["10.7.0.0/24"]).keep()
    assert (await client.request("GET", RANGE)).json() == before


@pytest.mark.parametrize("status", ["True", "False"])
async def test_a_word_about_readiness_stands(
    server: InProcess, client: Client, status: str
) -> None:
    """Whoever said it."""
    condition = {
        "type": "Ready",
        "status": status,
        "reason": "r",
        "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    patch = {"status": {"conditions": [condition]}}
    said = await client.request("PATCH", RANGE + "/status", headers=MERGE, json=patch)
    assert said.status == 200
    await keeper(server, ["10.0.0.0/24"]).keep()
    assert (await client.request("GET", RANGE)).json() == said.json()


async def test_two_families_are_served(tmp_path: Path) -> None:
    """The server starts with two ranges, and gives services addresses of both."""
    config = Config(
        data_dir=tmp_path, serving=Serving(secure_port=PORT), storage=Storage(durability="normal")
    )
    config = replace(config, services=replace(config.services, cluster_ip_range=",".join(BOTH)))
    async with open_api(config=config) as server, server.connect() as client:
        own = (await client.request("GET", SERVICES + "/kubernetes")).json()["spec"]
        assert (own["clusterIPs"], own["ipFamilyPolicy"]) == (["10.0.0.1"], "SingleStack")
        spec = {"ports": [{"port": 80}], "ipFamilyPolicy": "RequireDualStack"}
        made = await client.request(
            "POST", SERVICES, json={"metadata": {"name": "a"}, "spec": spec}
        )
        given = made.json()["spec"]
        assert given["ipFamilies"] == ["IPv4", "IPv6"]
        assert [":" in address for address in given["clusterIPs"]] == [False, True]
        patch = {"spec": {"ipFamilyPolicy": "SingleStack"}}
        path = SERVICES + "/a"
        single = (await client.request("PATCH", path, headers=MERGE, json=patch)).json()["spec"]
        assert single["clusterIPs"] == given["clusterIPs"][:1]
        listed = await client.request("GET", "/apis/networking.k8s.io/v1/ipaddresses")
        names = {item["metadata"]["name"] for item in listed.json()["items"]}
        assert names == {"10.0.0.1", given["clusterIPs"][0]}
        patch = {"spec": {"ipFamilyPolicy": "PreferDualStack"}}
        again = (await client.request("PATCH", path, headers=MERGE, json=patch)).json()["spec"]
        assert again["clusterIPs"][0] == given["clusterIPs"][0]
        assert len(again["clusterIPs"]) == 2
