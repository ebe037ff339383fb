"""Who owns which fields of new objects, and shapes that are remembered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.kinds.builtin import registry
from kubetrio.resources.fieldmanager import FieldManager, shape
from kubetrio.schema.kind import Kind

CONFIGMAPS = registry().resources["", "v1", "configmaps"]


def created(data: dict[str, str], manager: str = "me", kind: Kind = CONFIGMAPS) -> Any:
    obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "n"}, "data": data}
    FieldManager(kind, manager, "2023-11-14T22:13:20Z").created(obj)
    return obj["metadata"]["managedFields"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": "x"}, ("a",)),
        ({"a": ""}, (("a", False),)),
        ({"a": {"b": 1}}, (("a", ("b",)),)),
        ({"a": {}}, (("a", ()),)),
        ({"a": []}, None),
        ({"a": {"b": [1]}}, None),
    ],
)
def test_shapes(value: Any, expected: Any) -> None:
    """Keys and which values are zero; lists have none."""
    assert shape(value) == expected


@settings(max_examples=40)
@given(data=st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "x", "y"]), max_size=3))
def test_a_remembered_shape_owns_the_same(data: dict[str, str]) -> None:
    """As an object that is looked at in full."""
    first, second = created(data), created(data)
    fresh = replace(CONFIGMAPS)  # a value of which nothing is remembered
    assert first == second == created(data, kind=fresh)


def test_the_manager_is_that_of_the_write() -> None:
    """Also when the shape was seen with another one."""
    assert [created({"a": "1"}, who)[0]["manager"] for who in ("one", "two")] == ["one", "two"]


GENERATION = "f:deprecated.daemonset.template.generation"


def test_what_only_the_internal_version_has_belongs_to_the_writer() -> None:
    """A DaemonSet's template generation: an annotation outside, and not in this object."""
    daemon_sets = registry().resources["apps", "v1", "daemonsets"]
    spec = {"template": {"spec": {"containers": [{"name": "c"}]}}}
    obj: dict[str, Any] = {"kind": "DaemonSet", "apiVersion": "apps/v1", "spec": spec}
    manager = FieldManager(daemon_sets, "me", "2023-11-14T22:13:20Z")
    manager.created(obj)
    (entry,) = obj["metadata"]["managedFields"]
    assert entry["fieldsV1"]["f:metadata"] == {"f:annotations": {".": {}, GENERATION: {}}}
    assert "annotations" not in obj["metadata"]
    # Who leaves it out of an update sets it back.
    kept = {GENERATION.removeprefix("f:"): "1"}
    live = {**obj, "metadata": {**obj["metadata"], "annotations": kept}}
    other = FieldManager(daemon_sets, "you", "2023-11-14T22:13:21Z")
    for meta, owners in [({"annotations": kept}, ["me"]), ({}, ["me", "you"])]:
        new: dict[str, Any] = {**obj, "metadata": dict(meta)}
        other.updated(live, new)
        assert [each["manager"] for each in new["metadata"]["managedFields"]] == owners


CLAIM = {
    "kind": "ResourceClaim",
    "apiVersion": "resource.k8s.io/v1",
    "metadata": {"name": "c"},
    "status": {"devices": [{"driver": "d", "pool": "p", "device": "x", "data": {"a": [None]}}]},
}


def test_items_without_an_optional_key_have_owners() -> None:
    """A device without a shareID is known by its other keys."""
    claims = registry().resources["resource.k8s.io", "v1", "resourceclaims"]
    fields = FieldManager(claims, "me", "2023-11-14T22:13:20Z", "status")
    live: Any = {**CLAIM, "status": {}}
    fields.created(live)
    new: Any = {**CLAIM, "metadata": {"name": "c"}}
    live["metadata"] = {**live["metadata"], "managedFields": created({"a": "b"})}
    fields.updated(live, new)
    mine = new["metadata"]["managedFields"][-1]
    device = mine["fieldsV1"]["f:status"]["f:devices"]
    key = 'k:{"device":"x","driver":"d","pool":"p"}'
    assert device[key] == {".": {}, "f:data": {}, "f:device": {}, "f:driver": {}, "f:pool": {}}


@pytest.mark.parametrize("version", ["//", "a/b/c"])
def test_entries_of_no_version_are_dropped(version: str) -> None:
    """Clients write entries too; what cannot be read leaves none, as in kube-apiserver."""
    live: Any = {"metadata": {"name": "n"}, "data": {"a": "b"}}
    entry = created({"a": "b"})[0] | {"apiVersion": version}
    new: Any = {"metadata": {"name": "n", "managedFields": [entry]}, "data": {"a": "c"}}
    FieldManager(CONFIGMAPS, "me", "2023-11-14T22:13:20Z").updated(live, new)
    assert "managedFields" not in new["metadata"]
