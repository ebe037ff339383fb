"""The kinds of coordination.k8s.io."""

from __future__ import annotations

import pytest
from checks.groups import assert_complete
from defaults.creations import assert_created, assert_stable, labels

from kubetrio.kinds.coordination.kinds import KINDS


def test_what_is_served_has_a_value() -> None:
    """Nothing else has one, and all that the values name is there."""
    assert_complete("coordination.k8s.io", KINDS)


@pytest.mark.parametrize("label", labels("coordination.k8s.io"))
def test_creations_are_stored_as_recorded(label: str) -> None:
    """With the fields that kube-apiserver filled in, and no others."""
    assert_created(label)


@pytest.mark.parametrize("label", labels("coordination.k8s.io"))
def test_defaults_are_a_fixed_point(label: str) -> None:
    """Filling in again changes neither a body nor a stored object."""
    assert_stable(label)
