"""Formats, addresses, quantities and selectors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.kinds.common import addresses, formats, quantities, selectors
from kubetrio.kinds.common.checks import Check
from kubetrio.kinds.common.differences import difference
from kubetrio.kinds.core.validation.sums import container_amounts
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


@pytest.mark.parametrize(
    ("text", "good"), [("a", True), ("..", False), ("..a", False), ("a/b", False), ("", False)]
)
def test_config_key(text: str, good: bool) -> None:
    """Keys become names of files."""
    assert (not formats.config_key(text)) is good


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("a/b", []),
        ("/a", ["must be a relative path"]),
        ("a/../b", ["must not contain '..'"]),
        ("..a", ["must not start with '..'"]),
        ("../a", ["must not contain '..'"]),
    ],
)
def test_local_path(text: str, messages: list[str]) -> None:
    """Files stay in their folder."""
    assert [text.rpartition(": ")[2] for text in found(formats.local_path, text)] == messages


@pytest.mark.parametrize(
    ("value", "expected"), [(3, 3), ("30%", 30), ("x", 0), (None, 0), ("12", 12)]
)
def test_number_or_percent(value: Any, expected: int) -> None:
    """Both forms have a number."""
    assert formats.number_or_percent(value) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cpu", []),
        ("hugepages-2Mi", []),
        ("example.com/gpu", []),
        ("storage", ["must be a standard resource for containers"]),
        (
            "gpu",
            [
                "must be a standard resource type or fully qualified",
                "must be a standard resource for containers",
            ],
        ),
        ("requests.example.com/gpu", ["doesn't follow extended resource name standard"]),
    ],
)
def test_container_resource(name: str, expected: list[str]) -> None:
    """Containers use what nodes have."""
    texts = found(quantities.container_resource_name, name)
    assert [text.rpartition(": ")[2] for text in texts] == expected


def test_requests_with_sidecars() -> None:
    """Sidecars add up, other init containers only count for their time."""

    def container(cpu: str, **more: str) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [container("1")],
        "initContainers": [container("1", restartPolicy="Always"), container("5")],
    }
    assert str(container_amounts(spec)["cpu"]) == "6"


def test_topology_terms() -> None:
    """Keys and values of a topology differ."""
    expression = {"key": "zone", "values": ["a", "a"]}
    term = {"matchLabelExpressions": [expression, {"key": "zone", "values": []}]}
    assert found(selectors.topology_selector_term, term) == ['"a"', "", '"zone"']


def test_difference() -> None:
    """A diff has hunks and no file names."""
    text = difference({"a": 1}, {"a": 2})
    assert text.startswith("@@ ")
    assert '-  "a": 1' in text
    assert difference({}, {}) == "@@ @@"
