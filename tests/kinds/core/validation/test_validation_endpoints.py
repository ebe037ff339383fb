"""Checks of Endpoints."""

from __future__ import annotations

import pytest
from checks.helpers import (
    refused,
    refused_change,
    resource,
)
from checks.recorded import Case, assert_as_recorded, recorded


def test_empty_subset() -> None:
    """A subset of endpoints has addresses."""
    body = {"subsets": [{"ports": [{"port": 1}]}]}
    assert refused(resource("endpoints"), body) == [
        "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"
    ]


def test_stored_addresses_may_stay_loose() -> None:
    """What was accepted before addresses were strict is accepted again."""
    old = {"subsets": [{"addresses": [{"ip": "010.1.1.1"}]}]}
    kind = resource("endpoints")
    assert refused_change(kind, old, old) == []
    assert refused(kind, old)


def test_changed_endpoints_are_checked_as_a_whole() -> None:
    """Loose addresses stay only where nothing changes."""
    kind = resource("endpoints")
    old = {"subsets": [{"addresses": [{"ip": "010.1.1.1"}]}]}
    new = {"subsets": [{"addresses": [{"ip": "010.1.1.1"}, {"ip": "10.1.1.2"}]}]}
    assert refused_change(kind, old, new) == [
        'subsets[0].addresses[0].ip: Invalid value: "010.1.1.1": must not have leading 0s'
    ]


@pytest.mark.parametrize("case", recorded("", "endpoints"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
