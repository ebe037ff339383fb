"""Checks of API services."""

from __future__ import annotations

import pytest
from checks.helpers import refused, resource
from checks.recorded import Case, assert_as_recorded, recorded

SERVICES = resource("apiservices", "apiregistration.k8s.io")


@pytest.mark.parametrize(("port", "good"), [(0, False), (1, True), (65535, True), (65536, False)])
def test_ports(port: int, good: bool) -> None:
    """The port of a service is one that can be."""
    body = {
        "metadata": {"name": "v1.a.b"},
        "spec": {
            "group": "a.b",
            "version": "v1",
            "groupPriorityMinimum": 1,
            "versionPriority": 1,
            "service": {"namespace": "n", "name": "s", "port": port},
        },
    }
    told = f"spec.service.port: Invalid value: {port}: port is not valid: must be between 1 and "
    assert refused(SERVICES, body) == ([] if good else [f"{told}65535, inclusive"])


@pytest.mark.parametrize("case", recorded("apiregistration.k8s.io"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
