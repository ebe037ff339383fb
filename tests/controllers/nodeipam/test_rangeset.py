"""Parts of a range, as a table and by what holds of all."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.controllers.nodeipam.rangeset import OutOfRange, RangeFull, RangeSet


def network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """A network."""
    return ipaddress.ip_network(text)


@pytest.mark.parametrize(
    ("whole", "prefix", "parts"),
    [
        ("10.0.0.0/22", 24, ["10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24"]),
        ("10.0.0.0/24", 24, ["10.0.0.0/24"]),
        ("fd00::/63", 64, ["fd00::/64", "fd00:0:0:1::/64"]),
    ],
)
def test_all_parts_are_given(whole: str, prefix: int, parts: list[str]) -> None:
    """One after the other, until there is none."""
    ranges = RangeSet(network(whole), prefix)
    assert [ranges.allocate() for _ in parts] == parts
    with pytest.raises(RangeFull, match="no remaining CIDRs"):
        ranges.allocate()


def test_what_is_given_back_is_given_last() -> None:
    """The search goes on where it ended."""
    ranges = RangeSet(network("10.0.0.0/22"), 24)
    assert ranges.allocate() == "10.0.0.0/24"
    ranges.release(network("10.0.0.0/24"))
    assert [ranges.allocate() for _ in range(4)] == [
        "10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24", "10.0.0.0/24",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("taken", "left"),
    [
        ("10.0.0.0/23", ["10.0.2.0/24", "10.0.3.0/24"]),
        ("10.0.1.128/25", ["10.0.0.0/24", "10.0.2.0/24", "10.0.3.0/24"]),
        ("10.0.0.0/8", []),
    ],
)
def test_larger_and_smaller_networks(taken: str, left: list[str]) -> None:
    """They take all parts that they have a share in."""
    ranges = RangeSet(network("10.0.0.0/22"), 24)
    ranges.occupy(network(taken))
    assert [ranges.allocate() for _ in left] == left
    with pytest.raises(RangeFull):
        ranges.allocate()


@pytest.mark.parametrize("other", ["10.0.4.0/24", "9.255.255.0/24", "fd00::/64"])
def test_networks_elsewhere(other: str) -> None:
    """They are refused."""
    with pytest.raises(OutOfRange, match="out the range"):
        RangeSet(network("10.0.0.0/22"), 24).occupy(network(other))


@given(st.lists(st.one_of(st.none(), st.integers(0, 7)), max_size=40))
def test_no_part_is_given_twice(steps: list[int | None]) -> None:
    """Whatever is given back between."""
    ranges = RangeSet(network("10.0.0.0/21"), 24)
    given_out: list[str] = []
    for step in steps:
        if step is None:
            try:
                part = ranges.allocate()
            except RangeFull:
                assert len(given_out) == 8
                continue
            assert part not in given_out
            given_out.append(part)
        elif step < len(given_out):
            ranges.release(network(given_out.pop(step)))
