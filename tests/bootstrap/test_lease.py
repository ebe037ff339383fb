"""The Lease of a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.bootstrap.lease import DURATION_S, ENDLESS_S, LOOK_S, IdentityLease, expired, identity
from kubetrio.machinery.timestamps import format_micro
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess, open_api

RENEW_S = 10.0
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
MINE = f"{LEASES}/{identity('vm')}"


def lease_of(server: InProcess, renew_s: float = RENEW_S) -> IdentityLease:
    """A Lease of the host ``vm``."""
    api = server.api
    return IdentityLease(
        api.storage.registry,
        api.writes.operations,
        api.storage.store,
        server.env,
        hostname="vm",
        address="192.0.2.2:6443",
        renew_s=renew_s,
    )


@asynccontextmanager
async def kept(server: InProcess, renew_s: float = RENEW_S) -> AsyncIterator[IdentityLease]:
    """A Lease that is made and renewed."""
    lease = lease_of(server, renew_s)
    await lease.start()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lease.run)
        yield lease
        nursery.cancel_scope.cancel()


async def names(client: Client) -> list[str]:
    """Names of the Leases in kube-system."""
    found = (await client.request("GET", LEASES)).json()
    return [item["metadata"]["name"] for item in found["items"]]


def test_the_name_is_the_digest_that_kube_apiserver_makes() -> None:
    """Recorded of a kube-apiserver on a host called ``vm``."""
    assert identity("vm") == "apiserver-wlv32tlttr4jl3gtroqexyxapa"


async def test_it_says_who_and_where(server: InProcess, client: Client) -> None:
    """Labels, annotation, spec and owner are kube-apiserver's."""
    async with kept(server):
        found = (await client.request("GET", MINE)).json()
    meta, spec = found["metadata"], found["spec"]
    assert meta["labels"] == {
        "apiserver.kubernetes.io/identity": "kube-apiserver",
        "kubernetes.io/hostname": "vm",
    }
    assert meta["annotations"] == {"kubernetes.io/peer-advertise-address": "192.0.2.2:6443"}
    assert spec["holderIdentity"].startswith(f"{identity('vm')}_")
    assert spec["leaseDurationSeconds"] == DURATION_S
    (entry,) = meta["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("kube-apiserver", "Update")
    assert set(entry["fieldsV1"]["f:spec"]) == {
        "f:holderIdentity",
        "f:leaseDurationSeconds",
        "f:renewTime",
    }


async def test_it_is_renewed(autojump_clock: MockClock) -> None:
    """At its interval, by the same holder."""
    async with open_api() as server, server.connect() as client, kept(server):
        before = (await client.request("GET", MINE)).json()
        await trio.sleep(2 * RENEW_S + 1)
        after = (await client.request("GET", MINE)).json()
    assert after["spec"]["renewTime"] > before["spec"]["renewTime"]
    assert after["spec"]["holderIdentity"] == before["spec"]["holderIdentity"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


async def test_a_deleted_one_comes_back(autojump_clock: MockClock) -> None:
    """Soon, however long the next renewal takes."""
    async with open_api() as server, server.connect() as client, kept(server, 0.0):
        await client.request("DELETE", MINE)
        await trio.sleep(LOOK_S + 1)
        assert (await client.request("GET", MINE)).status == 200


async def test_a_start_makes_another(server: InProcess, client: Client) -> None:
    """What a killed server left is not taken over."""
    async with kept(server):
        first = (await client.request("GET", MINE)).json()
    async with kept(server):
        second = (await client.request("GET", MINE)).json()
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert second["spec"]["holderIdentity"] != first["spec"]["holderIdentity"]


async def test_it_goes_with_the_server(autojump_clock: MockClock) -> None:
    """And does not come back while the last requests finish."""
    async with open_api() as server, server.connect() as client, kept(server) as lease:
        await lease.stop()
        await trio.sleep(RENEW_S + 1)
        assert (await client.request("GET", MINE)).status == 404


async def test_those_of_servers_long_gone_are_deleted(server: InProcess, client: Client) -> None:
    """Only with the label of servers, and only when they ran out."""
    label = {"apiserver.kubernetes.io/identity": "kube-apiserver"}
    long_ago = {"leaseDurationSeconds": 10, "renewTime": format_micro(server.env.now() - 60)}
    lately = {**long_ago, "leaseDurationSeconds": 3600}
    for name, labels, spec in (
        ("gone", label, long_ago), ("there", label, lately), ("other", {}, long_ago),
    ):  # fmt: skip
        meta = {"name": name, "labels": labels}
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta}
        assert (await client.request("POST", LEASES, json={**body, "spec": spec})).status == 201
    async with kept(server):
        assert sorted(await names(client)) == [identity("vm"), "other", "there"]


@pytest.mark.parametrize("spec", [None, {}, {"renewTime": format_micro(0)}])
def test_one_that_says_too_little_has_run_out(spec: Any) -> None:
    """A server's Lease has both a time and a duration."""
    assert expired({"spec": spec}, 0.0)


async def test_without_renewals_it_has_no_end_and_writes_nothing(
    autojump_clock: MockClock,
) -> None:
    """A day long; those of other hosts are gone, for no other server can have the store."""
    async with open_api() as server, server.connect() as client:
        meta = {"name": "other", "labels": {"apiserver.kubernetes.io/identity": "kube-apiserver"}}
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta}
        spec = {"leaseDurationSeconds": ENDLESS_S, "renewTime": format_micro(server.env.now())}
        assert (await client.request("POST", LEASES, json={**body, "spec": spec})).status == 201
        async with kept(server, 0.0):
            assert await names(client) == [identity("vm")]
            before = (await client.request("GET", MINE)).json()
            assert before["spec"]["leaseDurationSeconds"] == ENDLESS_S
            await trio.sleep(86_400)
            assert (await client.request("GET", MINE)).json() == before


async def test_a_long_interval_is_no_shorter_than_what_it_says(server: InProcess) -> None:
    """The Lease outlives two renewals."""
    assert lease_of(server, 10.0)._duration_s == DURATION_S
    assert lease_of(server, 7200.5)._duration_s == 14_401
