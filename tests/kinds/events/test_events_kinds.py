"""The kinds of events.k8s.io."""

from __future__ import annotations

from typing import Any

import pytest
from checks.groups import assert_complete
from defaults.creations import assert_created, assert_stable, labels
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.events.kinds import KINDS


def test_what_is_served_has_a_value() -> None:
    """Nothing else has one, and all that the values name is there."""
    assert_complete("events.k8s.io", KINDS)


@pytest.mark.parametrize("label", labels("events.k8s.io"))
def test_creations_are_stored_as_recorded(label: str) -> None:
    """With the fields that kube-apiserver filled in, and no others."""
    assert_created(label)


@pytest.mark.parametrize("label", labels("events.k8s.io"))
def test_defaults_are_a_fixed_point(label: str) -> None:
    """Filling in again changes neither a body nor a stored object."""
    assert_stable(label)


@pytest.mark.parametrize("sample", samples("events.k8s.io"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("events.k8s.io"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
