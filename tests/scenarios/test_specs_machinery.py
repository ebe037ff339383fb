"""What Kubernetes' e2e specs ask of quotas, watches, pages of lists and mirrored endpoints.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/apimachinery and network (1.36); nothing
else of them.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from itertools import count
from typing import Any

import pytest
import trio
from simulated import Cluster, cluster, revision
from specs import Specs
from trio.testing import MockClock

from kubetrio.client.answers import Event, Events
from kubetrio.machinery.status import ApiError

Object = dict[str, Any]
SPECS = spec = Specs()

# ---------------------------------------------------------------------- quotas

QUOTA = "ResourceQuota"
EXTENDED = "example.com/dongle"
GOLD = "gold.storageclass.storage.k8s.io"
HARD = {
    "pods": "5", "services": "10", "services.nodeports": "1", "services.loadbalancers": "1",
    "replicationcontrollers": "10", "resourcequotas": "1", "cpu": "1", "memory": "500Mi",
    "configmaps": "10", "secrets": "10", "persistentvolumeclaims": "10",
    "requests.storage": "10Gi", "ephemeral-storage": "50Gi",
    f"{GOLD}/persistentvolumeclaims": "10", f"{GOLD}/requests.storage": "10Gi",
    "count/replicasets.apps": "5", f"requests.{EXTENDED}": "3",
}  # fmt: skip


async def until_used(there: Cluster, quota: str, **used: str) -> None:
    """Wait until a quota counts certain amounts; ``__`` in a name is a dot, ``_`` a hyphen."""
    amounts = {name.replace("__", ".").replace("_", "-"): used[name] for name in used}
    await until_counted(there, quota, amounts)


async def until_counted(there: Cluster, quota: str, amounts: Object) -> None:
    """Wait until a quota counts certain amounts."""

    async def counts() -> object:
        status = (await there.get(QUOTA, quota)).get("status") or {}
        return amounts.items() <= (status.get("used") or {}).items()

    await there.until(counts, 60)


async def limited(there: Cluster, **hard: str) -> None:
    """Make the quota of the specs, and wait until it was counted."""
    await there.make(QUOTA, "test-quota", spec={"hard": {**HARD, **hard}})
    await until_used(there, "test-quota", resourcequotas="1")


@spec("ResourceQuota should create a ResourceQuota and ensure its status is promptly calculated.")
async def _counted(there: Cluster) -> None:
    await limited(there)


async def service(there: Cluster, name: str, **more: Any) -> None:
    """Make a Service."""
    ports = [{"port": 80, "targetPort": 80}]
    await there.make("Service", name, spec={"ports": ports, **more})


@spec("ResourceQuota should create a ResourceQuota and capture the life of a service.")
async def _services(there: Cluster) -> None:
    before = len(await there.names("Service"))
    await limited(there)
    await service(there, "test-service")
    await service(there, "test-service-np", type="NodePort")
    with pytest.raises(ApiError, match="exceeded quota"):
        await service(there, "test-service-lb", type="LoadBalancer",
                      allocateLoadBalancerNodePorts=True)  # fmt: skip
    await until_used(there, "test-quota", resourcequotas="1", services=str(before + 2),
                     services__nodeports="1")  # fmt: skip
    await there.remove("Service", "test-service")
    await there.remove("Service", "test-service-np")
    await until_used(there, "test-quota", services=str(before), services__nodeports="0")


async def _life(there: Cluster, kind: str, resource: str, **members: Any) -> None:
    """A quota counts objects of a kind as they come and go."""
    before = len(await there.names(kind))
    await limited(there, **{resource: str(before + 1)})
    await until_used(there, "test-quota", **{resource: str(before)})
    await there.make(kind, "test", **members)
    await until_used(there, "test-quota", **{resource: str(before + 1)})
    await there.remove(kind, "test")
    await until_used(there, "test-quota", **{resource: str(before)})


@spec("ResourceQuota should create a ResourceQuota and capture the life of a secret.")
async def _secrets(there: Cluster) -> None:
    await _life(there, "Secret", "secrets", data={"data-1": "dmFsdWUtMQ=="})


@spec("ResourceQuota should create a ResourceQuota and capture the life of a configMap.")
async def _config_maps(there: Cluster) -> None:
    await _life(there, "ConfigMap", "configmaps", data={"a": "b"})


async def quota_pod(
    there: Cluster, name: str, requests: Object, limits: Object | None = None, **spec: Any
) -> Object:
    """Make a pod with requests and limits."""
    resources = {"requests": requests, "limits": limits or {}}
    container = {"name": "pause", "image": "pause", "resources": resources}
    return await there.make("Pod", name, spec={"containers": [container], **spec})


@spec("ResourceQuota should create a ResourceQuota and capture the life of a pod.")
async def _pods(there: Cluster) -> None:
    await limited(there)
    device = {EXTENDED: "2"}
    fits = {"cpu": "500m", "memory": "252Mi", "ephemeral-storage": "30Gi", **device}
    pod = await quota_pod(there, "test-pod", fits, device)
    used = {"resourcequotas": "1", "pods": "1", "cpu": "500m", "memory": "252Mi",
            "ephemeral-storage": "30Gi", f"requests.{EXTENDED}": "2"}  # fmt: skip
    await until_counted(there, "test-quota", used)
    with pytest.raises(ApiError, match="exceeded quota"):
        await quota_pod(there, "fail-pod", {"cpu": "600m", "memory": "100Mi"})
    more = {"cpu": "500m", "memory": "100Mi", "ephemeral-storage": "30Gi", **device}
    with pytest.raises(ApiError, match="exceeded quota"):
        await quota_pod(there, "fail-pod-for-extended-resource", more, device)
    less = {"cpu": "100m", "memory": "100Mi", "ephemeral-storage": "10Gi"}
    pod["spec"]["containers"][0]["resources"]["requests"] = less
    with pytest.raises(ApiError):
        await there.client.update(pod)
    await until_counted(there, "test-quota", used)
    await there.remove("Pod", "test-pod", gracePeriodSeconds=0)
    none = {name: "0" for name in used if name != "resourcequotas"}
    await until_counted(there, "test-quota", {"resourcequotas": "1", **none})


@spec(
    "ResourceQuota should create a ResourceQuota and capture the life of a replication controller."
)
async def _controllers(there: Cluster) -> None:
    await limited(there)
    await until_used(there, "test-quota", replicationcontrollers="0")
    await there.workload("ReplicationController", "test-rc", replicas=0)
    await until_used(there, "test-quota", replicationcontrollers="1")
    await there.remove("ReplicationController", "test-rc", propagationPolicy="Background")
    await until_used(there, "test-quota", replicationcontrollers="0")


@spec("ResourceQuota should create a ResourceQuota and capture the life of a replica set.")
async def _sets(there: Cluster) -> None:
    await limited(there)
    await until_counted(there, "test-quota", {"count/replicasets.apps": "0"})
    await there.workload("ReplicaSet", "test-rs", replicas=0)
    await until_counted(there, "test-quota", {"count/replicasets.apps": "1"})
    await there.remove("ReplicaSet", "test-rs")
    await until_counted(there, "test-quota", {"count/replicasets.apps": "0"})


async def _claims(there: Cluster, names: tuple[str, ...], **members: str) -> None:
    """A quota counts claims of volumes and what they request."""
    await limited(there)
    numbers = ("persistentvolumeclaims", "requests.storage")
    zero = {f"{name}{number}": "0" for name in names for number in numbers}
    one = {f"{name}{number}": amount for name in names
           for number, amount in zip(numbers, ("1", "1Gi"), strict=True)}  # fmt: skip
    await until_counted(there, "test-quota", zero)
    await there.make("PersistentVolumeClaim", "test-claim", spec={
        "accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"],
        "resources": {"requests": {"storage": "1Gi"}}, **members,
    })  # fmt: skip
    await until_counted(there, "test-quota", one)
    await there.remove("PersistentVolumeClaim", "test-claim")
    await until_counted(there, "test-quota", zero)


@spec(
    "ResourceQuota should create a ResourceQuota and capture the life of a persistent volume claim"
)
async def _plain_claims(there: Cluster) -> None:
    await _claims(there, ("",))


@spec(
    "ResourceQuota should create a ResourceQuota and capture the life of a persistent volume claim with a storage class"  # noqa: E501
)
async def _gold_claims(there: Cluster) -> None:
    await _claims(there, ("", f"{GOLD}/"), storageClassName="gold")


NONE = {"pods": "0", "requests.cpu": "0", "requests.memory": "0", "limits.cpu": "0",
        "limits.memory": "0"}  # fmt: skip
USED = {"pods": "1", "requests.cpu": "500m", "requests.memory": "200Mi", "limits.cpu": "1",
        "limits.memory": "400Mi"}  # fmt: skip


async def scoped(there: Cluster, name: str, scope: str, *, pods_alone: bool = False) -> None:
    """Make a quota with a scope, and wait until it was counted."""
    hard = {"pods": "5"}
    if not pods_alone:
        hard |= {"requests.cpu": "1", "requests.memory": "500Mi", "limits.cpu": "2",
                 "limits.memory": "1Gi"}  # fmt: skip
    await there.make(QUOTA, name, spec={"hard": hard, "scopes": [scope]})
    await until_used(there, name, pods="0")


async def _counted_by(there: Cluster, pod: str, one: str, other: str, used: Object) -> None:
    """A pod counts for one quota and not for the other, until it is deleted."""
    none = dict.fromkeys(used, "0")
    await until_counted(there, one, used)
    await trio.sleep(10)
    await until_counted(there, other, none)
    await there.remove("Pod", pod, gracePeriodSeconds=0)
    await until_counted(there, one, none)


@spec("ResourceQuota should verify ResourceQuota with terminating scopes.")
async def _terminating(there: Cluster) -> None:
    await scoped(there, "quota-terminating", "Terminating")
    await scoped(there, "quota-not-terminating", "NotTerminating")
    requests, limits = {"cpu": "500m", "memory": "200Mi"}, {"cpu": "1", "memory": "400Mi"}
    await quota_pod(there, "test-pod", requests, limits)
    await _counted_by(there, "test-pod", "quota-not-terminating", "quota-terminating", USED)
    await quota_pod(there, "terminating-pod", requests, limits, activeDeadlineSeconds=3600)
    await _counted_by(there, "terminating-pod", "quota-terminating", "quota-not-terminating", USED)


@spec("ResourceQuota should verify ResourceQuota with best effort scope.")
async def _best_effort(there: Cluster) -> None:
    await scoped(there, "quota-besteffort", "BestEffort", pods_alone=True)
    await scoped(there, "quota-not-besteffort", "NotBestEffort")
    one = {"pods": "1"}
    await quota_pod(there, "test-pod", {})
    await _counted_by(there, "test-pod", "quota-besteffort", "quota-not-besteffort", one)
    requests, limits = {"cpu": "500m", "memory": "200Mi"}, {"cpu": "1", "memory": "400Mi"}
    await quota_pod(there, "burstable-pod", requests, limits)
    await _counted_by(there, "burstable-pod", "quota-not-besteffort", "quota-besteffort", one)


@spec("ResourceQuota should be able to update and delete ResourceQuota.")
async def _changed(there: Cluster) -> None:
    await there.make(QUOTA, "test-quota", spec={"hard": {"cpu": "1", "memory": "500Mi"}})
    read = await there.get(QUOTA, "test-quota")
    assert read["spec"]["hard"] == {"cpu": "1", "memory": "500Mi"}
    hard = {"cpu": "2", "memory": "1Gi"}
    answer = await there.client.update({
        "apiVersion": "v1", "kind": QUOTA, "spec": {"hard": hard},
        "metadata": {"name": "test-quota", "namespace": "default"},
    })  # fmt: skip
    assert answer["spec"]["hard"] == (await there.get(QUOTA, "test-quota"))["spec"]["hard"] == hard
    await there.remove(QUOTA, "test-quota")
    assert await there.find(QUOTA, "test-quota") is None


@spec("ResourceQuota should manage the lifecycle of a ResourceQuota")
async def _lifecycle(there: Cluster) -> None:
    await there.make(QUOTA, "q", metadata={"labels": {"e2e-rq-label": "q"}},
                     spec={"hard": {"cpu": "1", "memory": "500Mi"}})  # fmt: skip
    stored = await there.get(QUOTA, "q")
    revision(stored)
    assert stored["spec"]["hard"] == {"cpu": "1", "memory": "500Mi"}
    (listed,) = await there.chosen(QUOTA, "e2e-rq-label=q")
    change = {"metadata": {"labels": {"q": "patched"}}, "spec": {"hard": {"memory": "750Mi"}}}
    patched = await there.patch(QUOTA, "q", change)
    assert patched["metadata"]["labels"]["q"] == "patched"
    assert patched["spec"]["hard"]["memory"] == "750Mi"
    assert revision(patched) > revision(listed)
    await there.remove_all(QUOTA, "e2e-rq-label=q")
    assert await there.find(QUOTA, "q") is None


async def _by_class(there: Cluster, operator: str, *values: str) -> None:
    """Make two classes, and a quota of one pod of some."""
    for name in ("one", "other"):
        await there.make("PriorityClass", name, value=1000)
    row: Object = {"scopeName": "PriorityClass", "operator": operator}
    if values:
        row["values"] = [*values]
    await there.make(QUOTA, "quota-priorityclass", spec={
        "hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [row]},
    })  # fmt: skip
    await until_used(there, "quota-priorityclass", pods="0")


async def _counts(there: Cluster, pod: str, class_: str, used: str) -> None:
    """Make a pod of a class; the quota then counts so many."""
    await quota_pod(there, pod, {}, priorityClassName=class_)
    await trio.sleep(5)
    await until_used(there, "quota-priorityclass", pods=used)


async def _leaves(there: Cluster, pod: str) -> None:
    """Delete a pod, after which the quota counts none."""
    await there.remove("Pod", pod, gracePeriodSeconds=0)
    await until_used(there, "quota-priorityclass", pods="0")


CLASSES = (
    "ResourceQuota should verify ResourceQuota's priority class scope (quota set to pod count: 1)"
)


@spec(f"{CLASSES} against a pod with same priority class.")
async def _same_class(there: Cluster) -> None:
    await _by_class(there, "In", "one")
    await _counts(there, "p", "one", "1")
    await _leaves(there, "p")


@spec(f"{CLASSES} against 2 pods with same priority class.")
async def _two_of_a_class(there: Cluster) -> None:
    await _by_class(there, "In", "one")
    await _counts(there, "p", "one", "1")
    with pytest.raises(ApiError, match="exceeded quota"):
        await quota_pod(there, "q", {}, priorityClassName="one")
    await _leaves(there, "p")


@spec(f"{CLASSES} against 2 pods with different priority class.")
async def _other_class(there: Cluster) -> None:
    await _by_class(there, "In", "other")
    await _counts(there, "p", "one", "0")
    await _counts(there, "q", "one", "0")
    await _leaves(there, "p")
    await _leaves(there, "q")


@spec(f"{CLASSES} against a pod with different priority class (ScopeSelectorOpNotIn).")
async def _not_in(there: Cluster) -> None:
    await _by_class(there, "NotIn", "one")
    await _counts(there, "p", "one", "0")
    await _leaves(there, "p")


@spec(f"{CLASSES} against a pod with different priority class (ScopeSelectorOpExists).")
async def _any_class(there: Cluster) -> None:
    await _by_class(there, "Exists")
    await _counts(there, "p", "one", "1")
    await _leaves(there, "p")


# ---------------------------------------------------------------------- watches

LABEL = "watch-this-configmap"


async def config_map(there: Cluster, name: str, label: str) -> Object:
    """Make a ConfigMap with the label that is watched."""
    return await there.make("ConfigMap", name, metadata={"labels": {LABEL: label}})


async def mutated(there: Cluster, name: str, value: str) -> Object:
    """Change the data of a ConfigMap."""
    return await there.updated(
        "ConfigMap", name, lambda read: read.update(data={"mutation": value})
    )


async def labelled(there: Cluster, name: str, label: str) -> Object:
    """Give a ConfigMap another label."""
    return await there.updated(
        "ConfigMap", name, lambda read: read["metadata"]["labels"].update({LABEL: label})
    )


def watched(
    there: Cluster, *labels: str, since: str = ""
) -> AbstractAsyncContextManager[Events[Object]]:
    """Watch ConfigMaps by their label."""
    selector = f"{LABEL} in ({','.join(labels)})"
    return there.client.watch(
        there.kind("ConfigMap"), "default", resource_version=since, label_selector=selector
    )


async def expect(events: Events[Object], type_: str, obj: Object | None = None) -> Event[Object]:
    """The next event of a watch is this one."""
    with trio.fail_after(60):
        event = await anext(events)
    assert event.type == type_
    if obj is not None:
        assert event.object == obj
    return event


async def expect_none(events: Events[Object]) -> None:
    """No event comes in ten seconds."""
    with trio.move_on_after(10) as scope:
        event = await anext(events)
        raise AssertionError(f"unexpected {event.type}")
    assert scope.cancelled_caught


@spec("Watchers should observe add, update, and delete watch notifications on configmaps")
async def _three_watches(there: Cluster) -> None:
    async with watched(there, "a") as a, watched(there, "b") as b, watched(there, "a", "b") as ab:
        both = (await config_map(there, "a", "a"), "ADDED")
        for events in (a, ab):
            await expect(events, both[1], both[0])
        for value in ("1", "2"):
            stored = await mutated(there, "a", value)
            for events in (a, ab):
                await expect(events, "MODIFIED", stored)
        await there.remove("ConfigMap", "a")
        for events in (a, ab):
            await expect(events, "DELETED")
        stored = await config_map(there, "b", "b")
        for events in (b, ab):
            await expect(events, "ADDED", stored)
        await there.remove("ConfigMap", "b")
        for events in (b, ab):
            await expect(events, "DELETED")
        await expect_none(a)


@spec("Watchers should be able to start watching from a specific resource version")
async def _from_version(there: Cluster) -> None:
    await config_map(there, "m", "x")
    first = await mutated(there, "m", "1")
    second = await mutated(there, "m", "2")
    await there.remove("ConfigMap", "m")
    async with watched(there, "x", since=first["metadata"]["resourceVersion"]) as events:
        await expect(events, "MODIFIED", second)
        await expect(events, "DELETED")


@spec(
    "Watchers should be able to restart watching from the last resource version observed by the previous watch"  # noqa: E501
)
async def _restarted(there: Cluster) -> None:
    async with watched(there, "x") as events:
        created = await config_map(there, "m", "x")
        await mutated(there, "m", "1")
        await expect(events, "ADDED", created)
        last = await expect(events, "MODIFIED")
    second = await mutated(there, "m", "2")
    async with watched(there, "x", since=last.object["metadata"]["resourceVersion"]) as events:
        await there.remove("ConfigMap", "m")
        await expect(events, "MODIFIED", second)
        await expect(events, "DELETED")


@spec(
    "Watchers should observe an object deletion if it stops meeting the requirements of the selector"  # noqa: E501
)
async def _relabelled(there: Cluster) -> None:
    async with watched(there, "x") as events:
        created = await config_map(there, "m", "x")
        first = await mutated(there, "m", "1")
        await labelled(there, "m", "wrong-value")
        await expect(events, "ADDED", created)
        await expect(events, "MODIFIED", first)
        await expect(events, "DELETED")
        await mutated(there, "m", "2")
        await expect_none(events)
        restored = await labelled(there, "m", "x")
        third = await mutated(there, "m", "3")
        await there.remove("ConfigMap", "m")
        await expect(events, "ADDED", restored)
        await expect(events, "MODIFIED", third)
        await expect(events, "DELETED")


@spec("Watchers should receive events on concurrent watches in same order")
async def _same_order(there: Cluster) -> None:
    kind, since = there.kind("ConfigMap"), await there.now("ConfigMap")

    async def produce() -> None:
        """Create, change and delete ConfigMaps, one after the other."""
        for number in count():
            await there.make("ConfigMap", f"m{number}")
            await trio.sleep(0.005)
            await mutated(there, f"m{number}", "1")
            await trio.sleep(0.005)
            if number >= 5:
                await there.remove("ConfigMap", f"m{number - 5}")

    async with trio.open_nursery() as nursery, AsyncExitStack() as stack:
        nursery.start_soon(produce)
        watches: list[Events[Object]] = []
        for _ in range(100):
            watch = there.client.watch(kind, "default", resource_version=since)
            watches.append(await stack.enter_async_context(watch))
            versions = []
            for events in watches:
                event = await anext(events)
                versions.append(event.object["metadata"]["resourceVersion"])
            since = versions[0]
            assert set(versions) == {since}
        nursery.cancel_scope.cancel()


# ---------------------------------------------------------------------- pages of lists

ALL = 400


async def _templates(there: Cluster) -> None:
    """Make many small objects."""
    pods = {"spec": {"containers": [{"name": "test", "image": "test2"}]}}
    for number in range(ALL):
        await there.make("PodTemplate", f"template-{number:04}", template=pods)


@spec("Servers with support for API chunking should return chunks of results for list calls")
async def _pages(there: Cluster) -> None:
    await _templates(there)
    path = "/api/v1/namespaces/default/podtemplates"
    async with there.server.connect() as client:
        for _ in range(3):
            names: list[str] = []
            version = token = ""
            while True:
                page = await client.request("GET", f"{path}?limit=17&continue={token}")
                body = page.json()
                meta = body["metadata"]
                assert len(body["items"]) <= 17
                version = version or meta["resourceVersion"]
                assert meta["resourceVersion"] == version
                names += [one["metadata"]["name"] for one in body["items"]]
                token = meta.get("continue") or ""
                if not token:
                    assert "remainingItemCount" not in meta
                    break
                assert meta["remainingItemCount"] + len(names) == ALL
            assert names == [f"template-{number:04}" for number in range(ALL)]
    kind = there.kind("PodTemplate")
    assert len((await there.client.list(kind, "default", limit=ALL + 1)).items) == ALL


# ---------------------------------------------------------------------- mirrored endpoints


async def _mirrored(there: Cluster, *addresses: str) -> None:
    """Wait until slices of the Service say these addresses and nothing else."""

    async def mirrored() -> object:
        slices = await there.chosen(
            "EndpointSlice", "kubernetes.io/service-name=example-custom-endpoints"
        )
        rows = [(one["endpoints"][0]["addresses"], [port["port"] for port in one["ports"]])
                for one in slices if len(one["endpoints"]) == 1]  # fmt: skip
        return len(rows) == len(slices) and rows == [([one], [80]) for one in addresses]

    await there.until(mirrored, 12)


@spec(
    "EndpointSliceMirroring should mirror a custom Endpoints resource through create update and delete"  # noqa: E501
)
async def _mirroring(there: Cluster) -> None:
    name = "example-custom-endpoints"
    await there.make("Service", name, spec={
        "ports": [{"name": "example", "port": 80, "protocol": "TCP"}],
    })  # fmt: skip
    endpoints: Object = {
        "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": name, "namespace": "default"},
        "subsets": [{"ports": [{"port": 80}], "addresses": [{"ip": "10.1.2.3"}]}],
    }  # fmt: skip
    await there.client.create(endpoints)
    await _mirrored(there, "10.1.2.3")
    endpoints["subsets"][0]["addresses"] = [{"ip": "10.2.3.4"}]
    await there.client.update(endpoints)
    await _mirrored(there, "10.2.3.4")
    await there.remove("Endpoints", name)
    await _mirrored(there)


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_the_machinery(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
