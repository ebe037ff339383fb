"""What writes of endpoint slices do beside what their clients say."""

from __future__ import annotations

from typing import Any

from checks.prepared import create, decode, update


def test_old_topology_of_endpoints_is_not_written() -> None:
    """It stays as long as the endpoints stay the same."""
    endpoint = {"addresses": ["1.2.3.4"], "deprecatedTopology": {"kubernetes.io/hostname": "n"}}
    raw: dict[str, Any] = {"addressType": "IPv4", "endpoints": [endpoint]}
    old = decode("discovery.k8s.io", "endpointslices", **raw)
    assert (
        "deprecatedTopology"
        not in create("discovery.k8s.io", "endpointslices", **raw)["endpoints"][0]
    )
    same = update("discovery.k8s.io", "endpointslices", old, **raw)
    assert same["endpoints"] == old["endpoints"]
    moved = {**endpoint, "addresses": ["1.2.3.5"]}
    new = update("discovery.k8s.io", "endpointslices", old, **{**raw, "endpoints": [moved]})
    assert new["endpoints"][0]["nodeName"] == "n"
    assert "deprecatedTopology" not in new["endpoints"][0]
