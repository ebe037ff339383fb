"""The log of requests: one line for each when its answer is over, in the fields of httplog.

kube-apiserver writes it from ``-v=3`` on; here too.  Without it nothing is collected: flow control
tells what it did with a request when that gives its seat back, to this log alone.

Source: k8s.io/apiserver/pkg/server/httplog, and what filters/priority-and-fairness adds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVarTuple

import trio

from kubetrio.api.request import CONNECTED, Request, truthy
from kubetrio.api.response import AnyResponse, Response, TunnelResponse
from kubetrio.flow.entries import Entry
from kubetrio.flow.seats import ONE_SEAT, Width
from kubetrio.flow.ticket import Ticket
from kubetrio.gotext.durations import duration_text
from kubetrio.observe.logs import Log

Args = TypeVarTuple("Args")
Leave = Callable[[Request, float], None]

VERBOSITY = 3
NAME_CHARS = 64  # of names of levels and schemas, and of audit identities
APPLY = b"application/apply-patch+yaml"

log = Log("kubetrio.http")


class Passage(NamedTuple):
    """What flow control did with a request.

    Args:
        level: name of the priority level.
        schema: name of the flow schema.
        width: seats it was taken to need.
        spent_s: seconds from its start to when it gave its seat back, None if it was refused.
    """

    level: str
    schema: str
    width: Width
    spent_s: float | None


class RequestLog:
    """Writes the lines of one server."""

    @staticmethod
    def wanted() -> bool:
        """Whether the log is verbose enough for it."""
        return log.enabled(VERBOSITY)

    def leaving(self, leave: Leave) -> Leave:
        """What gives a seat back and notes the passage.

        Args:
            leave: gives it back.
        """

        def noted(request: Request, now: float) -> None:
            seat = request.seat
            if isinstance(seat, Ticket):
                began = seat.started_at
                self._note(request, seat.entry, now - (request.started if began is None else began))
            elif seat is not None:
                self._note(request, seat, now - request.started)
            leave(request, now)

        return noted

    def refused(self, request: Request, entry: object) -> None:
        """Note that a request got no seat.

        Args:
            request: the request.
            entry: what flow control knows of requests like it.
        """
        self._note(request, entry, None)

    def _note(self, request: Request, entry: object, spent_s: float | None) -> None:
        if isinstance(entry, Entry):
            classified = entry.classified
            width = request.width or ONE_SEAT
            request.passage = Passage(classified.level, classified.flow.schema, width, spent_s)

    def answered(self, request: Request, response: AnyResponse) -> None:
        """Write the line of a request, now or when the stream that answers it has ended.

        Args:
            request: the request.
            response: its answer; the stream of it is changed.
        """
        if isinstance(response, Response) or request.method == "HEAD":
            self._write(request, response.status)
        elif isinstance(response, TunnelResponse):
            response.run = self._written_after(request, None, response.run)
        else:
            response.run = self._written_after(request, response.status, response.run)

    def _written_after(
        self, request: Request, status: int | None, run: Callable[[*Args], Awaitable[None]]
    ) -> Callable[[*Args], Awaitable[None]]:
        async def logged(*args: *Args) -> None:
            try:
                await run(*args)
            finally:
                self._write(request, status)

        return logged

    def _write(self, request: Request, status: int | None) -> None:
        query = f"?{request.raw_query}" if request.raw_query else ""
        fields: dict[str, object] = {
            "verb": verb_of(request),
            "URI": f"{request.raw_path}{query}",
            "latency": duration_text(trio.current_time() - request.arrived),
            "userAgent": request.header(b"user-agent"),
            "audit-ID": request.audit_id[:NAME_CHARS],
            "srcIP": request.peer,
        }
        passage = request.passage
        if isinstance(passage, Passage):
            fields |= {
                "apf_pl": passage.level[:NAME_CHARS],
                "apf_fs": passage.schema[:NAME_CHARS],
                "apf_iseats": passage.width.initial_seats,
                "apf_fseats": passage.width.final_seats,
                "apf_additionalLatency": duration_text(passage.width.additional_latency_s),
            }
            if passage.spent_s is not None:
                fields["apf_execution_time"] = duration_text(passage.spent_s)
        if status is None:
            fields["hijacked"] = True
        else:
            fields["resp"] = status
        log.verbose(VERBOSITY, "HTTP", **fields)


def verb_of(request: Request) -> str:
    """The verb that the log and metrics of kube-apiserver know a request by."""
    info, method = request.info, request.method.upper()
    if info.is_resource and info.subresource in CONNECTED:
        return "CONNECT"
    if method == "PATCH" and request.headers.get(b"content-type") == APPLY:
        return "APPLY"
    if method == "GET" and truthy(request.query.get("watch", "false")):
        return "WATCH"
    if method in ("GET", "HEAD"):
        many = not info.name and (info.is_resource or info.namespace)
        return "LIST" if many else "GET"
    return method
