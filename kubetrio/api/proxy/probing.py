"""Health of the components beside this server, as they tell it themselves.

Source: k8s.io/kubernetes/pkg/probe/http, and pkg/registry/core/rest (`serversToValidate`).
"""

from __future__ import annotations

import contextlib
from http import HTTPStatus

import trio

from kubetrio.api.api import Edge
from kubetrio.api.proxy.locations import Location, connected
from kubetrio.backend.backends import PeerVerification
from kubetrio.backend.dial import DialError
from kubetrio.backend.exchange import BackendError, Exchange, encode_head
from kubetrio.release import MINOR_VERSION

TIMEOUT_S = 20.0
MAX_BYTES = 10 * 1024
AGENT = f"kube-probe/{MINOR_VERSION}".encode()


async def probe(edge: Edge, port: str) -> tuple[bool | None, str]:
    """Ask a component on this machine how it is.

    Args:
        edge: whose connections are used.
        port: where the component listens.

    Returns:
        Whether it is well, None when that is open, and what it said or why it is not well.
    """
    where = Location("127.0.0.1", port, PeerVerification.COMPONENT, "/healthz")
    try:
        with trio.fail_after(TIMEOUT_S):
            status, answer = await _get(edge, where)
    except (DialError, BackendError) as error:
        return False, f'Get "{where.url}": {error}'
    except trio.TooSlowError:
        return False, f'Get "{where.url}": context deadline exceeded'
    if not HTTPStatus.OK <= status < HTTPStatus.BAD_REQUEST:
        return False, f"HTTP probe failed with statuscode: {status}"
    if status >= HTTPStatus.MULTIPLE_CHOICES:
        return None, f"Probe terminated redirects, Response body: {answer}"
    return True, answer


async def _get(edge: Edge, where: Location) -> tuple[int, str]:
    headers = [
        (b"host", where.authority.encode()),
        (b"user-agent", AGENT),
        (b"accept", b"*/*"),
        (b"connection", b"close"),
    ]
    head = encode_head("GET", where.target, headers)
    with contextlib.closing(await connected(edge, where)) as transport:
        exchange = Exchange(transport, "GET", head)
        answer = await exchange.head()
        body = b""
        while len(body) < MAX_BYTES:
            piece = await exchange.read()
            if not piece:
                break
            body += piece
    return answer.status, body[:MAX_BYTES].decode("utf-8", "replace")
