"""Checks of leases."""

from __future__ import annotations

import pytest
from checks.recorded import Case, assert_as_recorded, recorded


@pytest.mark.parametrize("case", recorded("coordination.k8s.io"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
