"""Checks of slices of devices."""

from __future__ import annotations

import pytest
from checks.helpers import refused, resource, warned
from checks.recorded import Case, assert_as_recorded, recorded

GROUP = "resource.k8s.io"
SLICES = resource("resourceslices", GROUP)


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


@pytest.mark.parametrize("case", recorded("resource.k8s.io", "resourceslices"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
