"""Checks of device classes."""

from __future__ import annotations

from copy import deepcopy

import pytest
from checks.helpers import made, refused_change, resource
from checks.recorded import Case, assert_as_recorded, recorded

GROUP = "resource.k8s.io"


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


@pytest.mark.parametrize("case", recorded("resource.k8s.io", "deviceclasses"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
