"""Cells of webhook configurations and policies."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.admissionregistration import printers as admissionregistration

NOW = 1_000.0
SELECTOR = {
    "matchLabels": {"b": "2", "a": "1"},
    "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}],
}


@pytest.mark.parametrize(
    ("reference", "printed"),
    [
        (None, "<unset>"),
        ({}, "<unset>"),
        ({"name": "p", "namespace": "n"}, "n/p"),
        ({"name": "p"}, "*/p"),
        (
            {"selector": SELECTOR},
            (
                "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:"
                "[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,"
                "Values:[x y],},},}"
            ),
        ),
    ],
)
def test_parameter_reference(reference, printed):
    """Parameters by name, or by selector as Go prints it."""
    assert (
        admissionregistration.admission_policy_binding({"spec": {"paramRef": reference}}, NOW)[2]
        == printed
    )


def test_parameter_kind():
    """Parameters by kind."""
    spec = {"paramKind": {"apiVersion": "g/v1", "kind": "K"}, "mutations": [{}, {}]}
    assert admissionregistration.mutating_admission_policy({"spec": spec}, NOW)[1:3] == [
        2,
        "g/v1/K",
    ]


@pytest.mark.parametrize("sample", samples("admissionregistration.k8s.io"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("admissionregistration.k8s.io"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
