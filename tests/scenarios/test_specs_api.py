"""What Kubernetes' e2e specs for apps ask of the API of workloads: verbs, statuses, watches.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/apps (1.36); nothing else of them.
"""

from __future__ import annotations

from typing import Any

import pytest
from simulated import Cluster, cluster, revision
from specs import Specs, until_complete, until_observed, until_running
from trio.testing import MockClock

from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_time

Object = dict[str, Any]
SPECS = spec = Specs()


def label(stored: Object, name: str) -> str | None:
    """A label of an object, None where it has none of that name."""
    labels: dict[str, str] = stored["metadata"].get("labels") or {}
    return labels.get(name)


def annotation(stored: Object, name: str) -> str | None:
    """An annotation of an object, None where it has none of that name."""
    annotations: dict[str, str] = stored["metadata"].get("annotations") or {}
    return annotations.get(name)


def counted(stored: Object, **numbers: int) -> bool:
    """Whether a status says certain numbers; a number that is missing is 0."""
    status = stored.get("status") or {}
    return all((status.get(name) or 0) == number for name, number in numbers.items())


def pod_spec(stored: Object) -> Object:
    """The spec of the pods of a workload."""
    spec: Object = stored["spec"]["template"]["spec"]
    return spec


def with_condition(stored: Object, **members: str) -> bool:
    """Whether a status has a condition with certain members."""
    conditions = (stored.get("status") or {}).get("conditions") or ()
    return any(members.items() <= one.items() for one in conditions)


async def statuses_are_stored(there: Cluster, kind: str, name: str, since: str, sel: str) -> None:
    """Read, update and patch the status of a workload, and see each write in a watch."""
    stored = await there.stored_status(kind, name)
    assert stored["kind"] == kind
    assert "status" in stored
    ours = {"type": "StatusUpdate", "status": "True", "reason": "E2E",
            "message": "Set from e2e test"}  # fmt: skip

    def add(read: Object) -> None:
        conditions = read["status"].get("conditions") or []
        read["status"]["conditions"] = [*conditions, ours]

    answer = await there.updated(kind, name, add, "status")
    assert with_condition(answer, **ours)
    mine = {one: ours[one] for one in ("type", "reason", "message")}

    def ours_is_there(_: str, one: Object) -> bool:
        return one["metadata"]["name"] == name and with_condition(one, **mine)

    await there.until_event(kind, since, ours_is_there, selector=sel)
    patch = {"status": {"conditions": [{"type": "StatusPatched", "status": "True"}]}}
    await there.patch(kind, name, patch, how="merge", below="status")

    def patch_is_there(_: str, one: Object) -> bool:
        return one["metadata"]["name"] == name and with_condition(one, type="StatusPatched")

    await there.until_event(kind, since, patch_is_there, selector=sel)


# ---------------------------------------------------------------------- Deployment

STATIC = "test-deployment-static=true"


async def _rolled_to(
    there: Cluster, since: str, replicas: int, image: str = "", grace_s: int | None = None
) -> None:
    """Wait in a watch until a Deployment has so many pods, all new, ready and available."""

    def rolled(_: str, stored: Object) -> bool:
        numbers = counted(stored, readyReplicas=replicas, updatedReplicas=replicas,
                          unavailableReplicas=0)  # fmt: skip
        pods = pod_spec(stored)
        images = not image or pods["containers"][0]["image"] == image
        grace = grace_s is None or pods["terminationGracePeriodSeconds"] == grace_s
        return label(stored, "test-deployment-static") == "true" and numbers and images and grace

    await there.until_event("Deployment", since, rolled, selector=STATIC)


async def _patch_and_scale(there: Cluster, before: str, created: Object) -> None:
    """Patch a Deployment, with another image and size."""
    pods = {"terminationGracePeriodSeconds": 2, "containers": [{"name": "c", "image": "pause"}]}
    change = {"metadata": {"labels": {"test-deployment": "patched"}},
              "spec": {"replicas": 1, "template": {"spec": pods}}}  # fmt: skip
    patched = await there.patch("Deployment", "d", change)
    assert revision(patched) > revision(created)
    await there.until_event("Deployment", before, lambda type_, _: type_ == "MODIFIED",
                            selector=STATIC)  # fmt: skip
    await _rolled_to(there, before, 1, "pause", 2)


