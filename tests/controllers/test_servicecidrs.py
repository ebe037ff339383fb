"""Further ranges of service addresses, as their controller keeps them."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.client.client import Client
from kubetrio.controllers.servicecidrs import FINALIZER, GRACE_S, IN_USE, READY
from kubetrio.machinery.status import ApiError
from kubetrio.testing.controllers import running
from kubetrio.testing.server import open_api

Object = dict[str, Any]
GROUP = "networking.k8s.io/v1"
WAIT_S = 1.0


def range_of(name: str, *cidrs: str) -> Object:
    """A ServiceCIDR."""
    return {
        "apiVersion": GROUP, "kind": "ServiceCIDR", "metadata": {"name": name},
        "spec": {"cidrs": list(cidrs)},
    }  # fmt: skip


def service(name: str, address: str) -> Object:
    """A Service with an address of its choice."""
    spec = {"clusterIP": address, "ports": [{"port": 80}], "selector": {"a": "b"}}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}


async def found(client: Client, name: str) -> Object | None:
    """A range, when the controller has had time."""
    await trio.sleep(WAIT_S)
    try:
        return await client.get(client.kind(GROUP, "ServiceCIDR"), name)
    except ApiError as error:
        if error.code != 404:
            raise
        return None


def ready(obj: Object | None) -> tuple[str, str, str]:
    """Status, reason and message of its condition."""
    assert obj is not None
    (condition,) = obj["status"]["conditions"]
    return condition["status"], condition["reason"], condition["message"]


async def test_a_range_is_protected_and_ready(autojump_clock: MockClock) -> None:
    """Soon after it came; without addresses it goes, when the time of grace is over."""
    async with open_api() as server, running(server, "service-cidr-controller"):
        client = server.client()
        await client.create(range_of("more", "10.9.0.0/24"))
        kept = await found(client, "more")
        assert ready(kept) == ("True", "", READY)
        assert kept is not None
        assert kept["metadata"]["finalizers"] == [FINALIZER]
        await client.delete(client.kind(GROUP, "ServiceCIDR"), "more")
        await trio.sleep(GRACE_S / 2)
        assert await found(client, "more") is not None
        await trio.sleep(GRACE_S)
        assert await found(client, "more") is None


async def test_a_range_in_use_waits(autojump_clock: MockClock) -> None:
    """Until the last address that has no other range is free."""
    async with open_api() as server, running(server, "service-cidr-controller"):
        client = server.client()
        await client.create(range_of("more", "10.9.0.0/24"))
        await found(client, "more")
        await client.create(service("s", "10.9.0.7"))
        await client.delete(client.kind(GROUP, "ServiceCIDR"), "more")
        await trio.sleep(2 * GRACE_S)
        assert ready(await found(client, "more")) == ("False", "Terminating", IN_USE)
        await client.delete(client.kind("v1", "Service"), "s", "default")
        assert await found(client, "more") is None


@pytest.mark.parametrize("other", ["10.9.0.0/16", "10.9.0.0/24"])
async def test_addresses_in_another_range_hold_nothing(
    other: str, autojump_clock: MockClock
) -> None:
    """One that contains the range takes its addresses over."""
    async with open_api() as server, running(server, "service-cidr-controller"):
        client = server.client()
        await client.create(range_of("more", "10.9.0.0/24"))
        await found(client, "more")
        await client.create(service("s", "10.9.0.7"))
        await client.delete(client.kind(GROUP, "ServiceCIDR"), "more")
        await trio.sleep(2 * GRACE_S)
        await client.create(range_of("wide", other))
        assert await found(client, "more") is None
