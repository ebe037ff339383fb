"""Checks of events."""

from __future__ import annotations

import pytest
from checks.helpers import (
    refused,
    resource,
)
from checks.recorded import Case, assert_as_recorded, recorded


def test_new_style_event() -> None:
    """An event with a time names who reports it."""
    body = {"involvedObject": {"namespace": "ns"}, "eventTime": "2024-01-01T00:00:00.000000Z"}
    found = refused(resource("events"), body)
    assert "reportingComponent: Required value" in found
    assert "action: Required value" in found


@pytest.mark.parametrize("case", recorded("", "events"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
