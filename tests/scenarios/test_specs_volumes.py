"""What Kubernetes' e2e specs ask of volumes without a kubelet, and of the endpoints of Services.

Source: titles and behaviour of k8s.io/kubernetes/test/e2e/storage and network (1.36); nothing else
of them.
"""

from __future__ import annotations

from typing import Any

import pytest
from simulated import Cluster, cluster, revision
from specs import Specs, until_running
from trio.testing import MockClock

from kubetrio.machinery.status import ApiError

Object = dict[str, Any]
SPECS = spec = Specs()
VOLUME, CLAIM = "PersistentVolume", "PersistentVolumeClaim"
DEFAULT = "storageclass.kubernetes.io/is-default-class"


async def until_phase(there: Cluster, kind: str, name: str, phase: str) -> Object:
    """Wait until a volume or claim has a phase; returns it."""

    async def has() -> object:
        return ((await there.get(kind, name)).get("status") or {}).get("phase") == phase

    await there.until(has)
    return await there.get(kind, name)


async def until_gone(there: Cluster, kind: str, name: str) -> None:
    """Wait until an object is gone."""

    async def gone() -> object:
        return await there.find(kind, name) is None

    await there.until(gone)


async def _volume(there: Cluster) -> None:
    """Make a volume without a claim, and wait until it is available and protected."""
    await there.make(VOLUME, "v", metadata={"labels": {"e2e-pv-pool": "default"}}, spec={
        "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": "/tmp/data"},
    })  # fmt: skip
    volume = await until_phase(there, VOLUME, "v", "Available")
    assert "kubernetes.io/pv-protection" in volume["metadata"]["finalizers"]


@spec('PV Protection Verify "immediate" deletion of a PV that is not bound to a PVC')
async def _free_volume(there: Cluster) -> None:
    await _volume(there)
    await there.remove(VOLUME, "v", gracePeriodSeconds=0)
    await until_gone(there, VOLUME, "v")


@spec("PV Protection Verify that PV bound to a PVC is not removed immediately")
async def _bound_volume(there: Cluster) -> None:
    await _volume(there)
    await there.make(CLAIM, "c", spec={
        "accessModes": ["ReadWriteOnce"], "storageClassName": "",
        "selector": {"matchLabels": {"e2e-pv-pool": "default"}},
        "resources": {"requests": {"storage": "2Gi"}},
    })  # fmt: skip
    await until_phase(there, CLAIM, "c", "Bound")
    await there.remove(VOLUME, "v", gracePeriodSeconds=0)
    assert "deletionTimestamp" in (await there.get(VOLUME, "v"))["metadata"]
    await there.remove(CLAIM, "c", gracePeriodSeconds=0)
    await until_gone(there, VOLUME, "v")


async def _pod_with_claim(there: Cluster, name: str) -> None:
    volumes = [{"name": "volume1", "persistentVolumeClaim": {"claimName": "c"}}]
    await there.pod(name, volumes=volumes)


async def _used_claim(there: Cluster) -> None:
    """Make a claim and a pod that uses it; the claim is bound and protected."""
    await there.make(CLAIM, "c", spec={
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}},
    })  # fmt: skip
    await _pod_with_claim(there, "p")
    await until_running(there, "p", 1)
    claim = await until_phase(there, CLAIM, "c", "Bound")
    assert "kubernetes.io/pvc-protection" in claim["metadata"]["finalizers"]


async def _delete_pod(there: Cluster, name: str) -> None:
    await there.remove("Pod", name)
    await until_gone(there, "Pod", name)


async def _claim_waits(there: Cluster) -> None:
    """The claim is being deleted and still there."""
    assert "deletionTimestamp" in (await there.get(CLAIM, "c"))["metadata"]


@spec('PVC Protection Verify "immediate" deletion of a PVC that is not in active use by a pod')
async def _free_claim(there: Cluster) -> None:
    await _used_claim(there)
    await _delete_pod(there, "p")
    await there.remove(CLAIM, "c", gracePeriodSeconds=0)
    await until_gone(there, CLAIM, "c")


@spec("PVC Protection Verify that PVC in active use by a pod is not removed immediately")
async def _claim_in_use(there: Cluster) -> None:
    await _used_claim(there)
    await there.remove(CLAIM, "c", gracePeriodSeconds=0)
    await _claim_waits(there)
    await _delete_pod(there, "p")
    await until_gone(there, CLAIM, "c")


