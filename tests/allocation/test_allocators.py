"""Ranges of addresses and ports: nobody gets what somebody has."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.allocation.allocators import (
    Addresses,
    Full,
    OutOfRange,
    Ports,
    Taken,
    addresses_of,
    node_ports_of,
    static_band,
)
from kubetrio.env import seeded


def small() -> Addresses:
    return Addresses(ipaddress.ip_network("10.0.0.0/28"))


def test_a_range_gives_every_address_once_and_then_none() -> None:
    """Neither the network's address nor the broadcast address is given."""
    values, rng = small(), seeded(1).rng
    given_ = {values.text(values.take_any(n, rng)) for n in range(14)}
    assert given_ == {f"10.0.0.{n}" for n in range(1, 15)}
    with pytest.raises(Full, match="range is full"):
        values.take_any("one more", rng)


@given(seed=st.integers(), steps=st.lists(st.integers(0, 20), max_size=40))
@settings(max_examples=30, deadline=None)
def test_no_port_has_two_holders(seed: int, steps: list[int]) -> None:
    """Whatever is taken and given back, a port has one holder."""
    ports, rng = Ports(30000, 30019), seeded(seed).rng
    held: dict[int, int] = {}
    for who, step in enumerate(steps):
        if step == 20 and held:
            port, owner = held.popitem()
            ports.holders.drop(port, owner)
        elif len(held) < 20:
            port = ports.take_any(who, rng)
            assert port not in held
            held[port] = who
    assert len(ports.holders) == len(held)


def test_random_choices_leave_the_beginning_alone() -> None:
    """What people pick by hand stays free as long as there is something else."""
    values, rng = Addresses(ipaddress.ip_network("10.0.0.0/24")), seeded(2).rng
    chosen = [values.take_any(n, rng) & 0xFF for n in range(238)]
    assert min(chosen) == 17
    assert values.take_any("more", rng) & 0xFF <= 16


@pytest.mark.parametrize(("size", "band"), [(15, 0), (254, 16), (8192, 256), (1 << 20, 256)])
def test_static_band(size: int, band: int) -> None:
    """The band of address ranges (KEP-3070)."""
    assert static_band(size, 16, 256, 16) == band


def test_messages() -> None:
    """Errors are worded as kube-apiserver words them."""
    values, ports = small(), Ports()
    values.take("10.0.0.3", "a")
    with pytest.raises(Taken, match=r"^provided IP is already allocated$"):
        values.take("10.0.0.3", "b")
    with pytest.raises(OutOfRange, match=r"is not in the valid range.*10\.0\.0\.0/28$"):
        values.take("10.0.1.3", "b")
    with pytest.raises(OutOfRange, match=r"The range of valid ports is 30000-32767$"):
        ports.take(80, "a")


def test_what_a_service_holds() -> None:
    """Headless services hold no address; the health check's port is a node port."""
    assert addresses_of({"clusterIP": "None", "clusterIPs": ["None"]}) == []
    spec = {"ports": [{"port": 1, "nodePort": 30001}, {"port": 2}], "healthCheckNodePort": 30002}
    assert node_ports_of(spec) == {30001, 30002}
