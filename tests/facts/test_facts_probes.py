"""What is worked out of a server's answers; the questions are asked in ``test_facts_server``."""

from typing import Any

import pytest

from facts.probes import changes, leaves, masked, name_class, pointers


def test_pointers_of_leaves() -> None:
    """Escaped as RFC 6901 says; what is empty is a leaf."""
    assert dict(pointers({"a/b": [1, {}], "c~": {"d": []}})) == {
        "/a~1b/0": 1,
        "/a~1b/1": {},
        "/c~0/d": [],
    }


def test_changes_of_an_object() -> None:
    """Added, changed and removed; not what every object gets."""
    sent = {"metadata": {"name": "x"}, "spec": {"cpu": "0.5", "gone": True}}
    stored = {
        "metadata": {"name": "x", "uid": "u", "resourceVersion": "1", "generation": 1},
        "spec": {"cpu": "500m"},
    }
    assert changes(sent, stored) == {
        "added": {"/metadata/generation": 1},
        "changed": {"/spec/cpu": ["0.5", "500m"]},
        "removed": ["/spec/gone"],
    }


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("0fae0b1d-66ea-41c5-a2ab-7f05bb1c6e4a", "<uid>"),
        ("2026-01-02T03:04:05Z", "<now>"),
        ("kube-api-access-bcdfg", "kube-api-access-<5 random>"),
        ("plain", "plain"),
        (5, 5),
    ],
)
def test_what_differs_each_time_is_masked(value: Any, shown: Any) -> None:
    """So that two runs are equal."""
    assert masked(value) == shown


@pytest.mark.parametrize(
    ("taken", "row"),
    [
        (["dot", "digitFirst", "plain", "long"], {"class": "dns1123Subdomain253"}),
        (["digitFirst", "plain"], {"class": "dns1123Label63"}),
        (["dot", "digitFirst", "plain", "long", "upper", "colon"], {"class": "pathSegment"}),
        ([], {"class": "special"}),
        (["dot", "plain"], {"class": "other", "accepts": "dot plain"}),
    ],
)
def test_classes_of_names(taken: list[str], row: dict[str, str]) -> None:
    """By which of the names are taken."""
    assert name_class(taken) == row


def test_fields_to_select_by() -> None:
    """Those that hold one value, through references, as deep as asked."""
    types = {"Spec": {"properties": {"nodeName": {"type": "string"}, "list": {"type": "array"}}}}
    pod = {"properties": {"kind": {"type": "string"}, "spec": {"$ref": "Spec"}}}
    assert list(leaves(types, pod, 2)) == ["kind", "spec.nodeName"]
    assert list(leaves(types, pod, 1)) == ["kind"]
