"""URLs as Go reads them."""

from __future__ import annotations

import re

import pytest

from kubetrio.gotext.urls import GoURL, GoURLError, parse_url

GOOD = {
    "https://a.example:8443/x?q=1#f%20g": GoURL("https", None, "a.example:8443", "q=1", "f g"),
    "HTTPS://u:p@a.example": GoURL("https", "u:p", "a.example"),
    "https://u%40@a.example": GoURL("https", "u%40", "a.example"),
    "//a.example/x": GoURL("", None, "a.example"),
    "///a.example/x": GoURL(),
    "https://[::1]:443/": GoURL("https", None, "[::1]:443"),
    "https://[fe80::1%25en0]": GoURL("https", None, "[fe80::1%en0]"),
    "mailto:a@b": GoURL("mailto"),
    "not a url": GoURL(),
    "": GoURL(),
    "https://h%c3%a9/": GoURL("https", None, "h\N{LATIN SMALL LETTER E WITH ACUTE}"),
}

BAD = {
    "a\nb": r'parse "a\nb": net/url: invalid control character in URL',
    ":x": 'parse ":x": missing protocol scheme',
    " https://x": 'parse " https://x": first path segment in URL cannot contain colon',
    "1:x": 'parse "1:x": first path segment in URL cannot contain colon',
    "https://a:port#f": 'parse "https://a:port": invalid port ":port" after host',
    "https://[::1": "parse \"https://[::1\": missing ']' in host",
    "https://[::1]x": 'parse "https://[::1]x": invalid port "x" after host',
    "https://a b/": 'parse "https://a b/": invalid character " " in host name',
    "https://a%20b/": 'parse "https://a%20b/": invalid URL escape "%20"',
    "https://a/%zz": 'parse "https://a/%zz": invalid URL escape "%zz"',
    "https://a/%4": 'parse "https://a/%4": invalid URL escape "%4"',
    "https://a/#%g": 'parse "https://a/#%g": invalid URL escape "%g"',
    "https://u{@a/": 'parse "https://u{@a/": net/url: invalid userinfo',
}


@pytest.mark.parametrize("text", GOOD)
def test_parts(text: str) -> None:
    """The parts of a URL come apart as Go takes them."""
    assert parse_url(text) == GOOD[text]


@pytest.mark.parametrize("text", BAD)
def test_errors(text: str) -> None:
    """A text that is no URL is refused with Go's words."""
    with pytest.raises(GoURLError) as refusal:
        parse_url(text)
    assert str(refusal.value) == BAD[text]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("http://::1/", 'invalid port "::1" after host'),
        ("http://a[::1]", "invalid IP-literal"),
        ("http://[10.0.0.1]", "invalid IP-literal"),
        ("http://[::x]", 'invalid host: ParseAddr("::x"): unable to parse IP'),
    ],
)
def test_hosts_that_are_no_addresses(text: str, why: str) -> None:
    """Brackets are for IPv6 addresses, and colons for those and one port."""
    with pytest.raises(GoURLError, match=re.escape(why)):
        parse_url(text)


def test_other_schemes_have_lists_of_hosts() -> None:
    """Databases are named by several hosts with ports."""
    assert parse_url("postgres://a:1,b:2/x").host == "a:1,b:2"
