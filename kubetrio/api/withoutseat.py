"""Reading of bodies while their requests have no seat; `pendingbodies` says why."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from kubetrio.api.api import Edge
from kubetrio.api.request import ReadBody, Request
from kubetrio.api.response import AnyResponse, Response

Return = Callable[[Request], Awaitable[Response | None]]
"""Takes a seat for a request again; returns an answer if flow control rejects it."""


class NoSeat(Exception):
    """A body has come, and there is no seat to go on with.

    Args:
        answer: to the request.
    """

    def __init__(self, answer: Response) -> None:
        super().__init__("no seat")
        self.answer = answer


def read_without_seat(edge: Edge, request: Request, come_back: Return) -> None:
    """Have a body that has not come yet read without a seat.

    Args:
        edge: whose seat it is.
        request: the request; its way to read its body changes.
        come_back: takes a seat again.
    """
    request.read_body = partial(_read, edge, request, request.read_body, come_back)


async def _read(
    edge: Edge, request: Request, read: ReadBody, come_back: Return, limit: int
) -> bytes:
    """The body of a request.

    Raises:
        ApiError: as ``read`` does.
        NoSeat: there is no seat afterwards.
    """
    length = request.header(b"content-length")
    size = int(length) if length.isdecimal() else limit
    reservation = None
    if request.seat is not None and size <= limit:
        reservation = edge.pending_bodies.enter(request.user.name, size)
    if reservation is None:
        return await read(limit)
    edge.flow.pause(request, edge.clock.current_time())
    edge.in_flight.requests -= 1
    try:
        body = await read(limit) if await reservation.wait() else None
        refused = await come_back(request)
        if refused is not None:
            raise NoSeat(refused)
        return await read(limit) if body is None else body
    finally:
        edge.in_flight.requests += 1
        reservation.leave()


async def or_refused(decoding: Awaitable[AnyResponse | None]) -> AnyResponse | None:
    """Decode a body; or the answer that there was no seat when it had come."""
    try:
        return await decoding
    except NoSeat as none:
        return none.answer
