"""What Kubernetes' e2e specs ask of the garbage collector and of namespaces that are deleted.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/apimachinery (1.36); nothing else.
"""

from __future__ import annotations

from typing import Any

import pytest
import trio
from simulated import Cluster, cluster, revision
from specs import Specs, until_observed
from trio.testing import MockClock

from kubetrio.machinery.status import ApiError

Object = dict[str, Any]
SPECS = spec = Specs()
RC = "ReplicationController"


def precondition(stored: Object) -> Object:
    """Options that delete this object and no other of its name."""
    return {"preconditions": {"uid": stored["metadata"]["uid"]}}


async def remains(there: Cluster, **counts: int) -> bool:
    """Whether so many objects of kinds are there."""
    return {kind: len(await there.names(kind)) for kind in counts} == counts


async def until_remains(there: Cluster, **counts: int) -> None:
    """Wait until so many objects of kinds are there."""

    async def exact() -> bool:
        return await remains(there, **counts)

    await there.until(exact, 180)


async def until_replicas(there: Cluster, name: str, count: int) -> None:
    """Wait until a ReplicationController says that it has so many pods."""

    async def counts() -> object:
        return (await there.get(RC, name))["status"].get("replicas") == count

    await there.until(counts)


@spec("Garbage collector should delete pods created by rc when not orphaning")
async def _background(there: Cluster) -> None:
    rc = await there.workload(RC, "w", replicas=2)

    async def some() -> object:
        return bool(await there.names("Pod"))

    await there.until(some)
    await there.remove(RC, "w", propagationPolicy="Background", **precondition(rc))
    await until_remains(there, ReplicationController=0, Pod=0)


@spec("Garbage collector should orphan pods created by rc if delete options say so")
async def _orphans(there: Cluster) -> None:
    rc = await there.workload(RC, "w", replicas=100)
    await until_replicas(there, "w", 100)
    await there.remove(RC, "w", propagationPolicy="Orphan", **precondition(rc))
    await until_remains(there, ReplicationController=0)
    await trio.sleep(30)
    assert await remains(there, Pod=100)


@spec("Garbage collector should orphan pods created by rc if deleteOptions.OrphanDependents is nil")
async def _orphans_by_default(there: Cluster) -> None:
    rc = await there.workload(RC, "w", replicas=2)
    await until_replicas(there, "w", 2)
    await there.remove(RC, "w", **precondition(rc))
    await trio.sleep(30)
    assert await remains(there, Pod=2)


async def _deployed(there: Cluster) -> Object:
    """Make a Deployment, and wait until it has its ReplicaSet; returns it."""
    deployment = await there.workload("Deployment", "w", replicas=2)

    async def some() -> object:
        return bool(await there.names("ReplicaSet"))

    await there.until(some)
    return deployment


@spec("Garbage collector should delete RS created by deployment when not orphaning")
async def _sets(there: Cluster) -> None:
    deployment = await _deployed(there)
    await there.remove("Deployment", "w", propagationPolicy="Background",
                       **precondition(deployment))  # fmt: skip
    await until_remains(there, Deployment=0, ReplicaSet=0, Pod=0)


@spec(
    "Garbage collector should orphan RS created by deployment when deleteOptions.PropagationPolicy is Orphan"  # noqa: E501
)
async def _orphan_sets(there: Cluster) -> None:
    deployment = await _deployed(there)
    (name,) = await there.names("ReplicaSet")

    async def counted() -> object:
        stored = await until_observed(there, "ReplicaSet", name)
        return stored["status"]["replicas"] == 2

    await there.until(counted)
    await there.remove("Deployment", "w", propagationPolicy="Orphan",
                       **precondition(deployment))  # fmt: skip
    await until_remains(there, Deployment=0)
    assert await remains(there, Deployment=0, ReplicaSet=1, Pod=2)
    (stored,) = await there.all_of("ReplicaSet")
    assert not stored["metadata"].get("ownerReferences")


