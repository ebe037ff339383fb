"""Endpoint slices."""

from __future__ import annotations

import pytest

from kubetrio.resources.validation.addresses import IP_EXAMPLE

from .helpers import refused, resource, warned

SLICES = resource("endpointslices", "discovery.k8s.io")
MAPPED = "must not be an IPv4-mapped IPv6 address"


@pytest.mark.parametrize(
    ("kind", "address", "expected"),
    [
        ("IPv4", "10.1.1.1", ""),
        ("IPv4", "010.1.1.1", '[0]: Invalid value: "010.1.1.1": must not have leading 0s'),
        ("IPv4", "x", f'[0]: Invalid value: "x": {IP_EXAMPLE}'),
        ("IPv4", "2001:db8::1", ': Invalid value: "2001:db8::1": must be an IPv4 address'),
        ("IPv4", "::ffff:10.1.1.1", f'[0]: Invalid value: "::ffff:10.1.1.1": {MAPPED}'),
        ("IPv6", "2001:db8::1", ""),
        (
            "IPv6",
            "2001:DB8::1",
            '[0]: Invalid value: "2001:DB8::1": must be in canonical form ("2001:db8::1")',
        ),
        ("IPv6", "::ffff:10.1.1.1", f'[0]: Invalid value: "::ffff:10.1.1.1": {MAPPED}'),
        ("IPv6", "10.1.1.1", ': Invalid value: "10.1.1.1": must be an IPv6 address'),
    ],
)
def test_addresses_are_of_their_type(kind: str, address: str, expected: str) -> None:
    """An address is well formed and of the slice's type; those of IPv6 are canonical."""
    body = {"addressType": kind, "endpoints": [{"addresses": [address]}]}
    assert refused(SLICES, body) == ([f"endpoints[0].addresses{expected}"] if expected else [])


def test_addresses_in_another_form_are_warned_about() -> None:
    """They may be stored from before they were refused."""
    body = {"addressType": "IPv4", "endpoints": [{"addresses": ["::ffff:10.1.1.1"]}]}
    assert warned(SLICES, body) == [
        (
            'endpoints[0].addresses[0]: non-standard IP address "::ffff:10.1.1.1" will be '
            'considered invalid in a future Kubernetes release: use "10.1.1.1"'
        )
    ]
