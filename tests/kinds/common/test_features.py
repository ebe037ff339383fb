"""Fields of features that are off."""

from __future__ import annotations

from checks.prepared import POD_SPEC, create, decode, update


def test_fields_of_features_that_are_off_are_dropped() -> None:
    """Unless the stored object has them from another time."""
    lease = create("coordination.k8s.io", "leases", spec={"preferredHolder": "x"})
    assert lease["spec"] == {}
    stored = decode("coordination.k8s.io", "leases", spec={"preferredHolder": "x"})
    new = update("coordination.k8s.io", "leases", stored, spec={"preferredHolder": "y"})
    assert new["spec"] == {"preferredHolder": "y"}
    stop = {"name": "c", "image": "i", "lifecycle": {"stopSignal": "SIGUSR1"}}
    pod = create("", "pods", spec={"containers": [stop]})
    assert "lifecycle" not in pod["spec"]["containers"][0]
    stop["lifecycle"] = {}
    pod = create("", "pods", spec={"containers": [stop]})
    assert pod["spec"]["containers"][0]["lifecycle"] == {}
    old = decode("", "pods", spec={"initContainers": [{"lifecycle": {"stopSignal": "SIGUSR1"}}]})
    stop["lifecycle"] = {"stopSignal": "SIGUSR2"}
    new = update("", "pods", old, spec={"containers": [stop]})
    assert new["spec"]["containers"][0]["lifecycle"] == {"stopSignal": "SIGUSR2"}


def test_statuses_of_features_that_are_off_are_dropped() -> None:
    """By writers of the status, unless they are there already."""
    mount = {"name": "v", "mountPath": "/v", "volumeStatus": {"image": {"imageRef": "r"}}}
    status = {
        "containerStatuses": [{"name": "c", "volumeMounts": [mount]}],
        "nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "r"}],
    }
    pod = create("", "pods", spec=POD_SPEC)
    new = update("", "pods", pod, "status", spec=POD_SPEC, status=status)
    assert "nodeAllocatableResourceClaimStatuses" not in new["status"]
    assert "volumeStatus" not in new["status"]["containerStatuses"][0]["volumeMounts"][0]
    stored = decode("", "pods", spec=POD_SPEC, status=status)
    kept = update("", "pods", stored, "status", spec=POD_SPEC, status=status)
    assert kept["status"]["nodeAllocatableResourceClaimStatuses"]
    assert kept["status"]["containerStatuses"][0]["volumeMounts"] == [mount]


def test_lists_of_attribute_values_are_an_alpha_feature() -> None:
    """They are dropped without a word, except where they are stored."""
    kind = ("resource.k8s.io", "resourceslices")
    attributes = {"a": {"ints": [1]}, "b": {"int": 1}}
    spec = {"driver": "d", "devices": [{"name": "n", "attributes": attributes}]}
    old = create(*kind, spec=spec)
    assert old["spec"]["devices"][0]["attributes"] == {"a": {}, "b": {"int": 1}}
    old["spec"]["devices"][0]["attributes"]["a"] = {"ints": [1]}
    new = update(*kind, old, spec=spec)
    assert new["spec"]["devices"][0]["attributes"]["a"] == {"ints": [1]}
