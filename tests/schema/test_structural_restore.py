"""Merged documents to types, by the rules of the converter that ends a strategic merge patch."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.schema.structural import Report, compile_type
from kubetrio.wire.gojson import Float, GoJsonError

CORE = "io.k8s.api.core.v1."


def restore(kind: str, merged: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    strict: list[str] = []
    return compile_type(CORE + kind).restore(merged, Report(strict)), strict


@pytest.mark.parametrize(
    ("kind", "merged", "why"),
    [
        ("ConfigMap", {"kind": 1}, "cannot convert int64 to string"),
        ("ConfigMap", {"data": {"a": True}}, "unrecognized type: string"),
        ("ConfigMap", {"data": {"a": Float("1.5")}}, "unrecognized type: string"),
        ("ConfigMap", {"data": {"a": {}}}, "unrecognized type: string"),
        ("ConfigMap", {"data": []}, "cannot restore map from slice"),
        ("ConfigMap", {"metadata": "x"}, "cannot restore struct from: string"),
        ("ConfigMap", {"metadata": {"finalizers": "x"}}, "cannot restore slice from string"),
        ("ConfigMap", {"metadata": {"uid": 1}}, "cannot convert int64 to types.UID"),
        ("ConfigMap", {"immutable": 1}, "unrecognized type: bool"),
        ("ConfigMap", {"immutable": "x"}, "unrecognized type: bool"),
        ("ConfigMap", {"binaryData": {"a": 1}}, "cannot restore slice from int64"),
        (
            "ConfigMap",
            {"binaryData": {"a": "*"}},
            "error decoding from json: illegal base64 data at input byte 0",
        ),
        ("PodSpec", {"priority": "x"}, "unrecognized type: int32"),
        ("PodSpec", {"priority": Float("1.5")}, "cannot convert float64 to int32"),
        ("PodSpec", {"priority": Float("1e999")}, "cannot convert float64 to int32"),
        ("PodSpec", {"hostNetwork": "yes"}, "unrecognized type: bool"),
        ("PodSpec", {"restartPolicy": 1}, "cannot convert int64 to v1.RestartPolicy"),
        (
            "ObjectReference",
            {"name": [], "kind": 1},
            "cannot convert int64 to string",  # the struct's order, not the document's
        ),
        (
            "Taint",
            {"timeAdded": 1},
            "json: cannot unmarshal number into Go value of type string",
        ),
    ],
)
def test_what_does_not_fit(kind: str, merged: dict[str, Any], why: str) -> None:
    """The first member of the struct, without saying which."""
    with pytest.raises(GoJsonError) as caught:
        restore(kind, merged)
    assert str(caught.value) == why


def test_unknown_fields_are_told_in_the_order_of_the_alphabet() -> None:
    """With their paths, but for the keys of maps; nothing is left of them."""
    merged = {
        "zz": 1,
        "containers": [{"name": "c", "bogus": 1, "resources": {}}],
        "aa": {"x": 1},
    }
    done, strict = restore("PodSpec", merged)
    assert strict == [
        'unknown field "aa"',
        'unknown field "containers[0].bogus"',
        'unknown field "zz"',
    ]
    assert done == {"containers": [{"name": "c", "resources": {}}]}


def test_numbers_are_converted() -> None:
    """Whole fractions are integers, and what is too long wraps."""
    done, _ = restore("PodSpec", {"priority": Float("3.0"), "containers": None})
    assert done["priority"] == 3
    done, _ = restore("PodSpec", {"priority": 2**31 + 5, "zz": 1, "containers": None})
    assert done["priority"] == 5 - 2**31


def test_bytes_may_be_numbers() -> None:
    """As a list is what bytes are."""
    done, _ = restore("ConfigMap", {"binaryData": {"a": [104, 105]}})
    assert done["binaryData"] == {"a": "aGk="}


def test_a_document_that_fits_is_decoded_as_any() -> None:
    """Nulls are dropped, what Go always prints is there."""
    done, strict = restore("ConfigMap", {"metadata": {"name": "a", "labels": None}, "data": None})
    assert (done, strict) == ({"metadata": {"name": "a"}}, [])


@pytest.mark.parametrize("fraction", [0.5, Float("0.5")])
def test_fractions_are_quantities(fraction: float) -> None:
    """Also those that came out of YAML and not of JSON."""
    merged = {"limits": {"cpu": fraction}}
    assert restore("ResourceRequirements", merged) == ({"limits": {"cpu": "500m"}}, [])
