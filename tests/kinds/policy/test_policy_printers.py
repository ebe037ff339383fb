"""Cells of disruption budgets."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.policy import printers as policy

NOW = 1_000.0


@pytest.mark.parametrize(
    ("spec", "cells"),
    [
        ({"minAvailable": 0}, ["0", "N/A"]),
        ({"maxUnavailable": "50%"}, ["N/A", "50%"]),
    ],
)
def test_disruption_budget(spec, cells):
    """Numbers and shares print as texts."""
    assert policy.pod_disruption_budget({"spec": spec}, NOW)[1:3] == cells


@pytest.mark.parametrize("sample", samples("policy"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("policy"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
