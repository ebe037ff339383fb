"""Checks of endpoint slices."""

from __future__ import annotations

import pytest
from checks.helpers import refused, resource, warned
from checks.recorded import Case, assert_as_recorded, recorded

SLICES = resource("endpointslices", "discovery.k8s.io")
EXAMPLE = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


@pytest.mark.parametrize(
    ("kind", "address", "place", "message"),
    [
        ("IPv4", "10.1.1.1", "", ""),
        ("IPv4", "x", "[0]", EXAMPLE),
        ("IPv4", "10.1.1.01", "[0]", "must not have leading 0s"),
        ("IPv4", "::ffff:10.1.1.1", "[0]", "must not be an IPv4-mapped IPv6 address"),
        ("IPv4", "2001:db8::1", "", "must be an IPv4 address"),
        ("IPv6", "2001:db8::1", "", ""),
        ("IPv6", "2001:DB8::1", "[0]", 'must be in canonical form ("2001:db8::1")'),
        ("IPv6", "::ffff:10.1.1.1", "[0]", "must not be an IPv4-mapped IPv6 address"),
        ("IPv6", "10.1.1.1", "", "must be an IPv6 address"),
    ],
)
def test_addresses_are_of_their_type(kind: str, address: str, place: str, message: str) -> None:
    """One of another family is told of the list, and those of IPv6 are written in one way."""
    body = {"addressType": kind, "endpoints": [{"addresses": [address]}]}
    wanted = f'endpoints[0].addresses{place}: Invalid value: "{address}": {message}'
    assert refused(SLICES, body) == ([wanted] if message else [])


def test_addresses_in_another_form_are_warned_about() -> None:
    """They may be stored from before they were refused."""
    body = {"addressType": "IPv4", "endpoints": [{"addresses": ["::ffff:10.1.1.1"]}]}
    assert warned(SLICES, body) == [
        (
            'endpoints[0].addresses[0]: non-standard IP address "::ffff:10.1.1.1" will be '
            'considered invalid in a future Kubernetes release: use "10.1.1.1"'
        )
    ]


@pytest.mark.parametrize("case", recorded("discovery.k8s.io"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
