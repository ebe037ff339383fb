"""What strategies of kinds have in common: status, and metadata beside it."""

from __future__ import annotations

import pytest
from checks.prepared import create, decode, update


def test_status_is_reset_except_for_nodes() -> None:
    """Nobody creates an object with a status, but a kubelet registers its node with one."""
    quota = create("", "resourcequotas", status={"hard": {"cpu": "1"}})
    assert quota["status"] == {}
    node = create("", "nodes", status={"capacity": {"cpu": "1"}})
    assert node["status"]["capacity"] == {"cpu": "1"}


@pytest.mark.parametrize("name", ["flowschemas", "prioritylevelconfigurations"])
def test_metadata_beside_a_status_of_flow_control_is_ignored(name: str) -> None:
    """Even what would be refused elsewhere; only the fields' owners are noted."""
    kind = "flowcontrol.apiserver.k8s.io", name
    old = {**decode(*kind), "metadata": {"name": "x", "uid": "u", "labels": {"a": "b"}}}
    meta = {"name": "x", "uid": "other", "deletionGracePeriodSeconds": 4, "managedFields": []}
    new = update(*kind, old, "status", metadata=meta)
    owners = {"managedFields": []} if "managedFields" in new["metadata"] else {}
    assert new["metadata"] == {**old["metadata"], **owners}


def test_status_writers_and_metadata() -> None:
    """A controller may label definitions by their status, but not API services."""
    labelled = {"name": "x", "labels": {"a": "b"}}
    services = ("apiregistration.k8s.io", "apiservices")
    old = create(*services, spec={"version": "v1"})
    assert "labels" not in update(*services, old, "status", metadata=labelled)["metadata"]
    definitions = ("apiextensions.k8s.io", "customresourcedefinitions")
    old = create(*definitions, spec={"group": "g", "scope": "Cluster", "names": {}, "versions": []})
    new = update(*definitions, old, "status", metadata=labelled, spec=old["spec"])
    assert new["metadata"]["labels"] == {"a": "b"}


def test_what_status_writers_say_of_metadata_is_kept_dropped_or_checked() -> None:
    """As each kind does it; where it is dropped, owners of fields are still told."""
    meta = {
        "name": "x",
        "labels": {"a": "b"},
        "deletionTimestamp": "2024-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 3,
        "managedFields": [{"manager": "m"}],
    }
    requests = ("certificates.k8s.io", "certificatesigningrequests")
    old = create(*requests, spec={"request": "", "signerName": "s"})
    for subresource in ("status", "approval"):
        found = update(*requests, old, subresource, metadata=meta, spec=old["spec"])["metadata"]
        assert found["labels"] == {"a": "b"}
    schemas = ("flowcontrol.apiserver.k8s.io", "flowschemas")
    old = create(*schemas, spec={"priorityLevelConfiguration": {"name": "p"}})
    found = update(*schemas, old, "status", metadata=meta, spec=old["spec"])["metadata"]
    assert found == {**old["metadata"], "managedFields": [{"manager": "m"}]}
    services = ("apiregistration.k8s.io", "apiservices")
    old = create(*services, spec={"version": "v1"})
    found = update(*services, old, "status", metadata=meta, spec=old["spec"])["metadata"]
    assert ("labels" in found, "deletionTimestamp" in found) == (False, True)
