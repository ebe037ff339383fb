"""Defaults of autoscalers."""

from __future__ import annotations

import pytest
from defaults.creations import assert_created, assert_stable, labels


@pytest.mark.parametrize("label", labels("autoscaling"))
def test_creations_are_stored_as_recorded(label: str) -> None:
    """With the fields that kube-apiserver filled in, and no others."""
    assert_created(label)


@pytest.mark.parametrize("label", labels("autoscaling"))
def test_defaults_are_a_fixed_point(label: str) -> None:
    """Filling in again changes neither a body nor a stored object."""
    assert_stable(label)
