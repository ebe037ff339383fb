"""Empty members that are given and not printed: noted, put back, and told apart by type."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.schema import patchmeta
from kubetrio.schema.empties import below, found_in, in_wholes, known_in, put_back
from kubetrio.schema.structural import Report, compile_type
from kubetrio.schema.structural_shapes import struct
from kubetrio.wire.report import Empties

CORE = "io.k8s.api.core.v1."
NETWORKING = "io.k8s.api.networking.v1."


def decoded(kind: str, raw: dict[str, Any]) -> tuple[dict[str, Any], Empties | None]:
    report = Report()
    return compile_type(kind).decode(raw, report), report.empties


@pytest.mark.parametrize(
    ("kind", "raw", "done", "empties"),
    [
        (f"{CORE}ConfigMap", {"data": {}}, {}, {"data": {}}),
        (f"{CORE}ConfigMap", {"data": None}, {}, None),
        (f"{CORE}ConfigMap", {"data": {"a": ""}}, {"data": {"a": ""}}, None),
        (f"{CORE}Pod", {"spec": {"containers": []}}, {"containers": []}, None),
        (f"{CORE}PodSpec", {"containers": [], "volumes": []}, {"containers": []}, {"volumes": []}),
        (
            f"{CORE}PodSpec",
            {"containers": [{"name": "c", "args": [], "resources": {"limits": {}}}]},
            {"containers": [{"name": "c", "resources": {}}]},
            {"containers": {0: {"args": [], "resources": {"limits": {}}}}},
        ),
        (
            f"{NETWORKING}NetworkPolicySpec",
            {"podSelector": {"matchLabels": {}}},
            {"podSelector": {}},
            {"podSelector": {"matchLabels": {}}},
        ),
    ],
)
def test_what_is_given_and_empty_is_noted(
    kind: str, raw: dict[str, Any], done: dict[str, Any], empties: Empties | None
) -> None:
    """Lists, maps and bytes that Go leaves out; not null, not zeros, not what is printed."""
    found, noted = decoded(kind, raw)
    found.pop("metadata", None)
    assert found.get("spec", found) == done
    assert noted == empties


def test_an_unknown_member_beside_it_changes_nothing() -> None:
    """The careful way to decode notes the same."""
    assert decoded(f"{CORE}ConfigMap", {"data": {}, "zz": 1})[1] == {"data": {}}


def test_restored_documents_note_them_too() -> None:
    """As those of strategic merge patches and applies."""
    report = Report()
    compile_type(f"{CORE}ConfigMap").restore({"data": {}, "binaryData": None}, report)
    assert report.empties == {"data": {}}


def test_schemas_inside_of_definitions_are_looked_into() -> None:
    """Alternatives of a schema, lists of them, and one instead of a boolean."""
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    raw = {
        "items": {"required": []},
        "additionalProperties": {"enum": []},
        "allOf": [{"anyOf": []}],
    }
    assert found_in(struct(name), raw) == {
        "items": {"required": []},
        "additionalProperties": {"enum": []},
        "allOf": {0: {"anyOf": []}},
    }


def test_they_are_put_where_nothing_is() -> None:
    """What is there stays, what has no place is left out, and the object is not changed."""
    obj = {"spec": {"a": 1, "items": [{}, {"b": [1]}]}, "status": None}
    empties: Empties = {
        "spec": {"c": {}, "a": [], "items": {0: {"b": []}, 1: {"b": []}, 7: {"b": []}}},
        "status": {"d": []},
        "zz": {"d": []},
    }
    before = {"spec": {"a": 1, "items": [{}, {"b": [1]}]}, "status": None}
    assert put_back(obj, empties) == {
        "spec": {"a": 1, "c": {}, "items": [{"b": []}, {"b": [1]}]},
        "status": None,
    }
    assert obj == before
    assert put_back(obj, None) is obj


def test_ownership_sees_those_in_lists_that_are_owned_as_a_whole() -> None:
    """Endpoints are such a list, containers are not; nor is the list itself in one."""
    slices = patchmeta.for_type("io.k8s.api.discovery.v1.EndpointSlice")
    inside: Empties = {"endpoints": {0: {"deprecatedTopology": {}}}}
    assert in_wholes({**inside, "ports": []}, slices) == inside
    pod = patchmeta.for_type(f"{CORE}Pod")
    assert in_wholes({"spec": {"containers": {0: {"args": []}}}}, pod) is None
    assert in_wholes(None, pod) is None


def test_members_of_another_version_are_left_out() -> None:
    """A type keeps what it has."""
    spec = struct(f"{CORE}PodSpec")
    empties: Empties = {"volumes": [], "zz": [], "containers": {0: {"args": [], "yy": []}}}
    assert known_in(spec, empties) == {"volumes": [], "containers": {0: {"args": []}}}


def test_what_is_below_a_place() -> None:
    """An empty value, more of them, or nothing."""
    empties: Empties = {"metadata": {"managedFields": []}}
    assert below(empties, "metadata", "managedFields") == []
    assert below(empties, "spec", "x") is None
    assert below(None, "metadata") is None


def test_quantities_that_are_printed_in_another_form_are_noted() -> None:
    """As they were given; ownership of what is compared as a whole sees them, messages do not."""
    raw = {"spec": {"limits": [{"type": "Container", "max": {"cpu": "0.5", "memory": "1Gi"}}]}}
    found, empties = decoded(f"{CORE}LimitRange", raw)
    assert found["spec"]["limits"][0]["max"] == {"cpu": "500m", "memory": "1Gi"}
    assert empties == {"spec": {"limits": {0: {"max": {"cpu": "0.5"}}}}}
    wholes = in_wholes(empties, patchmeta.for_type(f"{CORE}LimitRange"))
    assert put_back(found, wholes)["spec"]["limits"][0]["max"]["cpu"] == "0.5"
    assert known_in(struct(f"{CORE}LimitRange"), empties or {}) is None


@pytest.mark.parametrize("given", ["1", "100m", "1Gi", 2, " 1 "])
def test_quantities_in_their_canonical_form_are_not(given: Any) -> None:
    """Numbers are read as their text, and spaces around it do not count."""
    assert decoded(f"{CORE}ResourceRequirements", {"limits": {"cpu": given}})[1] is None
