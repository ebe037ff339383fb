"""Checks of claims on devices and their templates."""

from __future__ import annotations

from copy import deepcopy

import pytest
from checks.helpers import Json, changed, made, refused, refused_change, resource
from checks.recorded import Case, assert_as_recorded, recorded

GROUP = "resource.k8s.io"
CLAIMS = resource("resourceclaims", GROUP)
REQUEST: Json = {"name": "r", "exactly": {"deviceClassName": "c"}}
RESULT: Json = {"request": "r", "driver": "d.example", "pool": "p", "device": "one"}


def allocated(**device: object) -> tuple[Json, Json]:
    """A claim with an allocated device, and the same with something told of the device."""
    old = made(CLAIMS, {"spec": {"devices": {"requests": [REQUEST]}}})
    old["status"] = {"allocation": {"devices": {"results": [RESULT]}}}
    new = deepcopy(old)
    new["status"]["devices"] = [{"driver": "d.example", "pool": "p", "device": "one", **device}]
    return old, new


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("10.9.8.7/24", ""),
        ("2001:db8::1/64", ""),
        ("10.9.8.7", "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"),
        ("10.09.8.7/24", 'must be in canonical form ("10.9.8.7/24")'),
        ("2001:0db8::1/64", 'must be in canonical form ("2001:db8::1/64")'),
        ("::ffff:10.9.8.7/120", 'must be in canonical form ("10.9.8.7/24")'),
    ],
)
def test_addresses_of_devices(address: str, message: str) -> None:
    """An address has the length of its prefix and is written in one way."""
    old, new = allocated(networkData={"ips": [address]})
    path = "status.devices[0].networkData.ips[0]"
    expected = [f'{path}: Invalid value: "{address}": {message}'] if message else []
    assert refused_change(CLAIMS, old, new, "status") == expected


def test_conditions_of_devices_are_whole() -> None:
    """A condition says since when and why."""
    old, new = allocated(conditions=[{"type": "Ready", "status": "True"}])
    assert refused_change(CLAIMS, old, new, "status") == [
        "status.devices[0].conditions[0].lastTransitionTime: Required value",
        "status.devices[0].conditions[0].reason: Required value",
    ]


def test_changed_templates_are_checked_and_refused() -> None:
    """The new spec of a template is checked, though it may not change."""
    templates = resource("resourceclaimtemplates", GROUP)
    old = made(templates, {"spec": {"spec": {"devices": {"requests": [REQUEST]}}}})
    new = deepcopy(old)
    del new["spec"]["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"]
    found = refused_change(templates, old, new)
    request = "spec.spec.devices.requests[0]"
    wanted = f"{request}.exactly.deviceClassName: Required value"
    assert len(found) == 2
    assert wanted in found
    assert any(cause.endswith(": field is immutable") for cause in found)


def test_a_template_has_labels_and_annotations_alone() -> None:
    metadata = {"name": "x", "uid": "u", "labels": {"a": "b"}, "annotations": {"a": "b"}}
    body = {"spec": {"metadata": metadata, "spec": {}}}
    templates = resource("resourceclaimtemplates", "resource.k8s.io")
    assert refused(templates, body) == [
        "spec.metadata.name: Forbidden: cannot be set",
        "spec.metadata.uID: Forbidden: cannot be set",
    ]


def test_conditions_need_a_time_and_a_reason() -> None:
    budgets = resource("poddisruptionbudgets", "policy")
    old = made(budgets, {"spec": {"minAvailable": 1}})
    condition = {"type": "A", "status": "True", "message": "m"}
    new = changed(old, "status.conditions", [condition])
    assert refused_change(budgets, old, new, "status") == [
        "status.conditions[0].lastTransitionTime: Required value",
        "status.conditions[0].reason: Required value",
    ]


@pytest.mark.parametrize(
    "case", recorded("resource.k8s.io", "resourceclaims", "resourceclaimtemplates")
)
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
