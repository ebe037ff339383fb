"""How long a client lets a request take: the query parameter ``timeout``.

Source: the API server's request timeout ("Server request timeout" among Kubernetes' e2e tests):
a text that is no duration is refused before anything else is looked at, watches and their like do
not have such a limit, zero and what is longer than the server's own limit mean that one.
"""

from __future__ import annotations

from kubetrio.api.request import CONNECTED, Request, parse_query
from kubetrio.gotext.durations import parse_duration
from kubetrio.machinery.status import bad_request

LONG_RUNNING_VERBS = frozenset({"watch", "proxy"})


def limit_of(text: str) -> float | None:
    """Seconds that a text names, if it names a limit that counts."""
    try:
        seconds = parse_duration(text) if text else 0.0
    except ValueError:
        return None  # `check` tells
    return seconds if seconds > 0 else None


def named_limit(raw_query: str) -> float | None:
    """Seconds that a raw query names, if it names a limit that counts."""
    if "timeout=" not in raw_query and "%" not in raw_query:
        return None
    return limit_of(parse_query(raw_query).get("timeout", ""))


def check(request: Request) -> None:
    """Refuse a limit that is none.

    Raises:
        ApiError: 400.
    """
    text = request.query.get("timeout")
    info = request.info
    if not text or info.verb in LONG_RUNNING_VERBS or info.subresource in CONNECTED:
        return
    try:
        parse_duration(text)
    except ValueError as error:
        raise bad_request(f"invalid timeout specified in the request URL - {error}") from None
