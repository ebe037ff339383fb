"""Which pods are where, and their addresses."""

from __future__ import annotations

import orjson
import pytest

from kubetrio.simulation.placedpods import Addresses, PlacedPod, placed_view


@pytest.mark.parametrize(
    ("spec", "phase", "address"),
    [
        ({"nodeName": "n"}, "Running", "10.0.0.1"),
        ({"nodeName": "n"}, "Succeeded", ""),
        ({"nodeName": "n"}, "Failed", ""),
        ({"nodeName": "n", "hostNetwork": True}, "Running", ""),
    ],
)
def test_addresses_in_use(spec: dict[str, object], phase: str, address: str) -> None:
    """A pod that is over has none, and one on the host's network none of its own."""
    pod = {"metadata": {"uid": "u"}, "spec": spec, "status": {"phase": phase, "podIP": "10.0.0.1"}}
    over = phase != "Running"
    placed = placed_view(orjson.dumps(pod))
    assert placed == PlacedPod("u", "n", address, over=over)


def test_addresses_are_given_once() -> None:
    """A pod that asks again has the same; what is free again is given last."""
    addresses = Addresses()
    cidr = "10.0.0.0/29"
    assert [addresses.take(cidr, uid) for uid in "aab"] == ["10.0.0.1", "10.0.0.1", "10.0.0.2"]
    addresses.free("a")
    assert [addresses.take(cidr, uid) for uid in "cdefgh"] == [
        "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.1", "",
    ]  # fmt: skip
    addresses.use("10.0.0.6", "f")
    addresses.use("10.0.0.5", "f")
    assert addresses.take(cidr, "h") == "10.0.0.6"
    assert addresses.take("", "z") == ""
