"""Checks of claims on volumes."""

from __future__ import annotations

from typing import Any

import pytest
from checks.helpers import (
    Json,
    changed,
    made,
    refused,
    refused_change,
    resource,
)
from checks.recorded import Case, assert_as_recorded, recorded

CLAIMS = resource("persistentvolumeclaims")
SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
BOUND = {"phase": "Bound", "capacity": {"storage": "1Gi"}}


@pytest.mark.parametrize(
    ("status", "path", "value", "expected"),
    [
        (BOUND, "spec.resources.requests.storage", "3Gi", []),
        (
            BOUND,
            "spec.resources.requests.storage",
            "1Gi",
            [
                (
                    "spec.resources.requests.storage: Forbidden: field can not be less than "
                    "status.capacity"
                )
            ],
        ),
        (BOUND, "spec.resources.requests.storage", "1.5Gi", []),
        ({}, "spec.volumeName", "pv", []),
        ({}, "spec.storageClassName", "fast", []),
        ({}, "spec.volumeMode", "Block", None),
        (BOUND, "spec.volumeAttributesClassName", "gold", []),
    ],
)
def test_claim_update(status: Json, path: str, value: Any, expected: list[str] | None) -> None:
    """A bound claim may grow; nothing else changes."""
    old = changed(made(CLAIMS, {"spec": SPEC}), "status", status)
    found = refused_change(CLAIMS, old, changed(old, path, value))
    if expected is None:
        assert 'volumeMode: Invalid value: "Block": field is immutable' in found
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"dataSourceRef": {"kind": "Thing", "name": "a", "apiGroup": "A_b"}},
            None,
        ),
        (
            {"accessModes": ["Often"]},
            [
                (
                    'spec.accessModes: Unsupported value: "Often": supported values: '
                    '"ReadOnlyMany", '
                    '"ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
                )
            ],
        ),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            [
                (
                    "spec.selector.matchExpressions[0].values: Required value: must be specified "
                    "when "
                    "`operator` is 'In' or 'NotIn'"
                )
            ],
        ),
    ],
)
def test_claim(spec: Json, expected: list[str] | None) -> None:
    """Claims say what they want in the right words."""
    found = refused(CLAIMS, {"spec": {**SPEC, **spec}})
    if expected is None:
        assert found
    else:
        assert found == expected


@pytest.mark.parametrize("name", [None, "gold"])
def test_what_may_change_is_no_change(name: str | None) -> None:
    """The class of a bound claim is not among the changes that are told."""
    old = made(CLAIMS, {"spec": SPEC})
    old["status"] = BOUND
    new = changed(changed(old, "spec.volumeMode", "Block"), "spec.volumeAttributesClassName", name)
    told = "\n".join(refused_change(CLAIMS, old, new))
    assert '+  "volumeMode": "Block"' in told
    assert 'volumeAttributesClassName"' not in told


def test_attributes_class_stays_once_applied() -> None:
    """Before it was, it may go again (KEP-3751)."""
    old = made(CLAIMS, _claim_with_class())
    old["status"]["phase"] = "Bound"
    new = changed(old, "spec.volumeAttributesClassName", None)
    assert refused_change(CLAIMS, old, new) == []
    old["status"]["currentVolumeAttributesClassName"] = "gold"
    assert refused_change(CLAIMS, old, new) == [
        (
            "spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when "
            "status.currentVolumeAttributesClassName is not nil"
        )
    ]


def _claim_with_class() -> Json:
    return {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeAttributesClassName": "gold",
        }
    }


def test_bad_claim_is_told_once_on_update() -> None:
    """A claim is checked as a part of the change."""
    old = made(CLAIMS, _claim_with_class())
    new = changed(old, "spec.volumeMode", "Tape")
    found = refused_change(CLAIMS, old, new)
    text = 'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'
    assert found.count(text) == 1


def test_status_of_a_claim() -> None:
    """Names of members in causes are those of the API."""
    old = made(CLAIMS, _claim_with_class())
    new = changed(old, "status.allocatedResourceStatuses", {"cpu": "NodeResizePending"})
    assert refused_change(CLAIMS, old, new, "status") == [
        ('status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: "storage"')
    ]


def test_the_group_of_a_data_source_is_checked_when_it_is_new() -> None:
    name = "dataSourceRef"
    source = {"apiGroup": "a_b", "kind": "K", "name": "n"}
    body = {"spec": {**SPEC, name: source}}
    assert any("apiGroup: Invalid value" in line for line in refused(CLAIMS, body))
    old = made(CLAIMS, body)
    assert refused_change(CLAIMS, old, changed(old, "metadata.labels", {"a": "b"})) == []
    good = made(CLAIMS, {"spec": SPEC})
    new = changed(good, f"spec.{name}", source)
    assert any("apiGroup: Invalid value" in line for line in refused_change(CLAIMS, good, new))


@pytest.mark.parametrize("case", recorded("", "persistentvolumeclaims"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
