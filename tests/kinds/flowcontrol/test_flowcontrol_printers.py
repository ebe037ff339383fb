"""Cells of flow schemas and priority levels."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.flowcontrol import printers as flowcontrol

NOW = 1_000.0


def test_flow_schema_without_status():
    """Whether the priority level is missing is not known at first."""
    assert flowcontrol.flow_schema({}, NOW)[5] == "?"


@pytest.mark.parametrize("sample", samples("flowcontrol.apiserver.k8s.io"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("flowcontrol.apiserver.k8s.io"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
