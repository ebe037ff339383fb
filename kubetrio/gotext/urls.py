"""URLs as Go's package ``net/url`` reads them, with what it says of those that it cannot read.

Source: RFC 3986, section 3; RFC 6874 (zones); the errors that ``url.Parse`` documents.
"""

from __future__ import annotations

import ipaddress
import re
import string
import urllib.parse
from dataclasses import dataclass
from urllib.parse import unquote

from kubetrio.gotext.text import quote

_control = re.compile(r"[\x00-\x1f\x7f]")
_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_port = re.compile(r"(?::[0-9]*)?")
_user = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_escape = re.compile(r"%(?P<code>[0-9A-Fa-f]{2})?")
_HOST_MAX_ESCAPE = 0x80
_IN_HOST = frozenset(string.ascii_letters + string.digits + "-_.~!$&'()*+,;=:[]<>\"")
_IN_ZONE = _IN_HOST | {"%"}


class GoURLError(ValueError):
    """A URL that Go cannot parse; the text is what Go says."""


@dataclass(frozen=True, slots=True)
class GoURL:
    """The parts of a URL that rules look at.

    Args:
        scheme: in lower case.
        user: the user information as Go prints it, or None.
        host: with the port.
        query: as it was written.
        fragment: without escapes.
    """

    scheme: str = ""
    user: str | None = None
    host: str = ""
    query: str = ""
    fragment: str = ""


def parse_url(text: str) -> GoURL:
    """Parse a URL, absolute or not.

    Args:
        text: the URL.

    Raises:
        GoURLError: it is none.
    """
    before, _, fragment = text.partition("#")
    shown = before
    try:
        scheme, user, host, query = _parts(before)
        shown = text
        _check_escapes(fragment)
    except GoURLError as error:
        raise GoURLError(f"parse {quote(shown)}: {error}") from None
    return GoURL(scheme, user, host, query, unquote(fragment))


def _parts(text: str) -> tuple[str, str | None, str, str]:
    if _control.search(text):
        raise GoURLError("net/url: invalid control character in URL")
    if text.startswith(":"):
        raise GoURLError("missing protocol scheme")
    match_ = _scheme.match(text)
    scheme = match_[1].lower() if match_ else ""
    rest, _, query = text[match_.end() if match_ else 0 :].partition("?")
    if not rest.startswith("/"):
        if scheme:
            return scheme, None, "", query
        if ":" in rest.partition("/")[0]:
            raise GoURLError("first path segment in URL cannot contain colon")
    user, host, path = None, "", rest
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        path = slash + path
        user, host = _authority(authority, scheme)
    _check_escapes(path)
    return scheme, user, host, query


def _authority(text: str, scheme: str) -> tuple[str | None, str]:
    user, at, host = text.rpartition("@")
    host = _host(host, scheme)
    if not at:
        return None, host
    if not _user.fullmatch(user):
        raise GoURLError("net/url: invalid userinfo")
    _check_escapes(user)
    parts = (urllib.parse.quote(unquote(part), safe="$&+,;=~") for part in user.split(":", 1))
    return ":".join(parts), host


def _host(text: str, scheme: str) -> str:
    name, zone, port = text, "", ""
    if text.rfind("[") > 0:
        raise GoURLError("invalid IP-literal")
    if text.startswith("["):
        inside, bracket, port = text.rpartition("]")
        if not bracket:
            raise GoURLError("missing ']' in host")
        name, percent, zone = f"{inside}]".partition("%25")
        zone = percent + zone
    else:
        # Other schemes have lists of hosts with ports.
        split = text.partition if scheme in ("http", "https") else text.rpartition
        _, colon, digits = split(":")
        port = f":{digits}" if colon else ""
    if not _port.fullmatch(port):
        raise GoURLError(f"invalid port {quote(port)} after host")
    _check_host(name, _IN_HOST)
    for match in _escape.finditer(name):
        code = match["code"]
        if code is not None and int(code, 16) < _HOST_MAX_ESCAPE and code != "25":
            raise GoURLError(f"invalid URL escape {quote(match[0])}")
    _check_host(zone, _IN_ZONE)
    if not text.startswith("["):
        return unquote(name)
    _check_address(f"{unquote(name)}{unquote(zone)}"[1:-1])
    return unquote(name) + unquote(zone) + port


def _check_address(text: str) -> None:
    """Check that brackets are around an IPv6 address."""
    try:
        if ipaddress.ip_address(text).version == 4:
            raise GoURLError("invalid IP-literal")
    except GoURLError:
        raise
    except ValueError:
        shown = quote(text)
        raise GoURLError(f"invalid host: ParseAddr({shown}): unable to parse IP") from None


def _check_host(text: str, known: frozenset[str]) -> None:
    _check_escapes(text)
    for char in text:
        if char != "%" and char.isascii() and char not in known:
            raise GoURLError(f"invalid character {quote(char)} in host name")


def _check_escapes(text: str) -> None:
    for match in _escape.finditer(text):
        if match["code"] is None:
            wrong = text[match.start() : match.start() + 3]
            raise GoURLError(f"invalid URL escape {quote(wrong)}")
