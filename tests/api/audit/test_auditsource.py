"""Where a request comes from, as the audit log tells it."""

from __future__ import annotations

import orjson
import pytest

from kubetrio.api.audit.auditsource import AGENT_BYTES, CUT, Source, source_of
from kubetrio.api.request import Request


def source(peer: str = "10.0.0.9", **headers: str) -> Source:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return source_of(Request("GET", "/", "", dict(raw), raw, peer=peer))


@pytest.mark.parametrize(
    ("headers", "ips"),
    [
        ({}, ["10.0.0.9"]),
        ({"x_forwarded_for": "10.0.0.1, 10.0.0.2"}, ["10.0.0.1", "10.0.0.2", "10.0.0.9"]),
        ({"x_forwarded_for": "no, 010.0.0.1"}, ["10.0.0.1", "10.0.0.9"]),
        ({"x_real_ip": "10.0.0.3"}, ["10.0.0.3", "10.0.0.9"]),
        ({"x_forwarded_for": "10.0.0.3", "x_real_ip": "10.0.0.3"}, ["10.0.0.3", "10.0.0.9"]),
        ({"x_forwarded_for": "::ffff:10.0.0.9"}, ["10.0.0.9"]),
    ],
)
def test_addresses_of_proxies_come_first(headers: dict[str, str], ips: list[str]) -> None:
    """What is no address is left out, and so is the last proxy when it is the peer."""
    found = source(**headers)
    assert orjson.loads(b"{" + found.json[1:] + b"}") == {"sourceIPs": ips}
    assert found.ip == ips[0]


def test_a_long_agent_is_cut() -> None:
    """Behind as much as kube-apiserver writes."""
    agent = "a" * (AGENT_BYTES + 1)
    assert source(user_agent=agent).agent == agent[:AGENT_BYTES] + CUT
    assert source(user_agent="kubectl").agent == "kubectl"


def test_a_request_from_nowhere_says_nothing() -> None:
    """In process there is neither an address nor an agent."""
    assert source(peer="") == Source(b"", "", "")
