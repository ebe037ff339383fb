"""Ranges of service addresses from ServiceCIDR objects."""

from __future__ import annotations

from random import Random  # noqa: TID251  (a seeded generator)
from typing import Any

import pytest

from kubetrio.allocation.allocators import Full, NotReady, OutOfRange, Taken
from kubetrio.allocation.ranges import ServiceRanges

MISMATCHED = "the provided network does not match the current range"


def cidr(*cidrs: str, ready: str = "", deleted: bool = False) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    meta = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}
    return {
        "metadata": meta,
        "spec": {"cidrs": list(cidrs)},
        "status": {"conditions": conditions},
    }


def ranges(**objects: dict[str, Any]) -> ServiceRanges:
    made = ServiceRanges()
    for name, obj in objects.items():
        made.note(name, obj)
    return made


def test_addresses_come_from_every_range() -> None:
    """One that was asked for is looked for in all of them."""
    made = ranges(a=cidr("10.0.0.0/24"), b=cidr("10.9.0.0/24", "fd00::/112"))
    made.take("10.9.0.7", "x")
    made.take("fd00::7", "x")
    with pytest.raises(Taken):
        made.take("10.9.0.7", "y")


@pytest.mark.parametrize("address", ["10.1.0.1", "10.0.0.0", "10.0.0.255", "fd00::1"])
def test_an_address_outside_all_ranges_matches_none(address: str) -> None:
    """The first and the last address of a range are outside."""
    with pytest.raises(OutOfRange, match=MISMATCHED):
        ranges(a=cidr("10.0.0.0/24")).take(address, "x")


@pytest.mark.parametrize(
    "obj",
    [
        cidr("10.0.0.0/24", ready="False"),
        cidr("10.0.0.0/24", ready="Unknown"),
        cidr("10.0.0.0/24", ready="True", deleted=True),
    ],
)
def test_a_range_that_is_not_ready_gives_nothing(obj: dict[str, Any]) -> None:
    """Neither is one that is being deleted."""
    made = ranges(a=obj)
    with pytest.raises(OutOfRange, match=MISMATCHED):
        made.take("10.0.0.1", "x")
    with pytest.raises(Full):
        made.take_any("IPv4", "x", Random(1))
    with pytest.raises(NotReady):
        made.tried("IPv4", "")


def test_a_range_is_ready_when_one_object_says_so() -> None:
    """Several objects may name the same range; it goes with the last of them."""
    made = ranges(a=cidr("10.0.0.0/24", ready="False"), b=cidr("10.0.0.0/24"))
    made.take("10.0.0.1", "x")
    made.note("b", None)
    with pytest.raises(OutOfRange):
        made.take("10.0.0.2", "x")
    assert made.covers("10.0.0.2")
    made.note("a", None)
    assert not made.covers("10.0.0.2")


def test_an_address_stays_held_without_its_range() -> None:
    """When the range comes back nobody else gets it."""
    made = ranges(a=cidr("10.0.0.0/24"))
    made.take("10.0.0.1", "x")
    made.note("a", None)
    made.note("b", cidr("10.0.0.0/16"))
    with pytest.raises(Taken):
        made.take("10.0.0.1", "y")


def test_a_full_range_leads_to_the_next() -> None:
    """Of two addresses in one range and one in the other all are given."""
    made = ranges(a=cidr("10.0.0.0/30"), b=cidr("10.9.0.0/30"))
    given = {made.take_any("IPv4", "x", Random(1)) for _ in range(4)}
    assert given == {"10.0.0.1", "10.0.0.2", "10.9.0.1", "10.9.0.2"}
    with pytest.raises(Full, match="range is full"):
        made.take_any("IPv4", "x", Random(1))


def test_a_wide_range_of_the_newer_family_gives_nothing() -> None:
    """Prefixes shorter than 64 bits are not allocated from."""
    with pytest.raises(OutOfRange):
        ranges(a=cidr("fd00::/48")).take("fd00::1", "x")


def test_a_dry_run_looks_at_one_range() -> None:
    """It shows the network for any address, and names the range that an address is not in."""
    made = ranges(a=cidr("10.0.0.0/24"))
    assert made.tried("IPv4", "") == "10.0.0.0"
    made.take("10.0.0.1", "x")
    assert made.tried("IPv4", "10.0.0.1") == "10.0.0.1"
    with pytest.raises(OutOfRange, match=r"The range of valid IPs is 10\.0\.0\.0/24"):
        made.tried("IPv4", "10.1.0.1")
