"""Cells of endpoint slices."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.discovery import printers as discovery

NOW = 1_000.0


@pytest.mark.parametrize(
    ("ports", "printed"),
    [
        (None, "<unset>"),
        ([{"port": 80}, {"name": "web"}, {}], "80,web,*"),
        ([{"port": n} for n in range(5)], "0,1,2 + 2 more..."),
    ],
)
def test_endpoint_slice_ports(ports, printed):
    """A port prints as number, name or star."""
    assert discovery.endpoint_slice({"ports": ports}, NOW)[2] == printed


@pytest.mark.parametrize("sample", samples("discovery.k8s.io"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("discovery.k8s.io"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
