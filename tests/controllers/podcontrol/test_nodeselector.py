"""Which nodes node selectors select."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.podcontrol.nodeselector import any_term, selected, term_selects

LABELS = {"zone": "a", "size": "12"}


def row(key: str, operator: str, *values: str) -> dict[str, Any]:
    """A requirement."""
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("requirement", "selects"),
    [
        (row("zone", "In", "a", "b"), True),
        (row("zone", "In", "b"), False),
        (row("other", "NotIn", "b"), True),
        (row("zone", "NotIn", "a"), False),
        (row("zone", "Exists"), True),
        (row("zone", "DoesNotExist"), False),
        (row("size", "Gt", "11"), True),
        (row("size", "Lt", "12"), False),
        (row("zone", "Gt", "1"), False),
        (row("other", "Lt", "1"), False),
        (row("zone", "Like", "a"), False),
    ],
)
def test_operators(requirement: dict[str, Any], selects: bool) -> None:
    """Each operator, with and without the label."""
    assert term_selects({"matchExpressions": [requirement]}, "n", LABELS) is selects


def test_terms_are_alternatives_and_requirements_are_not() -> None:
    """One term is enough; all of its requirements must hold; an empty one selects nothing."""
    zone, other = row("zone", "Exists"), row("other", "Exists")
    assert not term_selects({"matchExpressions": [zone, other]}, "n", LABELS)
    assert any_term([{"matchExpressions": [other]}, {"matchExpressions": [zone]}], "n", LABELS)
    assert not any_term([{}], "n", LABELS)
    named = {"matchFields": [row("metadata.name", "In", "n")]}
    assert term_selects(named, "n", LABELS)
    assert not term_selects(named, "m", LABELS)


def test_a_pods_selector_and_affinity_both_count() -> None:
    """A pod without either goes anywhere; a required affinity without terms goes nowhere."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    assert selected({}, "n", LABELS)
    assert not selected({"nodeSelector": {"zone": "b"}}, "n", LABELS)
    affinity: dict[str, Any] = {"nodeAffinity": {required: {"nodeSelectorTerms": []}}}
    assert not selected({"affinity": affinity}, "n", LABELS)
