"""Quotas on a whole server: charged by admission, recounted when objects go."""

from __future__ import annotations

from typing import Any

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.bootstrap.quotas import QuotaKeeper
from kubetrio.resources.quotas import EXPECTED_S, StoredQuotas
from kubetrio.store.model import Stamped
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

NAMESPACE = "/api/v1/namespaces/default"
QUOTA = NAMESPACE + "/resourcequotas/q"


def named(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **more}


def pod(name: str, cpu: str = "") -> dict[str, Any]:
    container: dict[str, Any] = {"name": "c", "image": "i"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    return named("Pod", name, spec={"containers": [container]})


async def limited(server: InProcess, client: Client, hard: dict[str, str]) -> StoredQuotas:
    """A quota whose status is counted."""
    body = named("ResourceQuota", "q", spec={"hard": hard})
    await client.request("POST", NAMESPACE + "/resourcequotas", json=body)
    quotas = server.api.quotas
    await quotas.recount("default")
    return quotas


async def test_a_quota_is_charged_and_refuses(server: InProcess, client: Client) -> None:
    """A dry run is refused as well, and charges nothing."""
    await limited(server, client, {"secrets": "1"})
    path = NAMESPACE + "/secrets"
    assert (
        await client.request("POST", path + "?dryRun=All", json=named("Secret", "a"))
    ).status == 201
    assert (await client.request("POST", path, json=named("Secret", "a"))).status == 201
    assert (await client.request("GET", QUOTA)).json()["status"]["used"] == {"secrets": "1"}
    refused = await client.request("POST", path, json=named("Secret", "b"))
    assert refused.json()["message"] == (
        'secrets "b" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=1, '
        "limited: secrets=1"
    )


async def test_pods_say_what_a_quota_counts(server: InProcess, client: Client) -> None:
    """Compute that is limited must be requested."""
    await limited(server, client, {"requests.cpu": "500m", "pods": "2"})
    path = NAMESPACE + "/pods"
    silent = await client.request("POST", path, json=pod("p"))
    assert silent.json()["message"] == (
        'pods "p" is forbidden: failed quota: q: must specify requests.cpu for: c'
    )
    assert (await client.request("POST", path, json=pod("p", "400m"))).status == 201
    used = (await client.request("GET", QUOTA)).json()["status"]["used"]
    assert used == {"pods": "1", "requests.cpu": "400m"}
    over = await client.request("POST", path, json=pod("r", "200m"))
    assert "requested: requests.cpu=200m, used: requests.cpu=400m" in over.json()["message"]


async def test_pods_may_say_it_for_their_containers(server: InProcess, client: Client) -> None:
    """And are charged for what they say."""
    await limited(server, client, {"requests.cpu": "3", "limits.memory": "1Gi"})
    path, body = NAMESPACE + "/pods", pod("p", "1")
    body["spec"]["resources"] = {"requests": {"cpu": "4"}, "limits": {"memory": "1Mi"}}
    over = await client.request("POST", path, json=body)
    assert over.json()["message"] == (
        'pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=4, '
        "used: requests.cpu=0, limited: requests.cpu=3"
    )
    body["spec"]["resources"]["requests"]["cpu"] = "2"
    assert (await client.request("POST", path, json=body)).status == 201
    used = (await client.request("GET", QUOTA)).json()["status"]["used"]
    assert used == {"limits.memory": "1Mi", "requests.cpu": "2"}


async def test_requests_at_once_do_not_pass_together(server: InProcess, client: Client) -> None:
    """Of many at the same time as many succeed as the quota has room for."""
    await limited(server, client, {"count/configmaps": "3"})
    statuses: list[int] = []

    async def create(name: str) -> None:
        async with server.connect() as own:
            made = await own.request(
                "POST", NAMESPACE + "/configmaps", json=named("ConfigMap", name)
            )
            statuses.append(made.status)

    async with trio.open_nursery() as nursery:
        for index in range(8):
            nursery.start_soon(create, f"c{index}")
    assert sorted(statuses) == [201] * 3 + [403] * 5


async def test_a_deletion_frees(server: InProcess, client: Client) -> None:
    """The keeper counts again when objects go, and when the quota changes."""
    quotas = await limited(server, client, {"secrets": "1"})
    path = NAMESPACE + "/secrets"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(QuotaKeeper(server.api.store, quotas).run)
        await wait_all_tasks_blocked()
        await client.request("POST", path, json=named("Secret", "a"))
        await client.request("DELETE", path + "/a")
        await wait_all_tasks_blocked()
        assert (await client.request("POST", path, json=named("Secret", "b"))).status == 201
        more = {"spec": {"hard": {"secrets": "5"}}}
        merge = {"Content-Type": "application/merge-patch+json"}
        await client.request("PATCH", QUOTA, headers=merge, json=more)
        await wait_all_tasks_blocked()
        status = (await client.request("GET", QUOTA)).json()["status"]
        assert status == {"hard": {"secrets": "5"}, "used": {"secrets": "1"}}
        nursery.cancel_scope.cancel()


async def used(client: Client) -> Any:
    return (await client.request("GET", QUOTA)).json()["status"]["used"]


async def test_what_is_charged_is_not_counted_before_it_is_stored(
    server: InProcess, client: Client, mock_clock: MockClock
) -> None:
    """Else the count would let others in; of a write that fails nobody hears, so it expires."""
    quotas = await limited(server, client, {"secrets": "2"})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(QuotaKeeper(server.api.store, quotas).run)
        await wait_all_tasks_blocked()
        for name in ("stored", "refused"):
            quotas.expect("default", f"/registry/secrets/default/{name}")
        [quota] = await quotas.of("default")
        assert await quotas.charge(quota, {"secrets": "2"})
        await wait_all_tasks_blocked()
        assert await used(client) == {"secrets": "2"}
        await server.api.store.create(
            "/registry/secrets/default/stored", Stamped(b'{"revision":"', b'"}')
        )
        await wait_all_tasks_blocked()
        assert await used(client) == {"secrets": "2"}
        mock_clock.jump(EXPECTED_S)
        await wait_all_tasks_blocked()
        assert await used(client) == {"secrets": "1"}
        nursery.cancel_scope.cancel()


async def test_what_is_refused_is_not_expected(server: InProcess, client: Client) -> None:
    """Nor is a dry run."""
    quotas = await limited(server, client, {"secrets": "0"})
    for query in ("", "?dryRun=All"):
        made = await client.request(
            "POST", f"{NAMESPACE}/secrets{query}", json=named("Secret", "a")
        )
        assert made.status == 403
        assert not quotas.expecting("default")
