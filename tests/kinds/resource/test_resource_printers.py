"""Cells of claims on devices, their classes and slices."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.resource import printers as resource

NOW = 1_000.0


@pytest.mark.parametrize(
    ("deleted", "status", "printed"),
    [
        (False, {}, "pending"),
        (False, {"allocation": {}}, "allocated"),
        (False, {"allocation": {}, "reservedFor": [{}]}, "allocated,reserved"),
        (True, {}, "deleted"),
        (True, {"allocation": {}, "reservedFor": [{}]}, "deleted,allocated,reserved"),
    ],
)
def test_resource_claim(deleted, status, printed):
    """State of a claim."""
    metadata = {"deletionTimestamp": "1970-01-01T00:00:00Z"} if deleted else {}
    assert resource.resource_claim({"metadata": metadata, "status": status}, NOW)[1] == printed


@pytest.mark.parametrize("sample", samples("resource.k8s.io"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("resource.k8s.io"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
