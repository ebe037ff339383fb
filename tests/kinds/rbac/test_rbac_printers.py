"""Cells of roles and bindings."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.rbac import printers as rbac

NOW = 1_000.0


def test_role_binding_subjects():
    """Subjects by kind; other kinds are not shown."""
    subjects = [
        {"kind": "User", "name": "u"},
        {"kind": "User", "name": "v"},
        {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
        {"kind": "Other", "name": "o"},
    ]
    binding = {"roleRef": {"kind": "Role", "name": "r"}, "subjects": subjects}
    assert rbac.role_binding(binding, NOW) == ["", "Role/r", "<unknown>", "u, v", "", "n/s"]


@pytest.mark.parametrize("sample", samples("rbac.authorization.k8s.io"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("rbac.authorization.k8s.io"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
