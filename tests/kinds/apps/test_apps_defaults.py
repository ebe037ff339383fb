"""Defaults of workloads."""

from __future__ import annotations

import pytest
from defaults.creations import assert_created, assert_stable, labels
from defaults.defaulted import defaults_of


def test_numbers_of_an_unused_rolling_update_are_zero() -> None:
    """They are no pointers inside kube-apiserver, so zero stands for none."""
    change = defaults_of("io.k8s.api.apps.v1.DaemonSet")
    strategy = {"type": "OnDelete", "rollingUpdate": {}}
    new = {"metadata": {"name": "a"}, "spec": {"updateStrategy": strategy}}
    change(new)
    rolling = new["spec"]["updateStrategy"]["rollingUpdate"]
    assert rolling == {"maxUnavailable": 0, "maxSurge": 0}


@pytest.mark.parametrize("label", labels("apps"))
def test_creations_are_stored_as_recorded(label: str) -> None:
    """With the fields that kube-apiserver filled in, and no others."""
    assert_created(label)


@pytest.mark.parametrize("label", labels("apps"))
def test_defaults_are_a_fixed_point(label: str) -> None:
    """Filling in again changes neither a body nor a stored object."""
    assert_stable(label)
