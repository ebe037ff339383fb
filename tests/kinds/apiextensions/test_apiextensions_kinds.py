"""The kinds of apiextensions.k8s.io."""

from __future__ import annotations

from typing import Any

import pytest
from checks.groups import assert_complete
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.apiextensions.kinds import KINDS


def test_what_is_served_has_a_value() -> None:
    """Nothing else has one, and all that the values name is there."""
    assert_complete("apiextensions.k8s.io", KINDS)


@pytest.mark.parametrize("sample", samples("apiextensions.k8s.io"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("apiextensions.k8s.io"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
