"""Headers and links as they change from one side of a proxy to the other.

Source: RFC 9110, 7.6.1 (connection-specific headers); kube-apiserver's proxies, for the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit, urlunsplit

from kubetrio.api.proxy.locations import clean_path
from kubetrio.auth.tokens import is_token_protocol

HOP_BY_HOP = frozenset(
    {
        b"connection", b"proxy-connection", b"keep-alive", b"proxy-authenticate",
        b"proxy-authorization", b"te", b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
SECRET = frozenset(
    {
        b"authorization", b"impersonate-user", b"impersonate-group", b"impersonate-uid",
        b"x-remote-user", b"x-remote-uid", b"x-remote-group",
    }
)  # fmt: skip
SECRET_PREFIXES = (b"impersonate-extra-", b"x-remote-extra-")
CORS = frozenset(
    b"access-control-allow-" + what for what in (b"credentials", b"headers", b"methods", b"origin")
)


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Headers without those of one hop."""
    listed = {
        token.strip().lower()
        for name, value in headers
        if name.lower() == b"connection"
        for token in value.split(b",")
    }
    gone = HOP_BY_HOP | listed
    return [(name, value) for name, value in headers if name.lower() not in gone]


def without_secrets(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Headers without the credentials that were meant for this server."""
    kept = []
    for name, value in headers:
        if name in SECRET or name.startswith(SECRET_PREFIXES):
            continue
        if name == b"sec-websocket-protocol":
            value = _without_tokens(value)
            if not value:
                continue
        kept.append((name, value))
    return kept


def _without_tokens(protocols: bytes) -> bytes:
    names = [name.strip() for name in protocols.decode("latin-1").split(",")]
    return ", ".join(n for n in names if not is_token_protocol(n)).encode("latin-1")


def forwarded_for(headers: Iterable[tuple[bytes, bytes]], peer: str) -> list[tuple[bytes, bytes]]:
    """Headers with the client's address behind those of earlier proxies."""
    name = b"x-forwarded-for"
    before = [value for key, value in headers if key == name]
    rest = [(key, value) for key, value in headers if key != name]
    return [*rest, (name, b", ".join([*before, peer.encode("latin-1")]))] if peer else rest


def rewrite_url(url: str, backend: str, prefix: str, host: str) -> str:
    """A URL of a backend as clients of the proxy reach it; a URL of another host stays as it is.

    Args:
        url: absolute or not.
        backend: host and port of the backend.
        prefix: path of the proxy.
        host: host and port that the client asked for.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.netloc not in ("", backend, host) or not parts.path.startswith("/"):
        return url
    if parts.netloc != host:
        parts = parts._replace(scheme="", netloc="")
    if not parts.path.startswith(prefix):
        parts = parts._replace(path=clean_path(f"{prefix}/{parts.path}"))
    return urlunsplit(parts)