async def _update_whole(there: Cluster, written: Object) -> str:
    """Replace a Deployment by what it was created with and another image; returns the revision."""
    since = await there.now("Deployment", STATIC)
    (listed,) = await there.chosen("Deployment", STATIC)
    assert (listed["metadata"]["name"], listed["metadata"]["namespace"]) == ("d", "default")
    new: Object = {**written, "metadata": {**written["metadata"]}}
    new["metadata"]["labels"] = {"test-deployment-static": "true", "test-deployment": "updated"}
    pod_spec(new)["containers"][0]["image"] = "agnhost"
    await there.client.update(new)
    await there.until_event("Deployment", since, lambda type_, _: type_ == "MODIFIED",
                            selector=STATIC)  # fmt: skip
    return since


async def _status_says(there: Cluster) -> None:
    """The subresource shows the Deployment as it was updated."""
    stored = await there.stored_status("Deployment", "d")
    assert pod_spec(stored)["containers"][0]["image"] == "agnhost"
    assert label(stored, "test-deployment") == "updated"


@spec("Deployment should run the lifecycle of a Deployment")
async def _deployment(there: Cluster) -> None:
    before = await there.now("Deployment", STATIC)
    pods = {"terminationGracePeriodSeconds": 1}
    written = there.written("Deployment", "d", labels={"test-deployment-static": "true"},
                            replicas=2, pods=pods)  # fmt: skip
    created = await there.client.create(written)
    revision(created)
    await there.until_event("Deployment", before, lambda type_, _: type_ == "ADDED",
                            selector=STATIC)  # fmt: skip
    await there.until_event(
        "Deployment", before, lambda _, one: counted(one, readyReplicas=2), selector=STATIC
    )
    await _patch_and_scale(there, before, created)
    since = await _update_whole(there, written)
    await _status_says(there)
    await _rolled_to(there, since, 2)
    none = {"readyReplicas": 0, "availableReplicas": 0}
    await there.patch("Deployment", "d", {"status": none}, below="status")
    await there.until_event(
        "Deployment", since, lambda type_, one: type_ == "MODIFIED" and counted(one, **none),
        selector=STATIC,
    )  # fmt: skip
    await _status_says(there)
    await _rolled_to(there, since, 2, "agnhost")
    await there.remove_all("Deployment", STATIC, gracePeriodSeconds=1)
    await there.until_event("Deployment", since, lambda type_, _: type_ == "DELETED",
                            selector=STATIC, limit_s=60)  # fmt: skip


@spec("Deployment should validate Deployment Status endpoints")
async def _deployment_status(there: Cluster) -> None:
    since = await there.now("Deployment", "e2e=testing")
    await there.workload("Deployment", "d", labels={"e2e": "testing"}, replicas=1)

    async def complete() -> object:
        stored = await there.get("Deployment", "d")
        numbers = counted(stored, replicas=1, updatedReplicas=1, availableReplicas=1)
        return numbers and annotation(stored, "deployment.kubernetes.io/revision") == "1"

    await there.until(complete)
    (current,) = await there.all_of("ReplicaSet")
    assert pod_spec(current)["containers"][0]["image"] == "i"
    assert annotation(current, "deployment.kubernetes.io/revision") == "1"
    await until_observed(there, "Deployment", "d")
    await statuses_are_stored(there, "Deployment", "d", since, "e2e=testing")


# ---------------------------------------------------------------------- ReplicaSet and its like


@spec("ReplicaSet Replace and Patch tests")
async def _replace_and_patch(there: Cluster) -> None:
    since = await there.now("ReplicaSet", "test-rs=patched")
    created = await there.workload("ReplicaSet", "w", replicas=1)
    revision(created)
    await until_running(there, "w", 1)
    await there.updated("ReplicaSet", "w", lambda read: read["spec"].update(replicas=2))
    pods = {"terminationGracePeriodSeconds": 0, "containers": [{"name": "w", "image": "pause"}]}
    change = {"metadata": {"labels": {"test-rs": "patched"}},
              "spec": {"replicas": 3, "template": {"spec": pods}}}  # fmt: skip
    patched = await there.patch("ReplicaSet", "w", change)
    assert revision(patched) > revision(created)

    def ready(_: str, stored: Object) -> bool:
        spec = pod_spec(stored)
        return (
            stored["metadata"]["name"] == "w"
            and counted(stored, readyReplicas=3, availableReplicas=3)
            and spec["containers"][0]["image"] == "pause"
            and spec["terminationGracePeriodSeconds"] == 0
        )

    await there.until_event("ReplicaSet", since, ready, selector="test-rs=patched")


