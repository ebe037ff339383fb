"""Requests that a page of another site has a browser make.

A browser with a client certificate, and ``kubectl proxy``, add credentials to whatever is asked of
them.  Pages of others may send a POST without asking first, and read no answer: what changes
something is refused, as browsers say themselves where a request comes from.

Source: W3C "Fetch Metadata Request Headers".
"""

from __future__ import annotations

from kubetrio.api.request import Request
from kubetrio.machinery.status import ApiError

HEADER = b"sec-fetch-site"
OWN = frozenset({b"same-origin", b"none"})
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
REFUSED = "requests of other sites' pages are refused"


def refuse_cross_site(request: Request) -> None:
    """Refuse what another site's page would change, or connect to.

    Raises:
        ApiError: 403.
    """
    site = request.headers.get(HEADER)
    if site is None or site in OWN:
        return
    if request.method not in SAFE or request.upgrade:
        raise ApiError(403, "Forbidden", REFUSED)