@spec(
    "PVC Protection Verify that scheduling of a pod that uses PVC that is being deleted fails and the pod becomes Unschedulable"  # noqa: E501
)
async def _claim_that_goes(there: Cluster) -> None:
    await _used_claim(there)
    await there.remove(CLAIM, "c", gracePeriodSeconds=0)
    await _claim_waits(there)
    await _pod_with_claim(there, "second")
    assert "is being deleted" in await there.refused("second")
    condition = await there.condition("Pod", "second", "PodScheduled")
    assert condition["reason"] == "Unschedulable"
    await _delete_pod(there, "second")
    await _claim_waits(there)
    await _delete_pod(there, "p")
    await until_gone(there, CLAIM, "c")


@spec(
    "Retroactive StorageClass Assignment should assign default StorageClass to PVCs retroactively"
)
async def _retroactive(there: Cluster) -> None:
    for stored in await there.all_of("StorageClass"):
        if (stored["metadata"].get("annotations") or {}).get(DEFAULT) == "true":
            off = {"annotations": {DEFAULT: "false"}}
            await there.change("StorageClass", stored["metadata"]["name"], metadata=off)
    await there.make(CLAIM, "test-pvc", spec={
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}},
    })  # fmt: skip
    assert "storageClassName" not in (await there.get(CLAIM, "test-pvc"))["spec"]
    await there.make("StorageClass", "test-default-sc", metadata={"annotations": {DEFAULT: "true"}},
                     provisioner="fake-1")  # fmt: skip

    async def assigned() -> object:
        claim = await there.get(CLAIM, "test-pvc")
        return claim["spec"].get("storageClassName") == "test-default-sc"

    await there.until(assigned, 120)


# ---------------------------------------------------------------------- endpoints

STATIC = "test-endpoint-static=true"


@spec("Endpoints should test the lifecycle of an Endpoint")
async def _endpoints(there: Cluster) -> None:
    since = await there.now("Endpoints", STATIC)
    ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
    created = await there.make(
        "Endpoints", "testservice", metadata={"labels": {"test-endpoint-static": "true"}},
        subsets=[{"addresses": [{"ip": "10.0.0.24"}], "ports": ports}],
    )  # fmt: skip
    revision(created)
    await there.until_event("Endpoints", since, lambda type_, _: type_ == "ADDED", selector=STATIC)
    since = await there.now("Endpoints", STATIC)
    (listed,) = await there.chosen("Endpoints", STATIC)
    listed["metadata"]["labels"]["test-service"] = "updated"
    await there.client.update(listed)
    await there.until_event("Endpoints", since, lambda type_, _: type_ == "MODIFIED",
                            selector=STATIC)  # fmt: skip
    stored = await there.get("Endpoints", "testservice")
    assert stored["metadata"]["labels"]["test-service"] == "updated"
    since = stored["metadata"]["resourceVersion"]
    subset = {"addresses": [{"ip": "10.0.0.25"}], "ports": [{"name": "http-test", "port": 8080}]}
    change = {"metadata": {"labels": {"test-service": "patched"}}, "subsets": [subset]}
    patched = await there.patch("Endpoints", "testservice", change)
    assert revision(patched) > revision(created)
    await there.until_event("Endpoints", since, lambda type_, _: type_ == "MODIFIED",
                            selector=STATIC)  # fmt: skip
    stored = await there.get("Endpoints", "testservice")
    assert stored["metadata"]["labels"]["test-service"] == "patched"
    assert stored["subsets"][0]["addresses"][0]["ip"] == "10.0.0.25"
    port = stored["subsets"][0]["ports"][0]
    assert (port["name"], port["port"]) == ("http-test", 8080)
    await there.remove_all("Endpoints", STATIC)
    await there.until_event("Endpoints", stored["metadata"]["resourceVersion"],
                            lambda type_, _: type_ == "DELETED", selector=STATIC)  # fmt: skip
    with pytest.raises(ApiError, match="not found"):
        await there.get("Endpoints", "testservice")


async def _empty_service(there: Cluster) -> str:
    """Make a Service whose selector no pod matches; returns its name."""
    await there.make("Service", "example-empty-selector", spec={
        "selector": {"does-not-match-anything": "endpoints-should-still-be-created"},
        "ports": [{"name": "example", "port": 80, "protocol": "TCP"}],
    })  # fmt: skip
    return "example-empty-selector"


@spec(
    "EndpointsController should create and delete Endpoints for a Service with a selector that matches no pods"  # noqa: E501
)
async def _empty_endpoints(there: Cluster) -> None:
    name = await _empty_service(there)

    async def made() -> object:
        return await there.find("Endpoints", name) is not None

    await there.until(made, 30)
    await there.remove("Service", name)
    await until_gone(there, "Endpoints", name)


