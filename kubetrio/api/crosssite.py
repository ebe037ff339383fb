"""Requests that a page of another site has a browser make.

A browser with a client certificate, and ``kubectl proxy``, add credentials to whatever is asked of
them.  Pages of others may send a POST without asking first, and read no answer: what changes
something is refused, as browsers say themselves where a request comes from.

Pages may open a WebSocket anywhere, too, and read what comes.  Browsers say the page's origin then;
one of this machine is let pass, since ``kubectl proxy`` serves pages under an address of its own.
So is a handshake that is a token's alone, which no browser adds; beside other credentials it says
nothing, for a page chooses the subprotocols of its sockets.

Source: W3C "Fetch Metadata Request Headers"; RFC 6455, 10.2.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from kubetrio.api.request import Request
from kubetrio.auth.tokens import TOKEN_PROTOCOL
from kubetrio.machinery.status import ApiError

HEADER = b"sec-fetch-site"
OWN = frozenset({b"same-origin", b"none"})
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
HANDSHAKE = b"sec-websocket-key"
TOKEN = TOKEN_PROTOCOL.encode()
REFUSED = "requests of other sites' pages are refused"


def refuse_cross_site(request: Request) -> None:
    """Refuse what another site's page would change, or connect to.

    Raises:
        ApiError: 403.
    """
    headers = request.headers
    site = headers.get(HEADER)
    connects = request.upgrade or HANDSHAKE in headers
    if site is None:
        refused = connects and _foreign(headers.get(b"origin"), headers.get(b"host", b""))
    else:
        refused = site not in OWN and (connects or request.method not in SAFE)
    if refused and not _by_token_alone(request):
        raise ApiError(403, "Forbidden", REFUSED)


def _by_token_alone(request: Request) -> bool:
    """Whether a subprotocol has a token, and nothing else says who asks."""
    headers = request.headers
    added = request.certificate or request.shown or b"authorization" in headers
    return not added and TOKEN in headers.get(b"sec-websocket-protocol", b"")


def _foreign(origin: bytes | None, host: bytes) -> bool:
    """Whether a page is neither of this host nor of the browser's machine."""
    if origin is None:
        return False
    page = _name(origin.decode("latin-1"))
    return not _loopback(page) and page != _name("//" + host.decode("latin-1"))


def _name(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"
