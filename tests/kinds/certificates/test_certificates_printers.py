"""Cells of signing requests."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.certificates import printers as certificates

NOW = 1_000.0


@pytest.mark.parametrize(
    ("conditions", "certificate", "printed"),
    [
        ([], "", "Pending"),
        (["Approved"], "", "Approved"),
        (["Approved"], "Y2VydA==", "Approved,Issued"),
        (["Approved", "Denied", "Failed"], "", "Denied,Failed"),
    ],
)
def test_request_condition(conditions, certificate, printed):
    """Denial outweighs approval; failure and issue are added."""
    status = {"conditions": [{"type": kind} for kind in conditions], "certificate": certificate}
    assert certificates.certificate_signing_request({"status": status}, NOW)[5] == printed


def test_requested_duration():
    """The duration asked for prints like an age."""
    obj = {"spec": {"expirationSeconds": 3600, "signerName": "s", "username": "u"}}
    assert certificates.certificate_signing_request(obj, NOW)[2:5] == ["s", "u", "60m"]


@pytest.mark.parametrize("sample", samples("certificates.k8s.io"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("certificates.k8s.io"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
