"""Cells of API services."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.apiregistration import printers as apiregistration

NOW = 1_000.0


@pytest.mark.parametrize(
    ("condition", "printed"),
    [
        (None, "Unknown"),
        ({"status": "True", "reason": "Local"}, "True"),
        ({"status": "False", "reason": "Gone"}, "False (Gone)"),
        ({"status": "False"}, "False"),
    ],
)
def test_api_service_available(condition, printed):
    """Why a service is not available."""
    conditions = [{"type": "Available", **condition}] if condition else []
    obj = {
        "spec": {"service": {"namespace": "n", "name": "s"}},
        "status": {"conditions": conditions},
    }
    assert apiregistration.api_service(obj, NOW)[1:3] == ["n/s", printed]


@pytest.mark.parametrize("sample", samples("apiregistration.k8s.io"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("apiregistration.k8s.io"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
