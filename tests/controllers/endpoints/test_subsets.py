"""Subsets of Endpoints: one form for one meaning, and never too many addresses."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubetrio.controllers.endpoints.subsets import counted, repacked, truncated

Object = dict[str, Any]
PORTS = st.lists(st.sampled_from([1, 2, 3]), unique=True, max_size=3)
IPS = st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True, max_size=3)


@st.composite
def subset(draw: Any) -> Object:
    """A subset of few addresses and ports."""
    made: Object = {}
    for member in ("addresses", "notReadyAddresses"):
        if found := draw(IPS):
            made[member] = [{"ip": ip} for ip in found]
    if ports := draw(PORTS):
        made["ports"] = [{"port": port, "protocol": "TCP"} for port in ports]
    return made


def meaning(subsets: list[Object]) -> dict[tuple[str, int], bool]:
    """Of each address at each port, whether it is ready: not if anything says that it is not."""
    found: dict[tuple[str, int], bool] = {}
    for one in subsets:
        for port in one.get("ports") or [{"port": -1}]:
            for ready, member in ((True, "addresses"), (False, "notReadyAddresses")):
                for address in one.get(member) or ():
                    key = address["ip"], port["port"]
                    found[key] = found.get(key, True) and ready
    return found


@given(st.lists(subset(), max_size=5), st.randoms())
def test_repacking_keeps_the_meaning(subsets: list[Object], random: Any) -> None:
    """And what means the same looks the same, whatever the order."""
    once = repacked(subsets)
    assert meaning(once) == meaning(subsets)
    assert repacked(once) == once
    shuffled = list(subsets)
    random.shuffle(shuffled)
    assert repacked(shuffled) == once


def many(ready: int, waiting: int, port: int) -> Object:
    """A subset of many addresses."""
    return {
        "addresses": [{"ip": f"r{port}-{number}"} for number in range(ready)],
        "notReadyAddresses": [{"ip": f"w{port}-{number}"} for number in range(waiting)],
        "ports": [{"port": port}],
    }


@given(st.lists(st.tuples(st.integers(0, 900), st.integers(0, 900)), min_size=1, max_size=4))
def test_a_thousand_addresses_are_kept(sizes: list[tuple[int, int]]) -> None:
    """Ready ones first; no subset gives more than another."""
    subsets = [many(*size, port) for port, size in enumerate(sizes)]
    ready, waiting = (sum(size[at] for size in sizes) for at in (0, 1))
    fewer = truncated(subsets)
    if ready + waiting <= 1000:
        assert fewer is None
        return
    assert fewer is not None
    kept = counted(fewer, "addresses"), counted(fewer, "notReadyAddresses")
    assert sum(kept) == 1000
    assert kept[0] == min(ready, 1000)
    assert kept[1] == (0 if ready > 1000 else 1000 - ready)
