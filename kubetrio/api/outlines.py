"""Requests with long paths and queries: an outline first, the whole when they have a seat.

Strangers may send 128 KiB of path and query, and decoding them takes milliseconds.  Before a
request is authenticated and seated no more of it is read than flow control classifies it by: the
beginning of its path, and of a long query whether it is a watch.  The rest is read in the thread
for bodies, by turns of users, before the request is authorized.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from urllib.parse import unquote_plus

from kubetrio.api import deadlines
from kubetrio.api.api import Edge
from kubetrio.api.audit import auditing
from kubetrio.api.offloop import OffLoop
from kubetrio.api.request import (
    MOST_PARAMETERS,
    Request,
    RequestInfo,
    parse_query,
    resolve,
    undecodable,
)
from kubetrio.api.response import ANSWERS, Answer, Response, text_response, unfinished_path
from kubetrio.machinery.status import ApiError

SHORT_CHARS = 1024
"""Paths and queries up to this length are read at once, in 0.1 ms at the worst."""
_WATCH = re.compile("&(?:w|%77)(?:a|%61)(?:t|%74)(?:c|%63)(?:h|%68)(?:=([^&]*))?(?=&|$)")
LONGEST_FALSE = len("&%77%61%74%63%68=%66%61%6c%73%65")
_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


def is_long(request: Request) -> bool:
    """Return whether a request is outlined first."""
    return len(request.raw_query) > SHORT_CHARS or len(request.raw_path) > SHORT_CHARS


def outline(request: Request) -> tuple[RequestInfo, Mapping[str, str]]:
    """Return what a long request is about as far as flow control looks.

    Of the query that is the parameter ``watch``, which makes another verb of a list.  A name that a
    field selector pins is missing, and a path is cut behind `SHORT_CHARS`: resource, namespace and
    subresource stand before.
    """
    query: Mapping[str, str] = {}
    if len(request.raw_query) <= SHORT_CHARS:
        query = parse_query(request.raw_query)
    elif request.method in ("GET", "HEAD"):
        watch = _watch_parameter(request.raw_query)
        query = {} if watch is None else {"watch": watch}
    return resolve(request.method, request.raw_path[:SHORT_CHARS], query), query


def _watch_parameter(raw: str) -> str | None:
    """First value of the parameter ``watch``, as `parse_query` would find it."""
    if raw.count("&") >= MOST_PARAMETERS:
        return None
    for parameter in _WATCH.finditer("&" + raw):
        if len(parameter[0]) > LONGEST_FALSE:
            return "true"  # a value so long is neither "0" nor "false", or its pair is dropped
        if not undecodable(parameter[0]):
            return unquote_plus(parameter[1] or "")
    return None


async def read(off_loop: OffLoop, request: Request) -> Response | None:
    """Read the whole of an outlined request; the answer if its path is none.

    Args:
        off_loop: whose thread reads it.
        request: authenticated and seated; its query, meaning and selectors are filled in.

    Raises:
        ApiError: 400, its parameter ``timeout`` is no duration.
    """
    request.outlined = False
    if not await off_loop.beside(request, _read, request):
        return text_response("400 Bad Request", 400)
    limit = deadlines.limit_of(request.query.get("timeout", ""))
    if limit is not None and request.timer is not None:
        request.timer.deadline = min(request.timer.deadline, request.arrived + limit)
    deadlines.check(request)
    return None


def _read(request: Request) -> bool:
    """Fill in a request; whether its path can be decoded."""
    if _BAD_ESCAPE.search(request.raw_path):
        return False
    request.query = parse_query(request.raw_query)
    request.info = resolve(request.method, request.raw_path, request.query)
    request.selectors.parse()
    return True


async def read_whole(
    edge: Edge,
    request: Request,
    after: Sequence[Callable[[Request], Answer | Awaitable[Answer]]],
) -> Answer:
    """Read a long request, which has a seat now; then walk the stages that waited for that.

    Args:
        edge: works over it beside the event loop.
        request: it.
        after: these stages.
    """
    try:
        unreadable = await read(edge.off_loop, request)
    except ApiError:
        auditing.refused_early(edge, request)
        raise
    if unreadable is not None:
        return unreadable
    if request.info.unfinished:
        return unfinished_path(request.raw_path, request.raw_query)
    for stage in after:
        answer = stage(request)
        if answer is not None and not isinstance(answer, ANSWERS):
            answer = await answer
        if answer is not None:
            return answer
    return None
