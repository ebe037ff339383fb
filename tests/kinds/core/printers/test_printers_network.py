"""Cells of services and Endpoints."""

from __future__ import annotations

from typing import Any

import pytest
from printers.printed import assert_printed, assert_prints_empty, samples, tables

from kubetrio.kinds.core.printers import network as core_network

NOW = 1_000.0


def service(kind, ingress=(), **spec):
    status = {"loadBalancer": {"ingress": list(ingress)}}
    return {"spec": {"type": kind, **spec}, "status": status}


@pytest.mark.parametrize(
    ("obj", "printed"),
    [
        (service("ClusterIP"), "<none>"),
        (service("NodePort", externalIPs=["2.2.2.2", "1.1.1.1"]), "2.2.2.2,1.1.1.1"),
        (service("LoadBalancer"), "<pending>"),
        (service("LoadBalancer", externalIPs=["1.1.1.1"]), "1.1.1.1"),
        (
            service(
                "LoadBalancer", [{"hostname": "b"}, {"ip": "a"}, {"ip": "a"}], externalIPs=["z"]
            ),
            "a,b,z",
        ),
        (service("ExternalName", externalName="x.y"), "x.y"),
        (service("Other"), "<unknown>"),
    ],
)
def test_external_ip(obj, printed):
    """Where a service is reached from outside."""
    assert core_network.service(obj, NOW)[3] == printed


@pytest.mark.parametrize(
    ("subsets", "printed"),
    [
        ([], "<none>"),
        ([{"notReadyAddresses": [{"ip": "1.1.1.1"}], "ports": [{"port": 1}]}], ""),
        ([{"addresses": [{"ip": "1.1.1.1"}]}], "1.1.1.1"),
        ([{"addresses": [{"ip": "fd::1"}], "ports": [{"port": 80}]}], "[fd::1]:80"),
        (
            [{"addresses": [{"ip": "a"}, {"ip": "b"}], "ports": [{"port": 1}, {"port": 2}]}],
            "a:1,b:1,a:2 + 1 more...",
        ),
    ],
)
def test_endpoints(subsets, printed):
    """Three addresses and how many more there are."""
    assert core_network.endpoints({"subsets": subsets}, NOW)[1] == printed


@pytest.mark.parametrize("sample", samples("", "endpoints", "services"))
def test_cells_are_those_recorded(sample: dict[str, Any]) -> None:
    """Of objects as kube-apiserver printed them."""
    assert_printed(sample)


@pytest.mark.parametrize("resource", tables("", "endpoints", "services"))
def test_an_empty_object_has_a_cell_for_each_column(resource: str) -> None:
    """A bookmark has a version only."""
    assert_prints_empty(resource)
