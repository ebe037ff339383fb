"""What strategies of kinds have in common: status, and metadata beside it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.identity import UserInfo
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import Context, Json
from kubetrio.schema.structural import Report, compile_type

CONTEXT = Context(
    now="2026-01-01T00:00:00Z",
    uid="u-1",
    user=UserInfo("alice", "", ("devs",), {"k": ("v",)}),
)
LATER = Context(now="2026-01-02T00:00:00Z")


def resource(group: str, name: str) -> Kind:
    found = registry().get(group, "v1", name)
    assert found is not None
    return found


def decode(group: str, name: str, **raw: Any) -> Json:
    kind = resource(group, name)
    raw.setdefault("metadata", {"name": "x"})
    return compile_type(kind.schema_name).decode(
        {"kind": kind.kind, "apiVersion": kind.api_version, **deepcopy(raw)}, Report()
    )


def create(group: str, name: str, **raw: Any) -> Json:
    kind = resource(group, name)
    obj = decode(group, name, **raw)
    kind.rules.default(obj)
    kind.rules.prepare_create(obj, CONTEXT)
    kind.rules.default(obj)
    return obj


def update(group: str, name: str, old: Json, sub: str = "", /, **raw: Any) -> Json:
    kind = resource(group, name)
    new = decode(group, name, **raw)
    kind.rules.default(new)
    before = deepcopy(old)
    kind.rules.prepare_update(new, old, LATER, sub)
    assert old == before
    return new


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
