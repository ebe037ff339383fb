"""Cells of ingresses, policies, addresses and ranges."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.networking import printers as networking

NOW = 1_000.0


@pytest.mark.parametrize(
    ("hosts", "printed"),
    [
        ([], "*"),
        (["", ""], "*"),
        (["a", "", "b"], "a,b"),
        (["a", "b", "c"], "a,b,c"),
        (["a", "b", "c", "", ""], "a,b,c + 2 more..."),
    ],
)
def test_ingress_hosts(hosts, printed):
    """What is left out counts rules, not hosts."""
    rules = [{"host": host} if host else {} for host in hosts]
    assert networking.ingress({"spec": {"rules": rules}}, NOW)[2] == printed


def test_ingress_class_parameters():
    """Kind, group and name of the parameters."""
    parameters = {"apiGroup": "g.io", "kind": "K", "name": "n"}
    assert networking.ingress_class({"spec": {"parameters": parameters}}, NOW)[2] == "K.g.io/n"


@pytest.mark.parametrize(
    ("reference", "printed"),
    [
        (None, "<none>"),
        ({"group": "g.io", "resource": "Gateways", "name": "n"}, "gateways.g.io/n"),
        ({"resource": "services", "namespace": "s", "name": "n"}, "services/s/n"),
    ],
)
def test_ip_address_parent(reference, printed):
    """Whose address it is."""
    assert networking.ip_address({"spec": {"parentRef": reference}}, NOW)[1] == printed


@pytest.mark.parametrize("sample", samples("networking.k8s.io"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("networking.k8s.io"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
