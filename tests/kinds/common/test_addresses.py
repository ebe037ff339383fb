"""Addresses and ranges, strict and loose."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.kinds.common import addresses
from kubetrio.kinds.common.checks import Check
from kubetrio.machinery.status import Cause


def found(check: Check, value: Any) -> list[str]:
    out: list[Cause] = []
    check(value, "p", out)
    return [cause.message.partition(": ")[2] for cause in out]


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("1.2.3.4", True),
        ("01.2.3.4", False),
        ("1.2.3", False),
        ("fd00::1", True),
        ("::ffff:1.2.3.4", False),
        ("fe80::1%eth0", False),
        ("", False),
    ],
)
def test_ip(text: str, good: bool) -> None:
    """New addresses are strict."""
    assert (found(addresses.IP, text) == []) is good


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("10.0.0.0/8", True),
        ("10.0.0.1/8", False),
        ("10.0.0.0/08", False),
        ("fd00::/129", False),
        ("10.0.0.0", False),
    ],
)
def test_cidr(text: str, good: bool) -> None:
    """New ranges are strict."""
    assert (found(addresses.CIDR, text) == []) is good


@given(st.ip_addresses())
@settings(max_examples=50)
def test_canonical_addresses_are_not_warned_of(address: Any) -> None:
    """What Python prints is what RFC 5952 asks for."""
    if getattr(address, "ipv4_mapped", None) is None:
        assert addresses.ip_warnings(str(address), "p") == []


def test_address_warnings() -> None:
    """Odd ways to write an address are told with the right one."""
    assert addresses.ip_warnings("FD00::1", "p") == [
        'p: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")'
    ]
    assert addresses.cidr_warnings("10.0.0.1/8", "p") == [
        (
            'p: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or '
            '"10.0.0.1/32"?)'
        )
    ]
