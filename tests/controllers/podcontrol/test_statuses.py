"""Statuses and conditions."""

from __future__ import annotations

from kubetrio.controllers.podcontrol.statuses import (
    condition_of,
    printed,
    with_condition,
    without_condition,
)

TYPE = "io.k8s.api.apps.v1.ReplicaSetStatus"


def test_members_are_printed_as_go_does() -> None:
    """In order; zeros are left out but for pointers and what has no omitempty."""
    members = {"terminatingReplicas": 0, "readyReplicas": 0, "replicas": 0, "conditions": []}
    found = printed(TYPE, members)
    assert list(found.items()) == [("replicas", 0), ("terminatingReplicas", 0)]


def test_a_condition_with_the_same_reason_stays() -> None:
    """Another one comes last; its time is kept where that is asked for."""
    old = {"type": "A", "status": "True", "reason": "x", "lastTransitionTime": "1"}
    other = {"type": "B", "status": "True"}
    same = {**old, "lastTransitionTime": "2"}
    assert with_condition([old, other], same) == [old, other]
    new = {**same, "reason": "y"}
    assert with_condition([old, other], new) == [other, new]
    kept = with_condition([old, other], new, keep_time=True)
    assert kept == [other, {**new, "lastTransitionTime": "1"}]
    turned = {**new, "status": "False"}
    assert with_condition([old], turned, keep_time=True) == [turned]


def test_conditions_are_found_and_taken_out() -> None:
    """By type."""
    one = {"type": "A", "status": "True"}
    assert condition_of({"conditions": [one]}, "A") == one
    assert condition_of({}, "A") is None
    assert without_condition([one, {"type": "B"}], "A") == [{"type": "B"}]