@spec("ReplicaSet should list and delete a collection of ReplicaSets")
async def _replica_sets(there: Cluster) -> None:
    await there.workload("ReplicaSet", "w", labels={"e2e": "some"}, replicas=3)
    await until_running(there, "w", 3)
    assert len(await there.chosen("ReplicaSet", "e2e=some")) == 1
    await there.remove_all("ReplicaSet", "e2e=some", gracePeriodSeconds=1)
    assert await there.chosen("ReplicaSet", "e2e=some") == []


@spec("ReplicaSet should validate Replicaset Status endpoints")
async def _replica_set_status(there: Cluster) -> None:
    selector = "name=sample-pod,pod=httpd"
    since = await there.now("ReplicaSet", selector)
    await there.workload("ReplicaSet", "w", labels={"name": "sample-pod", "pod": "httpd"},
                         replicas=1)  # fmt: skip
    await until_running(there, "w", 1)
    await statuses_are_stored(there, "ReplicaSet", "w", since, selector)


@spec("ReplicationController should test the lifecycle of a ReplicationController")
async def _controller_lifecycle(there: Cluster) -> None:
    kind, selector = "ReplicationController", "test-rc-static=true"
    since = await there.now(kind, selector)

    async def seen(type_: str, **numbers: int) -> None:
        """Wait, after what was seen before, for an event with these numbers."""
        nonlocal since

        def fits(of: str, stored: Object) -> bool:
            return (not type_ or of == type_) and counted(stored, **numbers)

        _, stored = await there.until_event(kind, since, fits, selector=selector)
        since = stored["metadata"]["resourceVersion"]

    created = await there.workload(kind, "w", labels={"test-rc-static": "true"}, replicas=1)
    revision(created)
    await seen("ADDED")
    await seen("", replicas=1, readyReplicas=1)
    patched = await there.patch(kind, "w", {"metadata": {"labels": {"test-rc": "patched"}}})
    assert label(patched, "test-rc") == "patched"
    assert revision(patched) > revision(created)
    await seen("MODIFIED")
    none = {"readyReplicas": 0, "availableReplicas": 0}
    answer = await there.patch(kind, "w", {"status": none}, below="status")
    assert counted(answer, readyReplicas=0)
    await seen("MODIFIED")
    await seen("", replicas=1)
    assert counted(await there.stored_status(kind, "w"), replicas=1)
    await there.patch(kind, "w", {"spec": {"replicas": 2}}, below="scale")
    await seen("MODIFIED")
    await seen("", replicas=2, readyReplicas=2)
    assert label(await there.get(kind, "w"), "test-rc") == "patched"
    fewer = {"availableReplicas": 1, "readyReplicas": 1}
    await there.updated(kind, "w", lambda read: read["status"].update(fewer), "status")
    await seen("MODIFIED")
    (listed,) = await there.chosen(kind, selector)
    assert listed["metadata"]["labels"] == {"test-rc-static": "true", "test-rc": "patched"}
    await there.remove_all(kind, selector)
    await seen("DELETED")


# ---------------------------------------------------------------------- DaemonSet


async def _on_all_nodes(there: Cluster) -> None:
    """Wait until the DaemonSet runs on all nodes and says so."""
    await there.until_ready("d", 2)
    nodes = {one["spec"]["nodeName"] for one in await there.all_of("Pod", "d")}
    assert nodes == {"node-0", "node-1"}

    async def counts() -> object:
        return counted(await there.get("DaemonSet", "d"), desiredNumberScheduled=2,
                       currentNumberScheduled=2, numberReady=2)  # fmt: skip

    await there.until(counts)


@spec("Daemon set should list and delete a collection of DaemonSets")
async def _daemon_sets(there: Cluster) -> None:
    await there.workload("DaemonSet", "d", labels={"daemonset-name": "d"})
    await _on_all_nodes(there)
    assert len(await there.chosen("DaemonSet", "daemonset-name=d")) == 1
    await there.remove_all("DaemonSet", "daemonset-name=d", gracePeriodSeconds=1)
    assert await there.chosen("DaemonSet", "daemonset-name=d") == []


