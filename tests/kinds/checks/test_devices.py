"""Claims on devices and slices of them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kubetrio.kinds.resource.validation.parts import PARAMETERS_MAX, raw_object
from kubetrio.machinery.status import Cause
from kubetrio.wire.goscan import Float

from .helpers import Json, changed, made, refused, refused_change, resource, warned

GROUP = "resource.k8s.io"
CLAIMS = resource("resourceclaims", GROUP)
SLICES = resource("resourceslices", GROUP)
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


def test_an_attribute_has_one_value() -> None:
    """What it has is shown under the names inside the server."""
    device = {"name": "d", "attributes": {"a": {"int": 1, "bool": True}}}
    spec = {
        "driver": "d.example",
        "allNodes": True,
        "pool": {"name": "p", "resourceSliceCount": 1},
        "devices": [device],
    }
    (line,) = refused(SLICES, {"spec": spec})
    assert line.startswith(
        'spec.devices[0].attributes[a]: Invalid value: {"IntValue":1,"BoolValue":true,'
    )
    assert line.endswith("exactly one value must be specified")


def test_drivers_should_be_lowercase() -> None:
    """A name with uppercase letters is accepted with a warning."""
    assert warned(SLICES, {"spec": {"driver": "D.example"}}) == [
        ('spec.driver: driver names should be lowercase; "D.example" contains uppercase characters')
    ]
    assert warned(SLICES, {"spec": {"driver": "d.example"}}) == []


def test_changed_classes_are_checked_once() -> None:
    """What is wrong with a class is told once when it changes, as kube-apiserver does."""
    classes = resource("deviceclasses", GROUP)
    old = made(classes, {"spec": {}})
    new = deepcopy(old)
    new["spec"]["extendedResourceName"] = "cpu"
    cause = (
        'spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name'
    )
    assert refused_change(classes, old, new) == [cause]


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


@pytest.mark.parametrize("value", [Float("1.5"), 10**20])
def test_opaque_parameters_that_are_numbers(value: Any) -> None:
    """Fractions and numbers of any size are told as what they are: no objects."""
    causes: list[Cause] = []
    raw_object(value, "p", causes, PARAMETERS_MAX)
    assert [cause.message for cause in causes] == [
        'Invalid value: "<value omitted>": must be a valid JSON object'
    ]
    causes = []
    raw_object({"a": value}, "p", causes, PARAMETERS_MAX)
    assert causes == []


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
