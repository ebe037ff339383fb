"""Selectors of topologies."""

from __future__ import annotations

from typing import Any

from kubetrio.kinds.common import selectors
from kubetrio.kinds.common.checks import Check
from kubetrio.machinery.status import Cause


def found(check: Check, value: Any) -> list[str]:
    out: list[Cause] = []
    check(value, "p", out)
    return [cause.message.partition(": ")[2] for cause in out]


def test_topology_terms() -> None:
    """Keys and values of a topology differ."""
    expression = {"key": "zone", "values": ["a", "a"]}
    term = {"matchLabelExpressions": [expression, {"key": "zone", "values": []}]}
    assert found(selectors.topology_selector_term, term) == ['"a"', "", '"zone"']
