"""Quotas on a whole server: charged by admission, recounted when objects go."""

from __future__ import annotations

from typing import Any

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.controllers.resourcequota import PATIENCE_S, RESYNC_S, ResourceQuotaController
from kubetrio.kinds.coordination.leading import CONTROLLER_MANAGER, lease_key
from kubetrio.machinery.timestamps import format_time
from kubetrio.quota.stored import EXPECTED_S, StoredQuotas
from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.model import Stamped
from kubetrio.testing.client import Client
from kubetrio.testing.controllers import context_of
from kubetrio.testing.server import InProcess

NAME = "resourcequota-controller"
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
    quotas = server.api.writes.quotas
    await quotas.recount("default")
    return quotas


def controller(server: InProcess, quotas: StoredQuotas) -> ResourceQuotaController:
    """The controller of a server, with quotas of a test's own."""
    return ResourceQuotaController(context_of(server)._replace(quotas=quotas))


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


async def test_devices_of_a_class_are_limited(server: InProcess, client: Client) -> None:
    """A claim is charged for what it may get, and refused beyond; a deleted one frees."""
    name = "gpu.deviceclass.resource.k8s.io/devices"
    quotas = await limited(server, client, {name: "3"})
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"

    def claim(name: str, count: int) -> dict[str, Any]:
        exactly = {"deviceClassName": "gpu", "count": count}
        spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
        return {"metadata": {"name": name}, "spec": spec}

    assert (await client.request("POST", path, json=claim("a", 2))).status == 201
    refused = await client.request("POST", path, json=claim("b", 2))
    assert refused.json()["message"] == (
        f'resourceclaims.resource.k8s.io "b" is forbidden: exceeded quota: q, requested: {name}=2, '
        f"used: {name}=2, limited: {name}=3"
    )
    await client.request("DELETE", path + "/a")
    await quotas.recount("default")
    assert (await client.request("GET", QUOTA)).json()["status"]["used"] == {name: "0"}
    assert (await client.request("POST", path, json=claim("b", 3))).status == 201


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
        nursery.start_soon(controller(server, quotas).run)
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
        nursery.start_soon(controller(server, quotas).run)
        await wait_all_tasks_blocked()
        for name in ("stored", "refused"):
            quotas.expect("default", f"/registry/secrets/default/{name}")
        [quota] = await quotas.of("default")
        assert await quotas.charge(quota, {"secrets": "2"})
        await wait_all_tasks_blocked()
        assert await used(client) == {"secrets": "2"}
        await server.api.storage.store.create(
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


async def revision(client: Client) -> str:
    version: str = (await client.request("GET", QUOTA)).json()["metadata"]["resourceVersion"]
    return version


MERGE = {"Content-Type": "application/merge-patch+json"}


async def test_what_one_quota_refuses_is_charged_to_none(server: InProcess, client: Client) -> None:
    """All are asked before one is written."""
    await limited(server, client, {"secrets": "5"})
    other = named("ResourceQuota", "r", spec={"hard": {"count/secrets": "0"}})
    await client.request("POST", NAMESPACE + "/resourcequotas", json=other)
    await server.api.writes.quotas.recount("default")
    refused = await client.request("POST", NAMESPACE + "/secrets", json=named("Secret", "a"))
    assert refused.status == 403
    assert await used(client) == {"secrets": "0"}


async def test_an_update_charges_what_it_adds(server: InProcess, client: Client) -> None:
    """What it frees is counted later: until then nobody else gets it."""
    await limited(server, client, {"services.nodeports": "2", "services": "2"})
    path = NAMESPACE + "/services"
    spec = {"ports": [{"port": 80}]}
    await client.request("POST", path, json=named("Service", "a", spec=spec))
    for kind, count in (("NodePort", "1"), ("ClusterIP", "1"), ("NodePort", "2")):
        patch = {"spec": {"type": kind}}
        answer = await client.request("PATCH", path + "/a", headers=MERGE, json=patch)
        assert answer.status == 200
        assert (await used(client))["services.nodeports"] == count


async def test_a_pod_that_is_given_an_end_counts_for_other_quotas(
    server: InProcess, client: Client
) -> None:
    """And is refused where it does not fit."""
    body = named("ResourceQuota", "q", spec={"hard": {"pods": "0"}, "scopes": ["Terminating"]})
    await client.request("POST", NAMESPACE + "/resourcequotas", json=body)
    await server.api.writes.quotas.recount("default")
    assert (await client.request("POST", NAMESPACE + "/pods", json=pod("a"))).status == 201
    patch = {"spec": {"activeDeadlineSeconds": 60}}
    refused = await client.request("PATCH", NAMESPACE + "/pods/a", headers=MERGE, json=patch)
    assert refused.json()["message"] == (
        'pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0'
    )


async def test_charges_and_counts_have_owners(server: InProcess, client: Client) -> None:
    """Those that kube-apiserver and its controller manager would have."""
    await limited(server, client, {"secrets": "2"})
    await client.request("POST", NAMESPACE + "/secrets", json=named("Secret", "a"))
    entries = (await client.request("GET", QUOTA)).json()["metadata"]["managedFields"]
    owners = {(entry["manager"], entry.get("subresource")) for entry in entries}
    assert {("kube-controller-manager", "status"), ("kube-apiserver", "status")} <= owners


async def test_a_status_that_is_right_is_not_written(server: InProcess, client: Client) -> None:
    """Even if somebody else wrote the same amounts in another way."""
    quotas = await limited(server, client, {"requests.cpu": "2"})
    status = {"hard": {"requests.cpu": "2000m"}, "used": {"requests.cpu": "0"}}
    await client.request("PATCH", QUOTA + "/status", headers=MERGE, json={"status": status})
    before = await revision(client)
    assert await quotas.recount("default")
    assert await revision(client) == before


async def test_what_nobody_counts_keeps_its_value(server: InProcess, client: Client) -> None:
    """Who knows how to count it may have written it."""
    quotas = await limited(server, client, {"secrets": "2", "count/things.example.com": "3"})
    patch = {"status": {"used": {"count/things.example.com": "1"}}}
    await client.request("PATCH", QUOTA + "/status", headers=MERGE, json=patch)
    await quotas.recount("default")
    assert (await used(client)).keys() == {"secrets", "count/things.example.com"}


async def test_a_keeper_lets_another_one_write_first(
    server: InProcess, client: Client, mock_clock: MockClock
) -> None:
    """It looks later whether that was done, and does it if not."""
    quotas = await limited(server, client, {"secrets": "1"})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller(server, quotas).run)
        await wait_all_tasks_blocked()
        wrong = {"status": {"used": {"secrets": "7"}}}
        await client.request("PATCH", QUOTA + "/status", headers=MERGE, json=wrong)
        await wait_all_tasks_blocked()
        assert await used(client) == {"secrets": "7"}
        mock_clock.jump(PATIENCE_S)
        await wait_all_tasks_blocked()
        assert await used(client) == {"secrets": "0"}
        nursery.cancel_scope.cancel()


