"""Headers and links as they change from one side of a proxy to the other."""

from __future__ import annotations

import pytest

from kubetrio.api.proxy.headers import end_to_end, forwarded_for, rewrite_url, without_secrets


def test_headers_of_one_hop_end() -> None:
    """Those that RFC 9110 names, and those that ``Connection`` lists."""
    headers = [
        (b"Connection", b"close, X-Mine"),
        (b"Transfer-Encoding", b"chunked"),
        (b"x-mine", b"1"),
        (b"accept", b"*/*"),
    ]
    assert end_to_end(headers) == [(b"accept", b"*/*")]


def test_credentials_stay() -> None:
    """The backend gets neither a token nor an identity that was meant for this server."""
    headers = [
        (b"authorization", b"Bearer x"),
        (b"impersonate-extra-team", b"a"),
        (b"x-remote-user", b"me"),
        (b"accept", b"*/*"),
    ]
    assert without_secrets(headers) == [(b"accept", b"*/*")]


def test_a_token_among_protocols_is_taken_out() -> None:
    """The other protocols of a WebSocket go on; without any the header goes."""
    name, token = b"sec-websocket-protocol", b"base64url.bearer.authorization.k8s.io.eA"
    assert without_secrets([(name, b"v5.channel.k8s.io, " + token)]) == [
        (name, b"v5.channel.k8s.io")
    ]
    assert without_secrets([(name, token)]) == []


def test_the_client_stands_behind_earlier_proxies() -> None:
    """In one header; a client without an address adds none."""
    before = [(b"x-forwarded-for", b"10.0.0.1"), (b"accept", b"*/*")]
    assert forwarded_for(before, "10.0.0.2") == [
        (b"accept", b"*/*"),
        (b"x-forwarded-for", b"10.0.0.1, 10.0.0.2"),
    ]
    assert forwarded_for(before, "") == before[1:]


@pytest.mark.parametrize(
    ("url", "rewritten"),
    [
        ("/next", "/proxy/next"),
        ("http://backend:80/next?a=b", "/proxy/next?a=b"),
        ("/proxy/next", "/proxy/next"),
        ("http://elsewhere/next", "http://elsewhere/next"),
        ("next", "next"),
        ("http://[", "http://["),
    ],
)
def test_links_lead_through_the_prefix(url: str, rewritten: str) -> None:
    """Those of the backend; relative ones, those of others and what is no URL stay."""
    assert rewrite_url(url, "backend:80", "/proxy", "server") == rewritten