@spec(
    "Garbage collector should keep the rc around until all its pods are deleted if the deleteOptions says so"  # noqa: E501
)
async def _foreground(there: Cluster) -> None:
    rc = await there.workload(RC, "w", replicas=100, said={"stop-seconds": "5"})
    await until_replicas(there, "w", 100)
    await there.remove(RC, "w", propagationPolicy="Foreground", **precondition(rc))

    async def gone() -> object:
        there_still = await there.find(RC, "w") is not None
        if there_still:
            return False
        assert await there.names("Pod") == []
        return True

    await there.until(gone, 90)


@spec(
    "Garbage collector should not delete dependents that have both valid owner and owner that's waiting for dependents to be deleted"  # noqa: E501
)
async def _two_owners(there: Cluster) -> None:
    first = await there.workload(RC, "goes", replicas=100)
    second = await there.workload(RC, "stays", replicas=0)
    await until_replicas(there, "goes", 100)
    owner = {"apiVersion": "v1", "kind": RC, "name": "stays", "uid": second["metadata"]["uid"]}
    half = (await there.names("Pod"))[:50]
    for name in half:
        await there.patch("Pod", name, {"metadata": {"ownerReferences": [owner]}})
    await there.remove(RC, "goes", propagationPolicy="Foreground", **precondition(first))

    async def gone() -> object:
        return await there.find(RC, "goes") is None

    await there.until(gone, 90)
    pods = await there.all_of("Pod")
    assert [one["metadata"]["name"] for one in pods] == half
    for pod in pods:
        assert "deletionTimestamp" not in pod["metadata"]
        assert [one["name"] for one in pod["metadata"]["ownerReferences"]] == ["stays"]


@spec("Garbage collector should not be blocked by dependency circle")
async def _circle(there: Cluster) -> None:
    pods = [await there.pod(f"pod{number}") for number in (1, 2, 3)]
    for place, pod in enumerate(pods):
        meta = pods[place - 1]["metadata"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"],
                 "controller": True, "blockOwnerDeletion": True}  # fmt: skip
        change = {"metadata": {"ownerReferences": [owner]}}
        await there.patch("Pod", pod["metadata"]["name"], change)
    await there.remove("Pod", "pod1", propagationPolicy="Foreground", **precondition(pods[0]))
    await until_remains(there, Pod=0)