async def test_a_leading_controller_manager_writes_first(
    server: InProcess, client: Client, mock_clock: MockClock
) -> None:
    """Its lease says that it is there before it wrote anything."""
    renewed = format_time(server.env.now()).replace("Z", ".000000Z")
    lease = {"metadata": {"name": "kube-controller-manager"}, "spec": {"renewTime": renewed}}
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    assert (await client.request("POST", leases, json=lease)).status == 201
    assert await server.api.storage.store.get(lease_key(CONTROLLER_MANAGER)) is not None
    quotas = server.api.writes.quotas
    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller(server, quotas).run)
        await wait_all_tasks_blocked()
        body = named("ResourceQuota", "q", spec={"hard": {"secrets": "1"}})
        await client.request("POST", NAMESPACE + "/resourcequotas", json=body)
        await wait_all_tasks_blocked()
        assert "used" not in (await client.request("GET", QUOTA)).json()["status"]
        mock_clock.jump(PATIENCE_S)
        await wait_all_tasks_blocked()
        assert await used(client) == {"secrets": "0"}
        nursery.cancel_scope.cancel()


async def test_an_update_that_frees_is_counted(server: InProcess, client: Client) -> None:
    """By the keeper, as a deletion is."""
    quotas = await limited(server, client, {"services.nodeports": "1"})
    path = NAMESPACE + "/services"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller(server, quotas).run)
        await wait_all_tasks_blocked()
        spec = {"type": "NodePort", "ports": [{"port": 80}]}
        await client.request("POST", path, json=named("Service", "a", spec=spec))
        assert await used(client) == {"services.nodeports": "1"}
        patch = {"spec": {"type": "ClusterIP"}}
        await client.request("PATCH", path + "/a", headers=MERGE, json=patch)
        await wait_all_tasks_blocked()
        assert await used(client) == {"services.nodeports": "0"}
        nursery.cancel_scope.cancel()


async def test_one_task_writes_the_quotas_of_a_namespace(server: InProcess) -> None:
    """The others wait; other namespaces do not."""
    quotas, order = server.api.writes.quotas, []

    async def take(namespace: str, name: str) -> None:
        async with quotas.turn(namespace):
            order.append(name)

    async with trio.open_nursery() as nursery, quotas.turn("a"):
        nursery.start_soon(take, "a", "same")
        nursery.start_soon(take, "b", "other")
        await wait_all_tasks_blocked()
        order.append("mine")
    assert order == ["other", "mine", "same"]


async def test_who_has_no_quotas_follows_nothing(server: InProcess, client: Client) -> None:
    """With the last quota the keeper stops listening to every write."""
    dispatcher = server.api.storage.informers.dispatcher
    quotas = server.api.writes.quotas
    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller(server, quotas).run)
        await wait_all_tasks_blocked()
        followers = []
        for _ in range(2):
            followers.append(len(dispatcher._everywhere))
            await limited(server, client, {"secrets": "1"})
            followers.append(len(dispatcher._everywhere))
            await client.request("DELETE", QUOTA)
        assert followers == [0, 1, 0, 1]
        assert len(dispatcher._everywhere) == 0
        nursery.cancel_scope.cancel()


class Flaky(StoredQuotas):
    """Quotas that cannot be counted as often as is said."""

    failures = 0
    counted = 0

    async def recount(self, namespace: str) -> bool:
        """Fail, or count."""
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("gone")
        self.counted += 1
        return await super().recount(namespace)


async def test_a_count_that_fails_is_tried_again(
    server: InProcess, client: Client, autojump_clock: MockClock
) -> None:
    """Soon; and everything is counted again now and then without a reason."""
    await limited(server, client, {"secrets": "1"})
    quotas = Flaky(server.api.storage.store, server.api.storage.registry, server.env)
    quotas.failures = 3
    async with trio.open_nursery() as nursery:
        nursery.start_soon(controller(server, quotas).run)
        await trio.sleep(1)
        assert (quotas.failures, quotas.counted) == (0, 1)
        await trio.sleep(RESYNC_S)
        assert quotas.counted == 2
        nursery.cancel_scope.cancel()
