"""Cells of leases."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.coordination import printers as coordination
from kubetrio.kinds.resource import printers as resource

NOW = 1_000.0


def test_lease_and_slice():
    """Plain fields."""
    assert coordination.lease({"spec": {"holderIdentity": "h"}}, NOW)[1] == "h"
    spec = {"nodeName": "n", "driver": "d", "pool": {"name": "p"}}
    assert resource.resource_slice({"spec": spec}, NOW)[1:4] == ["n", "d", "p"]


@pytest.mark.parametrize("sample", samples("coordination.k8s.io"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("coordination.k8s.io"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