@spec("Garbage collector should delete jobs and pods created by cronjob")
async def _cron(there: Cluster) -> None:
    annotations = {"simulation.kubetrio.io/run-seconds": "300"}
    pods = {"metadata": {"annotations": annotations},
            "spec": {"restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "c", "image": "i"}]}}  # fmt: skip
    await there.make("CronJob", "simple", spec={
        "schedule": "*/1 * * * ?",
        "jobTemplate": {"spec": {"parallelism": 1, "completions": 1, "template": pods}},
    })  # fmt: skip

    async def some() -> object:
        return bool(await there.names("Job"))

    await there.until(some, 120)
    await there.remove("CronJob", "simple", propagationPolicy="Background")
    await until_remains(there, CronJob=0, Job=0, Pod=0)


def _definition() -> Object:
    """A definition of objects without a schema of their own."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return {"group": "gc.example.com", "scope": "Cluster", "names": names, "versions": [version]}


async def _custom(there: Cluster, policy: str) -> tuple[Any, Object]:
    """Make an owner and a dependent of a custom kind, and delete the owner."""
    await there.make("CustomResourceDefinition", "widgets.gc.example.com", spec=_definition())
    await there.until_condition("CustomResourceDefinition", "widgets.gc.example.com", "Established")

    async def served() -> object:
        try:
            return there.client.kind("gc.example.com/v1", "Widget")
        except ApiError:
            return None

    await there.until(served)
    kind = there.client.kind("gc.example.com/v1", "Widget")
    body: Object = {"apiVersion": "gc.example.com/v1", "kind": "Widget"}
    owner = await there.client.create({**body, "metadata": {"name": "owner"}})
    reference = {**body, "name": "owner", "uid": owner["metadata"]["uid"]}
    dependent = {**body, "metadata": {"name": "dependent", "ownerReferences": [reference]}}
    return kind, await _delete_owner(there, kind, dependent, policy)


async def _delete_owner(there: Cluster, kind: Any, dependent: Object, policy: str) -> Object:
    created = await there.client.create(dependent)
    await trio.sleep(30)
    await there.client.delete(kind, "owner", propagationPolicy=policy)
    return created


@spec("Garbage collector should support cascading deletion of custom resources")
async def _custom_cascade(there: Cluster) -> None:
    kind, _ = await _custom(there, "Foreground")

    async def gone() -> object:
        return not (await there.client.list(kind)).items

    await there.until(gone)


@spec("Garbage collector should support orphan deletion of custom resources")
async def _custom_orphan(there: Cluster) -> None:
    kind, dependent = await _custom(there, "Orphan")

    async def alone() -> object:
        items = (await there.client.list(kind)).items
        return [one["metadata"]["name"] for one in items] == ["dependent"]

    await there.until(alone)
    await trio.sleep(30)
    (stored,) = (await there.client.list(kind)).items
    assert stored["metadata"]["uid"] == dependent["metadata"]["uid"]
    assert not stored["metadata"].get("ownerReferences")


# ---------------------------------------------------------------------- namespaces


async def until_gone(there: Cluster, name: str, limit_s: float = 90) -> None:
    """Wait until a namespace is gone."""

    async def gone() -> object:
        return await there.find("Namespace", name) is None

    await there.until(gone, limit_s)


async def namespace(there: Cluster, name: str) -> Object:
    """Make a namespace, and wait until it has its account."""
    stored = await there.make("Namespace", name)

    async def account() -> object:
        accounts = await there.chosen("ServiceAccount", "", name)
        return [one["metadata"]["name"] for one in accounts] == ["default"]

    await there.until(account)
    return stored


async def pod_in(there: Cluster, name: str, **meta: Any) -> None:
    """Make a pod in a namespace, and wait until it runs."""
    await there.make("Pod", "test-pod", metadata={"namespace": name, **meta},
                     spec={"containers": [{"name": "nginx", "image": "pause"}]})  # fmt: skip

    async def runs() -> object:
        (pod,) = await there.chosen("Pod", "", name)
        return pod["status"]["phase"] == "Running"

    await there.until(runs)


@spec("Namespaces should ensure that all pods are removed when a namespace is deleted")
async def _pods(there: Cluster) -> None:
    await namespace(there, "nsdeletetest")
    await pod_in(there, "nsdeletetest")
    await there.remove("Namespace", "nsdeletetest")
    await until_gone(there, "nsdeletetest")
    await there.make("Namespace", "nsdeletetest")
    assert await there.chosen("Pod", "", "nsdeletetest") == []


@spec("Namespaces should ensure that all services are removed when a namespace is deleted")
async def _services(there: Cluster) -> None:
    await namespace(there, "nsdeletetest")
    selector = {"foo": "bar", "baz": "blah"}
    await there.make("Service", "test-service", metadata={"namespace": "nsdeletetest"},
                     spec={"selector": selector, "ports": [{"port": 80, "targetPort": 80}]},
                     )  # fmt: skip
    await there.remove("Namespace", "nsdeletetest")
    await until_gone(there, "nsdeletetest", 60)
    await there.make("Namespace", "nsdeletetest")
    assert await there.chosen("Service", "", "nsdeletetest") == []


async def _extinguish(there: Cluster, most: int) -> None:
    """Delete a hundred namespaces; at most so many are left after 150 seconds."""
    for number in range(100):
        await there.make("Namespace", f"nslifetest-{number}")
    await trio.sleep(10)
    names = [name for name in await there.names("Namespace") if "nslifetest" in name]
    assert len(names) == 100
    for name in names:
        await there.remove("Namespace", name)

    async def few() -> object:
        return sum("nslifetest" in name for name in await there.names("Namespace")) <= most

    await there.until(few, 150)


@spec("Namespaces should delete fast enough (90 percent of 100 namespaces in 150 seconds)")
async def _fast(there: Cluster) -> None:
    await _extinguish(there, 10)


@spec("Namespaces should always delete fast (ALL of 100 namespaces in 150 seconds)")
async def _all_fast(there: Cluster) -> None:
    await _extinguish(there, 0)


@spec("Namespaces should patch a Namespace")
async def _patched(there: Cluster) -> None:
    created = await there.make("Namespace", "nspatchtest")
    revision(created)
    change = {"metadata": {"labels": {"testLabel": "testValue"}}}
    assert revision(await there.patch("Namespace", "nspatchtest", change)) > revision(created)
    labels = (await there.get("Namespace", "nspatchtest"))["metadata"]["labels"]
    assert labels["testLabel"] == "testValue"


@spec("Namespaces should apply changes to a namespace status")
async def _status(there: Cluster) -> None:
    await there.make("Namespace", "n")
    assert (await there.stored_status("Namespace", "n"))["status"]["phase"] == "Active"
    condition = {"type": "StatusPatch", "status": "True", "reason": "E2E",
                 "message": "Patched by an e2e test"}  # fmt: skip
    change = {"metadata": {"annotations": {"e2e-patched-ns-status": "n"}},
              "status": {"conditions": [condition]}}  # fmt: skip
    patched = await there.patch("Namespace", "n", change, how="merge", below="status")
    assert patched["metadata"]["annotations"]["e2e-patched-ns-status"] == "n"
    last = patched["status"]["conditions"][-1]
    assert (last["reason"], last["message"]) == ("E2E", "Patched by an e2e test")
    more = {**condition, "type": "StatusUpdate", "message": "Updated by an e2e test"}
    updated = await there.updated(
        "Namespace", "n", lambda read: read["status"]["conditions"].append(more), "status"
    )
    last = updated["status"]["conditions"][-1]
    assert (last["type"], last["message"]) == ("StatusUpdate", "Updated by an e2e test")
    assert len(updated["status"]["conditions"]) == 2


@spec("Namespaces should apply an update to a Namespace")
async def _updated(there: Cluster) -> None:
    await there.make("Namespace", "n")
    updated = await there.updated(
        "Namespace", "n", lambda read: read["metadata"]["labels"].update(n="updated")
    )
    assert updated["metadata"]["labels"]["n"] == "updated"


@spec("Namespaces should apply a finalizer to a Namespace")
async def _finalizer(there: Cluster) -> None:
    ours = "e2e.example.com/fakeFinalizer"
    await there.make("Namespace", "n")
    updated = await there.updated(
        "Namespace", "n", lambda read: read["spec"]["finalizers"].append(ours), "finalize"
    )
    assert ours in updated["spec"]["finalizers"]
    updated = await there.updated(
        "Namespace", "n", lambda read: read["spec"]["finalizers"].remove(ours), "finalize"
    )
    assert ours not in updated["spec"]["finalizers"]


@spec("OrderedNamespaceDeletion namespace deletion should delete pod first")
async def _ordered(there: Cluster) -> None:
    name = "nsdeletetest"
    pod_kind, map_kind = there.kind("Pod"), there.kind("ConfigMap")
    await namespace(there, name)
    await pod_in(there, name, finalizers=["e2e.example.com/finalizer"])
    await there.make("ConfigMap", "test-configmap", metadata={"namespace": name},
                     data={"key": "value"})  # fmt: skip
    await there.remove("Namespace", name)

    async def processed() -> object:
        stored = await there.get("Namespace", name)
        types = [one["type"] for one in stored["status"].get("conditions") or ()]
        phase = stored["status"]["phase"]
        return phase == "Terminating" and "NamespaceDeletionContentFailure" in types

    await there.until(processed)

    async def marked() -> object:
        await there.client.get(map_kind, "test-configmap", name)
        pod = await there.client.get(pod_kind, "test-pod", name)
        return "deletionTimestamp" in pod["metadata"]

    await there.until(marked)
    change = {"metadata": {"finalizers": None}}
    await there.client.patch(pod_kind, "test-pod", change, name)
    await until_gone(there, name, 900)
    assert await there.chosen("Pod", "", name) == []


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_garbage(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
