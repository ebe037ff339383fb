"""Endpoint slices."""

from __future__ import annotations

import pytest

from .helpers import refused, resource, warned

SLICES = resource("endpointslices", "discovery.k8s.io")


@pytest.mark.parametrize(
    ("kind", "address", "good"),
    [
        ("IPv4", "10.1.1.1", True),
        ("IPv4", "::ffff:10.1.1.1", True),
        ("IPv4", "2001:db8::1", False),
        ("IPv6", "2001:db8::1", True),
        ("IPv6", "::ffff:10.1.1.1", False),
        ("IPv6", "10.1.1.1", False),
    ],
)
def test_addresses_are_of_their_type(kind: str, address: str, good: bool) -> None:
    """An address of IPv4 stays one when it is written as IPv6."""
    body = {"addressType": kind, "endpoints": [{"addresses": [address]}]}
    assert refused(SLICES, body) == (
        []
        if good
        else [
            f'endpoints[0].addresses[0]: Invalid value: "{address}": must be a valid {kind} address'
        ]
    )


def test_addresses_in_another_form_are_warned_about() -> None:
    """They are accepted for now."""
    body = {"addressType": "IPv4", "endpoints": [{"addresses": ["::ffff:10.1.1.1"]}]}
    assert warned(SLICES, body) == [
        (
            'endpoints[0].addresses[0]: non-standard IP address "::ffff:10.1.1.1" will be '
            'considered invalid in a future Kubernetes release: use "10.1.1.1"'
        )
    ]
