"""Who owns which fields of new objects, and shapes that are remembered."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.corpus import samples
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.resources.fieldmanager import (
    REMEMBERED_SHAPES,
    FieldManager,
    _remembered,
    _shapes_of,
    shape,
)
from kubetrio.schema.kind import Kind
from kubetrio.wire.report import Report

CONFIGMAPS = registry().resources["", "v1", "configmaps"]


def created(data: dict[str, str], manager: str = "me", kind: Kind = CONFIGMAPS) -> Any:
    obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "n"}, "data": data}
    FieldManager(kind, manager, "2023-11-14T22:13:20Z").created(obj)
    return obj["metadata"]["managedFields"]  # type: ignore[index]


PODS = registry().resources["", "v1", "pods"]


def pod(*containers: Any, **meta: Any) -> Any:
    return {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": {"containers": containers}}


def shape_of(obj: Any, kind: Kind = PODS) -> Any:
    """The shape of an object as a body has it: JSON."""
    return shape(json.loads(json.dumps(obj)), kind.type.merge)


def test_values_do_not_matter_unless_they_are_zero() -> None:
    """Nor does what a list holds that is owned as a whole."""
    one = pod({"name": "c", "image": "a", "args": ["1"]}, labels={"a": "b"})
    other = pod({"name": "c", "image": "b", "args": ["1", "2"]}, labels={"a": "c"})
    assert shape_of(one) == shape_of(other) is not None
    for image in ("", None):
        assert shape_of(pod({"name": "c", "image": image, "args": ["1"]}, labels={"a": "b"})) != (
            shape_of(one)
        )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pod(labels={"a": "b"}), pod(labels={"b": "b"})),
        (pod(finalizers=["a"]), pod(finalizers=["b"])),
        (pod({"name": "a"}), pod({"name": "b"})),
        (pod({"name": "a"}), pod({"name": "a"}, {"name": "a"})),
        (
            pod({"name": "a", "ports": [{"containerPort": 1, "protocol": "TCP"}]}),
            pod({"name": "a", "ports": [{"containerPort": 1, "protocol": "UDP"}]}),
        ),
    ],
)
def test_members_and_keys_of_items_do(one: Any, other: Any) -> None:
    """They are what is owned."""
    assert shape_of(one) != shape_of(other)


@pytest.mark.parametrize("odd", [pod("c"), pod(finalizers=[["a"]])])
def test_items_of_a_wrong_form_have_no_shape(odd: Any) -> None:
    """They are looked at in full, which tells what is wrong with them."""
    assert shape_of(odd) is None


def changed(value: Any) -> Any:
    """A value with other texts and numbers where none is zero."""
    if isinstance(value, dict):
        return {key: item if key in KEYS else changed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [changed(item) for item in value]
    if isinstance(value, str):
        return value and value + "x"
    return value


KEYS = frozenset(
    {"name", "containerPort", "port", "protocol", "ip", "uid", "key", "type", "mountPath"}
    | {"devicePath", "topologyKey", "whenUnsatisfiable", "finalizers", "request", "resourceName"}
)
"""Members that items of lists are known by, and lists of names."""


def owned(obj: Any, kind: Kind) -> Any:
    """Who owns what of a new object."""
    FieldManager(kind, "me", "2023-11-14T22:13:20Z").created(obj)
    return obj["metadata"].get("managedFields")


def test_remembered_shapes_own_what_others_do() -> None:
    """For recorded objects of every kind, as they are and with other values."""
    resources = {kind.group_version_kind: kind for kind in registry().resources.values()}
    seen = remembered = 0
    for sample in samples():
        kind = resources.get(
            GroupVersionKind(*GroupVersion.parse(sample["apiVersion"]), sample["kind"])
        )
        if kind is None or not kind.schema_name:
            continue
        for raw in (sample, changed(sample)):
            try:
                obj = kind.type.decode(json.loads(json.dumps(raw)), Report())
                kind.rules.default(obj)
            except ValueError:
                continue
            obj.setdefault("metadata", {}).pop("managedFields", None)
            expected = owned(json.loads(json.dumps(obj)), replace(kind))
            known = len(_shapes_of(kind))
            assert owned(obj, kind) == expected, sample
            seen += 1
            remembered += known == len(_shapes_of(kind))
    assert remembered > seen // 2 > 200, (seen, remembered)


def test_shapes_that_do_not_come_again_make_room() -> None:
    """Those of a kind are forgotten when there are too many; the number is bounded."""
    for number in range(REMEMBERED_SHAPES + 10):
        created({f"k{number}": "v"})
    assert 0 < _remembered() <= REMEMBERED_SHAPES
    assert created({"a": "b"}) == created({"a": "c"})


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
