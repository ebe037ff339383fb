"""Lives of classes, attachments and quotas that Kubernetes' e2e specs walk through.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/storage and apimachinery (1.36); nothing
else of them.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from simulated import Cluster, cluster, revision
from specs import Specs
from trio.testing import MockClock

from kubetrio.machinery.status import ApiError

Object = dict[str, Any]
SPECS = spec = Specs()
CLASS, ATTACHMENT, QUOTA = "StorageClass", "VolumeAttachment", "ResourceQuota"


async def until_none(there: Cluster, kind: str, selector: str) -> None:
    """Wait until no object is left that a selector chooses."""

    async def none() -> object:
        return not await there.chosen(kind, selector)

    await there.until(none, 30)


async def labelled(there: Cluster, kind: str, name: str, **labels: str) -> Object:
    """Give an object these labels and no others."""
    return await there.updated(kind, name, lambda read: read["metadata"].update(labels=labels))


@spec("StorageClasses CSI Conformance should run through the lifecycle of a StorageClass")
async def _class(there: Cluster) -> None:
    created = await there.make(CLASS, "e2e-1", provisioner="e2e-fake-provisioner")
    revision(created)
    read = await there.get(CLASS, "e2e-1")
    patched = await there.patch(CLASS, "e2e-1", {"metadata": {"labels": {"e2e-1": "patched"}}})
    assert patched["metadata"]["labels"] == {"e2e-1": "patched"}
    assert revision(patched) > revision(read)
    await there.remove(CLASS, "e2e-1")
    await until_none(there, CLASS, "e2e-1=patched")
    await there.make(CLASS, "e2e-v2", provisioner="e2e-fake-provisioner")
    updated = await labelled(there, CLASS, "e2e-v2", v2="updated")
    assert updated["metadata"]["labels"] == {"v2": "updated"}
    assert len(await there.chosen(CLASS, "v2=updated")) == 1
    await there.remove_all(CLASS, "v2=updated")
    await until_none(there, CLASS, "v2=updated")


async def attachment(there: Cluster, name: str) -> Object:
    """Make an attachment of a driver that no attacher serves."""
    return await there.make(ATTACHMENT, name, spec={
        "attacher": "e2e-test.storage.k8s.io", "nodeName": "node-0",
        "source": {"persistentVolumeName": f"pv-{name}"},
    }, status={"attached": False})  # fmt: skip


@spec("VolumeAttachment Conformance should run through the lifecycle of a VolumeAttachment")
async def _attachments(there: Cluster) -> None:
    await attachment(there, "one")
    read = await there.get(ATTACHMENT, "one")
    change = {"metadata": {"labels": {"one": "patched"}}}
    patched = await there.patch(ATTACHMENT, "one", change, how="merge")
    assert patched["metadata"]["labels"] == {"one": "patched"}
    assert revision(patched) > revision(read)
    assert len(await there.chosen(ATTACHMENT, "one=patched")) == 1
    await there.remove(ATTACHMENT, "one")
    await until_none(there, ATTACHMENT, "one=patched")
    for name in ("two", "three"):
        await attachment(there, name)
        updated = await labelled(there, ATTACHMENT, name, e2e="updated")
        assert updated["metadata"]["labels"] == {"e2e": "updated"}
    await there.remove_all(ATTACHMENT, "e2e=updated")
    await until_none(there, ATTACHMENT, "e2e=updated")


@spec("VolumeAttachment Conformance should apply changes to a volumeattachment status")
async def _attachment_status(there: Cluster) -> None:
    assert (await attachment(there, "one"))["metadata"]["name"] == "one"
    change = {"metadata": {"labels": {"one": "patched"}}}
    patched = await there.patch(ATTACHMENT, "one", change, how="merge")
    assert patched["metadata"]["labels"] == {"one": "patched"}
    assert (await there.stored_status(ATTACHMENT, "one"))["status"]["attached"] is False
    yes = {"status": {"attached": True}}
    patched = await there.patch(ATTACHMENT, "one", yes, how="merge", below="status")
    assert patched["status"]["attached"] is True
    updated = await there.updated(
        ATTACHMENT, "one", lambda read: read["status"].update(attached=False), "status"
    )
    assert updated["status"]["attached"] is False
    await there.remove(ATTACHMENT, "one")
    await until_none(there, ATTACHMENT, "one=patched")


# ---------------------------------------------------------------------- quotas


def says(hard: Object) -> Any:
    """Whether a quota's status has these limits, as a test of events."""

    def fits(_: str, stored: Object) -> bool:
        return bool((stored.get("status") or {}).get("hard") == hard)

    return fits


@spec("ResourceQuota should apply changes to a resourcequota status")
async def _quota_status(there: Cluster) -> None:
    selector = "e2e-rq-label=q"
    since = await there.now(QUOTA, selector)
    first = {"cpu": "500m", "memory": "500Mi"}
    await there.make(QUOTA, "q", metadata={"labels": {"e2e-rq-label": "q"}}, spec={"hard": first})
    assert (await there.get(QUOTA, "q"))["spec"]["hard"] == first
    await there.updated(QUOTA, "q", lambda read: read.update(status={"hard": first}), "status")
    await there.until_event(QUOTA, since, says(first), selector=selector)
    since = await there.now(QUOTA, selector)
    second = {"cpu": "1", "memory": "1Gi"}
    await there.patch(QUOTA, "q", {"spec": {"hard": second}})
    await there.patch(QUOTA, "q", {"status": {"hard": second}}, below="status")
    await there.until_event(QUOTA, since, says(second), selector=selector)
    assert (await there.stored_status(QUOTA, "q"))["status"]["hard"] == second
    since = await there.now(QUOTA, selector)
    third = {"cpu": "2", "memory": "2Gi"}
    patched = await there.patch(QUOTA, "q", {"status": {"hard": third}}, below="status")
    assert (patched["status"]["hard"], patched["spec"]["hard"]) == (third, second)
    await there.until_event(QUOTA, since, says(third), selector=selector)

    async def reset() -> object:
        stored = await there.get(QUOTA, "q")
        return stored["status"]["hard"] == stored["spec"]["hard"] == second

    await there.until(reset, 360)