def _slices(name: str) -> str:
    """A selector of the slices of a Service."""
    return f"kubernetes.io/service-name={name}"


@spec(
    "EndpointSlice should create and delete EndpointSlices for a Service with a selector that matches no pods"  # noqa: E501
)
async def _empty_slices(there: Cluster) -> None:
    name = await _empty_service(there)

    async def made() -> object:
        return await there.chosen("EndpointSlice", _slices(name))

    await there.until(made, 30)
    stored = (await there.chosen("EndpointSlice", _slices(name)))[0]
    managed = stored["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"]
    assert managed == "endpointslice-controller.k8s.io"
    assert not stored.get("endpoints")
    await there.remove("Service", name)

    async def gone() -> object:
        return not await there.chosen("EndpointSlice", _slices(name))

    await there.until(gone, 90)


async def _two_services(there: Cluster) -> tuple[str, str]:
    """Make two pods, and Services by number and by name of their ports; returns addresses."""
    rows = (("pod1", [("example-name", 3000)]), ("pod2", [("example-name", 3001),
                                                          ("other-port", 3002)]))  # fmt: skip
    for name, ports in rows:
        await there.pod(name, labels={name: "on", "shared12": "on", "app": name},
                        ports=[{"name": one, "containerPort": number} for one, number in ports],
                        )  # fmt: skip
    for name, selector, port, target in (
        ("example-int-port", {"pod1": "on"}, "example", 3000),
        ("example-named-port", {"shared12": "on"}, "http", "example-name"),
    ):
        await there.make("Service", name, spec={
            "selector": selector, "publishNotReadyAddresses": True,
            "ports": [{"name": port, "port": 80, "targetPort": target, "protocol": "TCP"}],
        })  # fmt: skip
    for name in ("pod1", "pod2"):
        await until_running(there, name, 1)
    one, other = [(await there.get("Pod", name))["status"]["podIP"] for name in ("pod1", "pod2")]
    return one, other


@spec("EndpointsController should create Endpoints for Pods matching a Service")
async def _endpoints_of_pods(there: Cluster) -> None:
    one, other = await _two_services(there)

    async def rows(name: str) -> list[tuple[str, int, str, str]]:
        stored = await there.find("Endpoints", name) or {}
        return sorted(
            (address["ip"], port["port"], port["name"], address["targetRef"]["name"])
            for subset in stored.get("subsets") or ()
            for address in subset.get("addresses") or ()
            for port in subset["ports"]
        )

    async def first() -> bool:
        return await rows("example-int-port") == [(one, 3000, "example", "pod1")]

    async def second() -> bool:
        both = sorted([(one, 3000, "http", "pod1"), (other, 3001, "http", "pod2")])
        return await rows("example-named-port") == both

    await there.until(first, 120)
    await there.until(second, 120)
    assert len((await there.get("Endpoints", "example-named-port"))["subsets"]) == 2


@spec("EndpointSlice should create Endpoints and EndpointSlices for Pods matching a Service")
async def _slices_of_pods(there: Cluster) -> None:
    one, other = await _two_services(there)

    async def rows(name: str) -> list[tuple[str, int, str, str]]:
        return sorted(
            (endpoint["addresses"][0], port["port"], port["name"], endpoint["targetRef"]["name"])
            for stored in await there.chosen("EndpointSlice", _slices(name))
            for endpoint in stored["endpoints"]
            for port in stored["ports"]
        )

    async def first() -> bool:
        return await rows("example-int-port") == [(one, 3000, "example", "pod1")]

    async def second() -> bool:
        both = sorted([(one, 3000, "http", "pod1"), (other, 3001, "http", "pod2")])
        return await rows("example-named-port") == both

    await there.until(first, 120)
    await there.until(second, 120)
    slices = await there.chosen("EndpointSlice", _slices("example-named-port"))
    assert len(slices) == 2
    before = {stored["metadata"]["uid"] for stored in slices}
    await there.remove_all("EndpointSlice", _slices("example-named-port"))

    async def anew() -> bool:
        again = await there.chosen("EndpointSlice", _slices("example-named-port"))
        return before.isdisjoint(stored["metadata"]["uid"] for stored in again)

    await there.until(anew)
    await there.until(second, 120)


@pytest.mark.parametrize("title", sorted(SPECS))
async def test_a_spec_of_volumes(title: str, autojump_clock: MockClock) -> None:
    """The cluster does what the spec asks for."""
    async with cluster() as there:
        await SPECS[title](there)
