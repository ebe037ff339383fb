"""Services and IPAddresses that others took apart, on a server that runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.client.client import Client
from kubetrio.machinery.status import ApiError
from kubetrio.testing.server import in_memory, open_api

Object = dict[str, Any]
NETWORKING = "networking.k8s.io/v1"
LABELS = {
    "ipaddress.kubernetes.io/ip-family": "IPv4",
    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
}


MODIFIED = (
    "IPAddress 10.0.0.77 appears to have been modified, not referencing a Service "
    "&ParentReference{Group:example.com,Resource:gateways,Namespace:,Name:g,}: cleaning up"
)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """A client of a server that does what servers do of their own accord."""
    async with open_api(kept=True) as server:
        yield server.client()


async def service(client: Client, name: str = "a", ip: str = "10.0.0.9") -> Object:
    """A new Service."""
    meta = {"name": name, "namespace": "default"}
    spec = {"clusterIP": ip, "ports": [{"port": 80}]}
    return await client.create(
        {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}
    )


def address(ip: str, parent: Object, labels: Object | None = None) -> Object:
    """An IPAddress."""
    return {
        "apiVersion": NETWORKING,
        "kind": "IPAddress",
        "metadata": {"name": ip, "labels": LABELS if labels is None else labels},
        "spec": {"parentRef": parent},
    }


def of(name: str) -> Object:
    """A reference to a Service."""
    return {"resource": "services", "namespace": "default", "name": name}


async def stored(client: Client, ip: str) -> Object | None:
    """An IPAddress, None when there is none."""
    try:
        return await client.get(client.kind(NETWORKING, "IPAddress"), ip)
    except ApiError:
        return None


async def events(client: Client) -> list[tuple[str, str, str]]:
    """Reasons, actions and notes of all events there are."""
    listed = await client.list(client.kind("events.k8s.io/v1", "Event"))
    return [(item["reason"], item["action"], item["note"]) for item in listed.items]


async def test_an_address_that_is_deleted_comes_back(
    autojump_clock: MockClock, client: Client
) -> None:
    """For the Service that has it, and an event says so."""
    await service(client)
    await client.delete(client.kind(NETWORKING, "IPAddress"), "10.0.0.9")
    await trio.sleep(1)
    again = await stored(client, "10.0.0.9")
    assert again is not None
    assert again["spec"]["parentRef"] == of("a")
    assert again["metadata"]["labels"] == LABELS
    note = "Cluster IP [IPv4]: 10.0.0.9 is not allocated; repairing"
    assert await events(client) == [("ClusterIPNotAllocated", "ClusterIPAllocation", note)]


async def test_an_address_goes_with_its_service(autojump_clock: MockClock, client: Client) -> None:
    """Nobody brings it back, and nobody warns."""
    await service(client)
    await client.delete(client.kind("v1", "Service"), "a", "default")
    await trio.sleep(100)
    assert await stored(client, "10.0.0.9") is None
    assert await events(client) == []


async def test_labels_that_were_taken_away_come_back(
    autojump_clock: MockClock, client: Client
) -> None:
    """By a new object, as in kube-apiserver."""
    await service(client)
    kind = client.kind(NETWORKING, "IPAddress")
    await client.patch(kind, "10.0.0.9", {"metadata": {"labels": None}})
    await trio.sleep(1)
    again = await stored(client, "10.0.0.9")
    assert again is not None
    assert again["metadata"]["labels"] == LABELS


@pytest.mark.parametrize(
    ("parent", "reason", "note"),
    [
        (
            of("nobody"),
            "IPAddressNotAllocated",
            "IPAddress: 10.0.0.77 for Service default/nobody appears to have leaked: cleaning up",
        ),
        (
            of("a"),
            "IPAddressWrongReference",
            "IPAddress: 10.0.0.77 for Service default/a has a wrong reference; cleaning up",
        ),
        (
            {"group": "example.com", "resource": "gateways", "name": "g"},
            "IPAddressNotAllocated",
            MODIFIED,
        ),
    ],
)
async def test_addresses_of_nobody_go(
    autojump_clock: MockClock, client: Client, parent: Object, reason: str, note: str
) -> None:
    """A minute after they came, as a Service may still be on its way."""
    await service(client)
    await client.create(address("10.0.0.77", parent))
    await trio.sleep(50)
    assert await stored(client, "10.0.0.77") is not None
    await trio.sleep(20)
    assert await stored(client, "10.0.0.77") is None
    assert await events(client) == [(reason, "IPAddressAllocation", note)]


async def test_addresses_of_others_stay(autojump_clock: MockClock, client: Client) -> None:
    """What another controller manages is its business."""
    await client.create(address("10.0.0.77", of("nobody"), {}))
    await trio.sleep(100)
    assert await stored(client, "10.0.0.77") is not None


async def test_nothing_is_written_without_need(autojump_clock: MockClock) -> None:
    """Services that come, change and go as usual leave no trace."""
    async with open_api(kept=True) as server:
        client = server.client()
        await service(client)
        kind = client.kind("v1", "Service")
        await client.patch(kind, "a", {"metadata": {"labels": {"a": "b"}}}, "default")
        await wait_all_tasks_blocked()
        before = server.api.storage.store.revision
        await trio.sleep(100)
        assert server.api.storage.store.revision == before


async def test_a_service_out_of_range_is_told_of_once(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    """However often it is written in a short time."""
    # Nobody keeps the range for the address in it.
    config = replace(in_memory(tmp_path), controllers=("*", "-service-cidr-controller"))
    async with open_api(config=config, kept=True) as server:
        await _out_of_range(server.client())


async def _out_of_range(client: Client) -> None:
    kind = client.kind("v1", "Service")
    more = {
        "apiVersion": NETWORKING, "kind": "ServiceCIDR", "metadata": {"name": "more"},
        "spec": {"cidrs": ["10.9.0.0/24"]},
    }  # fmt: skip
    await client.create(more)
    await service(client, "a", "10.9.0.9")
    await client.delete(client.kind(NETWORKING, "ServiceCIDR"), "more")
    for value in "xyz":
        await client.patch(kind, "a", {"metadata": {"labels": {"a": value}}}, "default")
        await trio.sleep(1)
    note = (
        "Cluster IP [IPv4]: 10.9.0.9 is not within any configured Service CIDR; "
        "please recreate service"
    )
    assert await events(client) == [("ClusterIPOutOfRange", "ClusterIPAllocation", note)]
