"""What objects count for."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.machinery.names import GroupResource
from kubetrio.quota.usage import (
    CLAIMS,
    DEVICE_CLAIMS,
    PODS,
    SERVICES,
    counts_for,
    counts_otherwise,
    missing_requests,
    resource_of,
    usage,
)


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], **spec}}


def texts(resource: GroupResource, obj: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in usage(resource, obj).items()}


def test_a_pod_that_is_over_uses_nothing_but_its_place() -> None:
    """Compute counts while it can run."""
    resources = {"requests": {"cpu": "1", "example.com/gpu": "2"}, "limits": {"memory": "1Gi"}}
    running = pod(containers=[{"name": "c", "resources": resources}])
    assert texts(PODS, running) == {
        "count/pods": "1",
        "pods": "1",
        "cpu": "1",
        "requests.cpu": "1",
        "requests.example.com/gpu": "2",
        "limits.memory": "1Gi",
    }
    assert texts(PODS, {**running, "status": {"phase": "Failed"}}) == {"count/pods": "1"}


def test_a_pod_uses_what_it_says_itself_and_its_overhead() -> None:
    """More than its containers ask for."""
    resources = {"requests": {"cpu": "1"}}
    own = {"requests": {"cpu": "4"}, "limits": {"memory": "1Mi"}}
    body = pod(
        containers=[{"name": "c", "resources": resources}],
        resources=own,
        overhead={"cpu": "1", "memory": "1Mi"},
    )
    found = texts(PODS, body)
    assert (found["requests.cpu"], found["requests.memory"]) == ("5", "1Mi")
    assert found["limits.memory"] == "2Mi"


def test_services_and_claims() -> None:
    """Node ports, load balancers and storage by class."""
    service = {"spec": {"type": "LoadBalancer", "ports": [{}, {}]}}
    assert texts(SERVICES, service)["services.nodeports"] == "2"
    assert texts(SERVICES, service)["services.loadbalancers"] == "1"
    resources = {"requests": {"storage": "5Gi"}}
    claim = {"spec": {"storageClassName": "gold", "resources": resources}}
    found = texts(CLAIMS, claim)
    assert found["gold.storageclass.storage.k8s.io/requests.storage"] == "5Gi"


def test_claims_on_devices() -> None:
    """By class, the most that a claim may get: of alternatives the largest of each class."""

    def asks(device_class: str, count: int = 0) -> dict[str, Any]:
        mode = {"allocationMode": "ExactCount", "count": count} if count else {}
        return {"deviceClassName": device_class, "allocationMode": "All", **mode}

    requests = [
        {"exactly": asks("gpu", 2)},
        {"exactly": {"deviceClassName": "odd", "allocationMode": "Later"}},
        {"firstAvailable": [asks("gpu", 1), asks("gpu", 3), asks("nic", 1)]},
        {"exactly": asks("nic")},
        {},
    ]
    found = texts(DEVICE_CLAIMS, {"spec": {"devices": {"requests": requests}}})
    assert found == {
        "count/resourceclaims.resource.k8s.io": "1",
        "gpu.deviceclass.resource.k8s.io/devices": "5",
        "nic.deviceclass.resource.k8s.io/devices": "33",
        "odd.deviceclass.resource.k8s.io/devices": "0",
    }
    assert texts(DEVICE_CLAIMS, {}) == {"count/resourceclaims.resource.k8s.io": "1"}


@pytest.mark.parametrize(
    ("name", "resource"),
    [
        ("count/deployments.apps", GroupResource("apps", "deployments")),
        ("secrets", GroupResource("", "secrets")),
        ("services.nodeports", SERVICES),
        ("requests.storage", CLAIMS),
        ("requests.cpu", PODS),
        ("limits.memory", PODS),
        ("gpu.deviceclass.resource.k8s.io/devices", DEVICE_CLAIMS),
        ("count/resourceclaims.resource.k8s.io", DEVICE_CLAIMS),
        ("nonsense", None),
    ],
)
def test_names_belong_to_resources(name: str, resource: GroupResource | None) -> None:
    """What a quota limits is known by its name."""
    assert resource_of(name) == resource


@pytest.mark.parametrize(
    ("scope", "obj", "inside"),
    [
        ({"scopes": ["Terminating"]}, pod(activeDeadlineSeconds=1), True),
        ({"scopes": ["NotTerminating"]}, pod(activeDeadlineSeconds=1), False),
        ({"scopes": ["BestEffort"]}, pod(), True),
        ({"scopes": ["NotBestEffort"]}, pod(), False),
        ({"scopes": ["NotBestEffort"]}, pod(resources={"limits": {"cpu": "1"}}), True),
        ({"scopes": ["BestEffort"]}, {**pod(), "status": {"qosClass": "Burstable"}}, False),
        ({"scopes": ["PriorityClass"]}, pod(priorityClassName="x"), True),
        ({}, pod(), True),
    ],
)
def test_scopes(scope: dict[str, Any], obj: dict[str, Any], inside: bool) -> None:
    """A quota counts the pods in all of its scopes."""
    assert counts_for(PODS, obj, {"spec": scope}) is inside


def test_a_scope_selector() -> None:
    """Priority classes by name; what is no pod is in no scope."""
    expression = {"scopeName": "PriorityClass", "operator": "In", "values": ["a", "b"]}
    quota = {"spec": {"scopeSelector": {"matchExpressions": [expression]}}}
    assert counts_for(PODS, pod(priorityClassName="a"), quota)
    assert not counts_for(PODS, pod(priorityClassName="c"), quota)
    assert not counts_for(SERVICES, {}, quota)


def claim(wanted: str = "", current: str = "", target: str = "") -> dict[str, Any]:
    return {
        "spec": {"volumeAttributesClassName": wanted},
        "status": {
            "currentVolumeAttributesClassName": current,
            "modifyVolumeStatus": {"targetVolumeAttributesClassName": target},
        },
    }


@pytest.mark.parametrize(
    ("operator", "obj", "inside"),
    [
        ("In", claim("gold"), True),
        ("In", claim("silver"), False),
        ("In", claim("silver", current="gold"), True),
        ("In", claim(target="gold"), True),
        ("In", claim(), False),
        ("NotIn", claim(), True),
        ("NotIn", claim("gold"), False),
        ("NotIn", claim("silver", current="gold"), True),
        ("Exists", claim("any"), True),
        ("Exists", claim(), False),
        ("DoesNotExist", claim(), True),
        ("DoesNotExist", claim(current="any"), False),
    ],
)
def test_claims_are_in_scopes_of_their_classes(
    operator: str, obj: dict[str, Any], inside: bool
) -> None:
    """Of each volume attributes class that they want, have or are about to get."""
    expression = {"scopeName": "VolumeAttributesClass", "operator": operator}
    if operator in ("In", "NotIn"):
        expression["values"] = ["gold"]  # type: ignore[assignment]
    quota = {"spec": {"scopeSelector": {"matchExpressions": [expression]}}}
    assert counts_for(CLAIMS, obj, quota) is inside


def test_a_claim_is_in_no_scope_of_pods() -> None:
    """And a pod in none of claims."""
    assert not counts_for(CLAIMS, claim("gold"), {"spec": {"scopes": ["NotTerminating"]}})
    assert not counts_for(PODS, pod(), {"spec": {"scopes": ["VolumeAttributesClass"]}})


def test_a_claim_uses_what_it_was_given() -> None:
    """If that is more than it asks for; in whole bytes."""
    asked: dict[str, Any] = {"spec": {"resources": {"requests": {"storage": "1500m"}}}}
    assert texts(CLAIMS, asked)["requests.storage"] == "2"
    given = {**asked, "status": {"allocatedResources": {"storage": "3Gi"}}}
    assert texts(CLAIMS, given)["requests.storage"] == "3Gi"


def test_the_old_annotation_names_the_class_of_a_claim() -> None:
    """Before the field."""
    name = "volume.beta.kubernetes.io/storage-class"
    obj = {"metadata": {"annotations": {name: "old"}}, "spec": {"storageClassName": "new"}}
    counted = texts(CLAIMS, obj)
    assert "old.storageclass.storage.k8s.io/persistentvolumeclaims" in counted
    assert "new.storageclass.storage.k8s.io/persistentvolumeclaims" not in counted


@pytest.mark.parametrize(
    ("resource", "new", "old", "differs"),
    [
        (CLAIMS, claim("gold"), claim("silver"), True),
        (CLAIMS, claim("gold"), claim("gold"), False),
        (PODS, pod(activeDeadlineSeconds=1), pod(), True),
        (PODS, pod(nodeName="n"), pod(), False),
        (SERVICES, {"spec": {"type": "ClusterIP"}}, {"spec": {"type": "LoadBalancer"}}, True),
    ],
)
def test_updates_that_count_otherwise(
    resource: GroupResource, new: dict[str, Any], old: dict[str, Any], differs: bool
) -> None:
    """For another amount, or for other quotas."""
    assert counts_otherwise(resource, new, old) is differs


def test_what_containers_must_say() -> None:
    """Every resource, and every container that does not name it."""
    both = pod(containers=[{"name": "b"}, {"name": "a"}])
    assert missing_requests(both, ["requests.cpu", "limits.memory", "pods"]) == (
        "must specify limits.memory for: a,b; requests.cpu for: a,b"
    )


def test_containers_of_a_pod_with_resources_may_be_silent() -> None:
    """Unless the pod has none that count."""
    quiet = pod(resources={"requests": {"cpu": "1"}})
    assert missing_requests(quiet, ["requests.cpu", "limits.memory"]) == ""
    for none in ({}, {"requests": {"example.com/gpu": "1"}}):
        assert missing_requests(pod(resources=none), ["requests.cpu"]) == (
            "must specify requests.cpu for: c"
        )