async def until_used(there: Cluster, name: str, **used: str) -> None:
    """Wait until a quota counts certain amounts; ``__`` in a name is a dot."""
    amounts = {resource.replace("__", "."): used[resource] for resource in used}

    async def counts() -> object:
        status = (await there.get(QUOTA, name)).get("status") or {}
        return amounts.items() <= (status.get("used") or {}).items()

    await there.until(counts, 60)


@spec("ResourceQuota should create a ResourceQuota and capture the life of a custom resource.")
async def _custom(there: Cluster) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "tests", "singular": "test", "kind": "Test", "listKind": "TestList"}
    await there.make("CustomResourceDefinition", "tests.quota.example.com", spec={
        "group": "quota.example.com", "scope": "Namespaced", "names": names, "versions": [version],
    })  # fmt: skip
    resource = "count/tests.quota.example.com"
    await there.make(QUOTA, "quota-for-tests", spec={"hard": {resource: "0"}})
    numbers = count(1)

    async def known() -> object:
        stored = await there.updated(
            QUOTA, "quota-for-tests",
            lambda read: read["metadata"].update(annotations={"n": str(next(numbers))}),
        )  # fmt: skip
        return resource in ((stored.get("status") or {}).get("used") or {})

    await there.until(known)
    await there.remove(QUOTA, "quota-for-tests")
    await there.make(QUOTA, "test-quota", spec={"hard": {"resourcequotas": "1", resource: "1"}})
    used = {"resourcequotas": "1", resource: "0"}
    await until_used(there, "test-quota", **used)
    body: Object = {"apiVersion": "quota.example.com/v1", "kind": "Test"}
    one = {**body, "metadata": {"name": "test-cr-1", "namespace": "default"}}
    await there.client.create(one)
    await until_used(there, "test-quota", **{resource: "1"})
    with pytest.raises(ApiError, match="exceeded quota"):
        await there.client.create({**one, "metadata": {**one["metadata"], "name": "test-cr-2"}})
    kind = there.client.kind("quota.example.com/v1", "Test")
    await there.client.delete(kind, "test-cr-1", "default")
    await until_used(there, "test-quota", **{resource: "0"})


async def pod(there: Cluster, name: str, resources: Object | None = None, **spec: Any) -> None:
    """Make a pod."""
    container = {"name": "pause", "image": "pause", "resources": resources or {}}
    await there.make("Pod", name, spec={"containers": [container], **spec})


async def by_class(there: Cluster, hard: Object, *classes: str) -> None:
    """Make classes, and a quota for pods of them, and wait until it was counted."""
    for name in classes:
        await there.make("PriorityClass", name, value=1000)
    row = {"scopeName": "PriorityClass", "operator": "In", "values": [*classes]}
    await there.make(QUOTA, "quota-priorityclass", spec={
        "hard": hard, "scopeSelector": {"matchExpressions": [row]},
    })  # fmt: skip
    await until_used(there, "quota-priorityclass", pods="0")


@spec(
    "ResourceQuota should verify ResourceQuota's multiple priority class scope (quota set to pod count: 2) against 2 pods with same priority classes."  # noqa: E501
)
async def _two_classes(there: Cluster) -> None:
    await by_class(there, {"pods": "2"}, "pclass5", "pclass6")
    await pod(there, "one", priorityClassName="pclass5")
    await until_used(there, "quota-priorityclass", pods="1")
    await pod(there, "two", priorityClassName="pclass6")
    await until_used(there, "quota-priorityclass", pods="2")
    for name in ("one", "two"):
        await there.remove("Pod", name, gracePeriodSeconds=0)
    await until_used(there, "quota-priorityclass", pods="0")


@spec(
    "ResourceQuota should verify ResourceQuota's priority class scope (cpu, memory quota set) against a pod with same priority class."  # noqa: E501
)
async def _amounts_of_a_class(there: Cluster) -> None:
    hard = {"pods": "1", "requests.cpu": "1", "requests.memory": "1Gi", "limits.cpu": "3",
            "limits.memory": "3Gi"}  # fmt: skip
    await by_class(there, hard, "pclass9")
    none = {"pods": "0", "requests__cpu": "0", "requests__memory": "0", "limits__cpu": "0",
            "limits__memory": "0"}  # fmt: skip
    await until_used(there, "quota-priorityclass", **none)
    requests, limits = {"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "2Gi"}
    await pod(there, "one", {"requests": requests, "limits": limits}, priorityClassName="pclass9")
    await until_used(there, "quota-priorityclass", pods="1", requests__cpu="1",
                     requests__memory="1Gi", limits__cpu="2", limits__memory="2Gi")  # fmt: skip
    await there.remove("Pod", "one", gracePeriodSeconds=0)
    await until_used(there, "quota-priorityclass", **none)


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_lives(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
