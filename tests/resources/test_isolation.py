"""What an update may change: each path its part, generations, changes that are none."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.resources.isolation import count_generation, keep_immutable_parts, unchanged
from kubetrio.schema.kind import Strategy

Object = dict[str, Any]
COUNTING = Strategy(
    generation=True, generation_counts=True, generation_metadata=("annotations",), status=True
)


def counted(**more: Any) -> Object:
    meta = {"name": "n", "generation": 4, "annotations": {"a": "b"}}
    return {"kind": "K", "metadata": meta, "spec": {"x": 1}, "status": {"y": 1}, **more}


@pytest.mark.parametrize(
    ("new", "generation"),
    [
        (counted(), 4),
        (counted(spec={"x": 2}), 5),
        (counted(status={"y": 2}), 4),
        (counted(extra=1), 5),
        (counted(metadata={"name": "n", "annotations": {"a": "c"}}), 5),
        (counted(metadata={"name": "n", "annotations": {"a": "b"}, "labels": {"l": "m"}}), 4),
        (counted(metadata={"name": "n", "annotations": {"a": "b"}, "generation": 99}), 4),
    ],
)
def test_generations_count_changes_of_the_desired_state(new: Object, generation: int) -> None:
    """Not status, not labels, and never what the client says."""
    assert count_generation(new, counted(), "", COUNTING)["metadata"]["generation"] == generation


@pytest.mark.parametrize(("subresource", "generation"), [("", 5), ("resize", 5), ("status", 4)])
def test_a_status_does_not_count(subresource: str, generation: int) -> None:
    """Even where changes of metadata do, which it may carry."""
    new = counted(metadata={"name": "n", "annotations": {"a": "c"}})
    found = count_generation(new, counted(), subresource, COUNTING)
    assert found["metadata"]["generation"] == generation


def test_what_has_no_generation_gets_none() -> None:
    """A client cannot make one up."""
    new, old = counted(), counted(metadata={"name": "n"})
    assert "generation" not in count_generation(new, old, "", Strategy())["metadata"]


def test_generations_that_do_not_count() -> None:
    """Some objects have one that says nothing, some get theirs with the first change."""
    changed, old = counted(spec={"x": 2}), counted()
    fixed = Strategy(generation=True)
    assert count_generation(changed, old, "", fixed)["metadata"]["generation"] == 4
    late = Strategy(generation_counts=True)
    new, old = counted(spec={"x": 2}), counted(metadata={"name": "n"})
    assert count_generation(new, old, "", late)["metadata"]["generation"] == 1
    new = counted()
    assert "generation" not in count_generation(new, old, "", late)["metadata"]


def full(**more: Any) -> Object:
    meta = {"name": "n", "uid": "u", "resourceVersion": "5", "creationTimestamp": "t"}
    spec = {"x": 1, "finalizers": ["kubernetes"]}
    return {"kind": "K", "metadata": meta, "spec": spec, "status": {"y": 1}, **more}


@pytest.mark.parametrize(
    ("subresource", "status", "spec", "phase"),
    [
        ("", True, 2, 1),  # the object, where status has its own path
        ("", False, 2, 2),  # the object, where it has none
        ("status", True, 1, 2),
        ("finalize", True, 1, 1),
    ],
)
def test_each_path_writes_its_part(
    subresource: str,
    status: bool,
    spec: int,
    phase: int,
) -> None:
    """The rest comes from the stored object."""
    new = full(spec={"x": 2}, status={"y": 2})
    result = keep_immutable_parts(new, full(), subresource, Strategy(status=status))
    assert (result["spec"]["x"], result["status"]["y"]) == (spec, phase)
    assert ("finalizers" in result["spec"]) is (subresource == "status")


def test_times_of_managed_fields_are_no_change() -> None:
    """An apply that changes nothing but when it was made writes nothing."""
    entry = {"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    fields: Object = {"fieldsV1": {"f:data": {}}}

    def at(time: str, manager: str = "m") -> Object:
        one = {**entry, "manager": manager, "time": time, **fields}
        return {"metadata": {"name": "n", "managedFields": [one]}}

    assert unchanged(at("2001-01-01T00:00:00Z"), at("2002-01-01T00:00:00Z"))
    assert not unchanged(at("2001-01-01T00:00:00Z"), at("2001-01-01T00:00:00Z", "other"))
    assert not unchanged({**at("x"), "data": {}}, at("y"))


def test_what_ends_an_object_is_never_forgotten_and_another_grace_is_left_to_be_refused() -> None:
    """Without the members both stay; a grace that is given is not mended."""
    ending = {"deletionTimestamp": "2024-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
    identity = {"name": "n", "uid": "u", "resourceVersion": "1", "creationTimestamp": "t"}
    old = {"metadata": {**identity, **ending}}
    meta = keep_immutable_parts({"metadata": dict(identity)}, old, "", Strategy())["metadata"]
    assert {name: meta[name] for name in ending} == ending
    given = {"deletionTimestamp": "2025-01-01T00:00:00Z", "deletionGracePeriodSeconds": 7}
    meta = keep_immutable_parts({"metadata": {**identity, **given}}, old, "", Strategy())[
        "metadata"
    ]
    assert meta["deletionTimestamp"] == ending["deletionTimestamp"]
    assert meta["deletionGracePeriodSeconds"] == 7


@pytest.mark.parametrize(("given", "wanted"), [({}, 30), ({"deletionGracePeriodSeconds": 5}, 5)])
def test_a_grace_period_is_kept_but_not_put_back(given: Object, wanted: int) -> None:
    """Leaving it out changes nothing; another one is left for validation to refuse."""
    meta = {"uid": "u", "creationTimestamp": "t", "resourceVersion": "1", "name": "n"}
    old = {"metadata": {**meta, "deletionGracePeriodSeconds": 30}}
    new = keep_immutable_parts({"metadata": {**meta, **given}}, old, "", COUNTING)
    assert new["metadata"]["deletionGracePeriodSeconds"] == wanted