@spec("Daemon set should verify changes to a daemon set status")
async def _daemon_status(there: Cluster) -> None:
    since = await there.now("DaemonSet", "daemonset-name=d")
    await there.workload("DaemonSet", "d", labels={"daemonset-name": "d"})
    await _on_all_nodes(there)
    await statuses_are_stored(there, "DaemonSet", "d", since, "daemonset-name=d")


@spec("ControllerRevision should manage the lifecycle of a ControllerRevision")
async def _revisions(there: Cluster) -> None:
    kind = "ControllerRevision"
    selector = "app=d"
    await there.workload("DaemonSet", "d", labels={"app": "d"})
    await _on_all_nodes(there)
    (daemons,) = await there.chosen("DaemonSet", selector)
    (first,) = await there.chosen(kind, selector)
    owner = first["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["uid"]) == ("DaemonSet", daemons["metadata"]["uid"])
    name = first["metadata"]["name"]
    assert (await there.get(kind, name))["data"] == first["data"]
    patched = await there.patch(kind, name, {"metadata": {"labels": {name: "patched"}}})
    assert label(patched, name) == "patched"
    assert revision(patched) > revision(first)

    async def two() -> object:
        return len(await there.chosen(kind, selector)) == 2

    async def one() -> object:
        return len(await there.chosen(kind, selector)) == 1

    labels = {"app": "d", "controller-revision-hash": "other"}
    meta = {"labels": labels, "ownerReferences": [owner]}
    await there.make(kind, "d-other", metadata=meta, data=first["data"],
                     revision=first["revision"] + 1)  # fmt: skip
    await there.until(two, 60)
    await there.remove(kind, name)
    await there.until(one, 60)
    (current,) = await there.all_of(kind)
    name = current["metadata"]["name"]

    def mark(read: Object) -> None:
        read["metadata"]["labels"][name] = "updated"

    assert label(await there.updated(kind, name, mark), name) == "updated"
    pods = {"terminationGracePeriodSeconds": 1}
    patch = {"spec": {"template": {"spec": pods}}, "updateStrategy": {"type": "RollingUpdate"}}
    await there.patch("DaemonSet", "d", patch)
    await there.until(two, 60)
    await there.remove_all(kind, f"{name}=updated")
    await there.until(one, 60)
    (last,) = await there.all_of(kind)
    assert last["revision"] == 3


# ---------------------------------------------------------------------- StatefulSet


@spec("StatefulSet should list, patch and delete a collection of StatefulSets")
async def _stateful_sets(there: Cluster) -> None:
    created = await there.workload("StatefulSet", "s", replicas=1)
    revision(created)
    await there.until_ready("s", 1)
    await until_observed(there, "StatefulSet", "s")
    pods = {"terminationGracePeriodSeconds": 1, "containers": [{"name": "s", "image": "pause"}]}
    change = {"metadata": {"labels": {"test-ss": "patched"}},
              "spec": {"replicas": 2, "template": {"spec": pods}}}  # fmt: skip
    patched = await there.patch("StatefulSet", "s", change)
    assert revision(patched) > revision(created)
    stored = await there.get("StatefulSet", "s")
    assert stored["spec"]["replicas"] == 2
    assert pod_spec(stored)["containers"][0]["image"] == "pause"
    await there.until_ready("s", 2)
    await until_observed(there, "StatefulSet", "s")
    assert len(await there.chosen("StatefulSet", "test-ss=patched")) == 1
    await there.remove_all("StatefulSet", "test-ss=patched", gracePeriodSeconds=1)
    assert await there.chosen("StatefulSet", "test-ss=patched") == []


@spec("StatefulSet should validate Statefulset Status endpoints")
async def _stateful_status(there: Cluster) -> None:
    since = await there.now("StatefulSet", "e2e=testing")
    await there.workload("StatefulSet", "s", replicas=1)
    await there.until_ready("s", 1)
    await until_observed(there, "StatefulSet", "s")
    await there.patch("StatefulSet", "s", {"metadata": {"labels": {"e2e": "testing"}}})
    await statuses_are_stored(there, "StatefulSet", "s", since, "e2e=testing")


# ---------------------------------------------------------------------- Job, CronJob


@spec("Job should apply changes to a job status")
async def _job_status(there: Cluster) -> None:
    created = await there.workload("Job", "j", said={"run-seconds": "100000"}, parallelism=2,
                                   completions=4)  # fmt: skip
    await until_running(there, "j", 2)

    def time_of(stored: Object) -> str:
        (condition,) = (one for one in stored["status"]["conditions"]
                        if one["type"] == "CustomConditionType")  # fmt: skip
        return str(condition["lastTransitionTime"])

    first = format_time(there.server.env.now())
    condition = {"type": "CustomConditionType", "status": "True", "lastTransitionTime": first}
    patch = {"metadata": {"annotations": {"patchedstatus": "true"}},
             "status": {"conditions": [condition]}}  # fmt: skip
    patched = await there.patch("Job", "j", patch, how="merge", below="status")
    assert time_of(patched) == first
    assert annotation(patched, "patchedstatus") == "true"
    second = format_time(there.server.env.now() + 1)

    def later(read: Object) -> None:
        for one in read["status"]["conditions"]:
            if one["type"] == "CustomConditionType":
                one["lastTransitionTime"] = second

    assert time_of(await there.updated("Job", "j", later, "status")) == second
    stored = await there.stored_status("Job", "j")
    assert stored["metadata"]["uid"] == created["metadata"]["uid"]


@spec("Job should manage the lifecycle of a job")
async def _job_lifecycle(there: Cluster) -> None:
    selector = "e2e-job-label=j"
    since = await there.now("Job", selector)
    created = await there.workload("Job", "j", labels={"e2e-job-label": "j"}, parallelism=2,
                                   completions=4, suspend=True)  # fmt: skip
    patched = await there.patch("Job", "j", {"metadata": {"labels": {"j": "patched"}}})
    assert revision(patched) > revision(created)
    assert label(patched, "j") == "patched"
    await there.until_event(
        "Job", since, lambda type_, one: type_ == "MODIFIED" and label(one, "j") == "patched",
        selector=selector,
    )  # fmt: skip
    before = await there.now("Job", selector)

    def resume(read: Object) -> None:
        read["spec"]["suspend"] = False
        read["metadata"]["annotations"] = {"updated": "true"}

    updated = await there.updated("Job", "j", resume)
    assert annotation(updated, "updated") == "true"
    await there.until_event(
        "Job", before,
        lambda type_, one: type_ == "MODIFIED" and annotation(one, "updated") == "true",
        selector=selector,
    )  # fmt: skip
    assert len(await there.chosen("Job", selector)) == 1
    await until_complete(there, "j", 4)
    await there.remove_all("Job", selector, propagationPolicy="Background")
    await there.until_event(
        "Job", updated["metadata"]["resourceVersion"],
        lambda type_, one: type_ == "DELETED" and label(one, "e2e-job-label") == "j",
        selector=selector,
    )  # fmt: skip
    assert await there.chosen("Job", selector) == []


def _schedule(name: str) -> Object:
    """A CronJob that is due each minute of an hour."""
    pods = {"restartPolicy": "OnFailure", "containers": [{"name": "c", "image": "i"}]}
    return {
        "apiVersion": "batch/v1", "kind": "CronJob",
        "metadata": {"name": name, "namespace": "default", "labels": {"special-label": "us"}},
        "spec": {"schedule": "* */1 * * ?", "concurrencyPolicy": "Allow",
                 "successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 0,
                 "jobTemplate": {"spec": {"template": {"spec": pods}}}},
    }  # fmt: skip


async def _cron_statuses(there: Cluster) -> None:
    """Patch, update and read the status of the CronJob."""
    first = format_time(there.server.env.now())
    patch = {"metadata": {"annotations": {"patchedstatus": "true"}},
             "status": {"lastScheduleTime": first}}  # fmt: skip
    patched = await there.patch("CronJob", "test-api", patch, how="merge", below="status")
    assert patched["status"]["lastScheduleTime"] == first
    assert annotation(patched, "patchedstatus") == "true"
    second = format_time(there.server.env.now() + 1)
    updated = await there.updated(
        "CronJob", "test-api", lambda read: read["status"].update(lastScheduleTime=second), "status"
    )
    assert updated["status"]["lastScheduleTime"] == second


@spec("CronJob should support CronJob API operations")
async def _cron_api(there: Cluster) -> None:
    kind, selector = there.kind("CronJob"), "special-label=us"
    created = await there.client.create(_schedule("test-api"))
    revision(created)
    uid = created["metadata"]["uid"]
    assert (await there.get("CronJob", "test-api"))["metadata"]["uid"] == uid
    listed = await there.client.list(kind, "default", label_selector=selector)
    assert len(listed.items) == 1
    assert len(await there.chosen("CronJob", selector)) == 1
    async with there.client.watch(
        kind, resource_version=listed.resource_version, label_selector=selector
    ) as everywhere:
        change = {"metadata": {"annotations": {"patched": "true"}}}
        patched = await there.patch("CronJob", "test-api", change, how="merge")
        assert annotation(patched, "patched") == "true"
        assert revision(patched) > revision(created)
        updated = await there.updated(
            "CronJob",
            "test-api",
            lambda read: read["metadata"]["annotations"].update(updated="true"),
        )
        assert annotation(updated, "updated") == "true"
        async for event in everywhere:
            assert event.type == "MODIFIED"
            if annotation(event.object, "patched") == "true":
                break
    _, seen = await there.until_event(
        "CronJob", listed.resource_version, lambda type_, _: type_ == "MODIFIED", selector=selector
    )
    assert annotation(seen, "patched") == "true"
    await _cron_statuses(there)
    assert (await there.stored_status("CronJob", "test-api"))["metadata"]["uid"] == uid
    await there.client.create(_schedule("for-removal"))
    await there.remove("CronJob", "for-removal")
    with pytest.raises(ApiError, match="not found"):
        await there.get("CronJob", "for-removal")
    await there.remove_all("CronJob", selector)
    assert await there.chosen("CronJob", selector) == []


# ---------------------------------------------------------------------- PodDisruptionBudget


async def _guard(there: Cluster, name: str, least: object, **meta: Any) -> None:
    """Make a budget for pods with a label, and wait until the controller has seen it."""
    selector = {"matchLabels": {"foo": "bar"}}
    await there.make("PodDisruptionBudget", name, metadata=meta,
                     spec={"minAvailable": least, "selector": selector})  # fmt: skip
    if meta.get("namespace", "default") == "default":
        await until_observed(there, "PodDisruptionBudget", name)


@spec("DisruptionController should list and delete a collection of PodDisruptionBudgets")
async def _budgets(there: Cluster) -> None:
    await there.make("Namespace", "disruption-2")
    labels = {"foo_pdb": "bar_pdb"}
    await _guard(there, "foo", 2, labels=labels)
    await _guard(there, "foo2", "1%", labels=labels)
    await _guard(there, "foo3", 2, labels=labels, namespace="disruption-2")

    async def names(namespace: str) -> list[str]:
        chosen = await there.chosen("PodDisruptionBudget", "foo_pdb=bar_pdb", namespace)
        return sorted(one["metadata"]["name"] for one in chosen)

    assert await names("") == ["foo", "foo2", "foo3"]
    assert await names("default") == ["foo", "foo2"]
    await there.remove_all("PodDisruptionBudget")

    async def gone() -> object:
        return not await there.all_of("PodDisruptionBudget")

    await there.until(gone, 60)
    assert await names("") == ["foo3"]


@spec("DisruptionController should create a PodDisruptionBudget")
async def _budget_written(there: Cluster) -> None:
    kind = "PodDisruptionBudget"
    await _guard(there, "foo", "1%")
    updated = await there.updated(kind, "foo", lambda read: read["spec"].update(minAvailable="2%"))
    assert updated["spec"]["minAvailable"] == "2%"
    await until_observed(there, kind, "foo")
    patched = await there.patch(kind, "foo", {"spec": {"minAvailable": "3%"}}, how="merge")
    assert patched["spec"]["minAvailable"] == "3%"
    assert revision(patched) > revision(updated)
    await until_observed(there, kind, "foo")
    await there.remove(kind, "foo")
    assert await there.find(kind, "foo") is None


@spec("DisruptionController should update/patch PodDisruptionBudget status")
async def _budget_status(there: Cluster) -> None:
    kind = "PodDisruptionBudget"
    await _guard(there, "foo", 1)
    await there.pod("p", labels={"foo": "bar", "app": "p"})
    await until_running(there, "p", 1)
    at = format_time(there.server.env.now())
    await there.updated(
        kind, "foo", lambda read: read["status"].update(disruptedPods={"p": at}), "status"
    )
    await until_observed(there, kind, "foo")
    assert "p" in (await there.stored_status(kind, "foo"))["status"]["disruptedPods"]
    patch = {"status": {"disruptedPods": None}}
    patched = await there.patch(kind, "foo", patch, how="merge", below="status")
    assert not patched["status"].get("disruptedPods")


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_the_api(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
