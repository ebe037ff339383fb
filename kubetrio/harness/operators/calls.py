"""What an operator and its users asked of a server, request by request, and what was answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
import trio

from kubetrio.api.faults.faulting import HEADER
from kubetrio.api.pipeline import Handle
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Channel, Response, StreamResponse
from kubetrio.harness.connecting import ADMIN
from kubetrio.machinery.identity import MASTERS, UserInfo

OPERATOR = UserInfo("operator", groups=(MASTERS,))
"""The user that operators act as in the harness; rules of faults name it."""
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
LARGEST_ANSWER_BYTES = 1024 * 1024
"""Larger answers are not kept."""


class Place(NamedTuple):
    """Which object a request is about.

    Args:
        group: API group.
        resource: plural name.
        namespace: or empty.
        name: or empty, for a collection.
    """

    group: str
    resource: str
    namespace: str
    name: str

    def __str__(self) -> str:
        kind = f"{self.resource}.{self.group}" if self.group else self.resource
        path = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{kind} {path}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request and its answer.

    Args:
        at: seconds since recording began.
        user: name of the user.
        verb: of the API.
        place: what it is about; of a create, with the name of the new object.
        subresource: or empty.
        method: HTTP method.
        path: path and query.
        media: content type of the body, or empty.
        sent: the body, None for none.
        status: HTTP status code.
        answer: the object or ``Status`` that was answered; None for a list, a watch and what is no
            JSON.
        retry_after_s: whole seconds of ``Retry-After``, None without one.
        fault: id of the rule of faults that it met, or empty.
    """

    at: float
    user: str
    verb: str
    place: Place
    subresource: str = ""
    method: str = ""
    path: str = ""
    media: str = ""
    sent: Any = None
    status: int = 200
    answer: Any = None
    retry_after_s: int | None = None
    fault: str = ""

    @property
    def writes(self) -> bool:
        """Whether it would change something."""
        return self.verb in WRITES

    @property
    def done(self) -> bool:
        """Whether it was answered with success."""
        return 200 <= self.status < 300

    def __str__(self) -> str:
        what = f"{self.place}{f' ({self.subresource})' if self.subresource else ''}"
        fault = f" [{self.fault}]" if self.fault else ""
        return f"{self.at:8.2f}s {self.user}: {self.verb} {what} -> {self.status}{fault}"


class Recorder:
    """A pipeline that keeps what it is asked; watches of the operator can be ended.

    Args:
        handle: the pipeline.
        is_operator: whether requests of a user are the operator's; all others are its users'.
        most_calls: so many requests of the operator are answered; those after them wait for ever.
        latency_s: how long a request of the operator takes on its way.

    Attributes:
        calls: in the order of their answers.
        exhausted: set when the operator asks more than `most_calls` times.
        after_write: called when a write of the operator was done, before it is told.
        in_flight: requests of the operator that are not answered yet.
        newest: when the operator asked last, in seconds since recording began.
    """

    def __init__(
        self,
        handle: Handle,
        is_operator: Callable[[UserInfo], bool],
        *,
        most_calls: int,
        latency_s: float = 0.0,
    ) -> None:
        self._handle = handle
        self._is_operator = is_operator
        self._most_calls = most_calls
        self._latency_s = latency_s
        self._asked = 0
        self._began = trio.current_time()
        self._streams: set[trio.CancelScope] = set()
        self.calls: list[Call] = []
        self.exhausted = trio.Event()
        self.after_write: Callable[[], None] | None = None
        self.in_flight = 0
        self.newest = 0.0

    def now(self) -> float:
        """Seconds since recording began."""
        return trio.current_time() - self._began

    def begin(self) -> None:
        """Begin anew: with no calls, and requests that may be made."""
        self.calls = []
        self._asked = 0
        self._began = trio.current_time()
        self.newest = 0.0

    def end_watches(self) -> None:
        """End the operator's watches in order, as a server may do at any time."""
        for scope in tuple(self._streams):
            scope.cancel()

    async def handle(self, request: Request) -> AnyResponse:
        """Answer a request, and keep it."""
        certificate = request.certificate
        known = certificate is not None and self._is_operator(certificate)
        if known:
            await self._admit()
        # The server completes the object in place.
        given = None if request.given is None else orjson.dumps(request.given)
        self.in_flight += known
        try:
            response = await self._handle(request)
        finally:
            self.in_flight -= known
        operators = self._is_operator(request.user)
        if operators and not known:
            self._asked += 1
        if not hasattr(request, "info"):
            return response  # it was refused before it was read
        call = _call(request, response, given, self.now())
        self.calls.append(call)
        if operators:
            self.newest = self.now()
            if isinstance(response, StreamResponse) and response.long_running:
                self._hold(response)
            if call.writes and call.done and self.after_write is not None:
                self.after_write()
                await trio.lowlevel.checkpoint()
        return response

    async def _admit(self) -> None:
        self._asked += 1
        if self._asked > self._most_calls:
            self.exhausted.set()
            await trio.sleep_forever()
        if self._latency_s:
            await trio.sleep(self._latency_s)

    def _hold(self, response: StreamResponse) -> None:
        """Have `end_watches` end a stream."""
        run = response.run

        async def ended(channel: Channel) -> None:
            with trio.CancelScope() as scope:
                self._streams.add(scope)
                try:
                    await run(channel)
                finally:
                    self._streams.discard(scope)

        response.run = ended


def _call(request: Request, response: AnyResponse, given: bytes | None, at: float) -> Call:
    """What is kept of a request and its answer.

    Args:
        request: the request.
        response: its answer.
        given: the object of an in-process client as it was given, None where there is a body.
        at: seconds since recording began.
    """
    info = request.info
    answer, headers = None, dict(response.headers)
    if isinstance(response, Response) and info.verb != "list":
        answer = _parsed(response.body)
    sent = request.body if given is None else orjson.loads(given)
    name = info.name
    if info.verb == "create" and not name:
        name = _name_of(answer) or _name_of(sent)
    after = headers.get(b"Retry-After", b"")
    return Call(
        at=at,
        user=request.user.name,
        verb=info.verb,
        place=Place(info.group, info.resource, info.namespace, name),
        subresource=info.subresource,
        method=request.method,
        path=f"{request.raw_path}?{request.raw_query}" if request.raw_query else request.raw_path,
        media=request.headers.get(b"content-type", b"").decode("latin-1"),
        sent=sent,
        status=response.status,
        answer=answer,
        retry_after_s=int(after) if after.isdigit() else None,
        fault=headers.get(HEADER, b"").decode("latin-1"),
    )


def _parsed(body: bytes) -> Any:
    """JSON of an answer; None where it is none, or large."""
    if len(body) <= LARGEST_ANSWER_BYTES and body.startswith(b"{"):
        with suppress(orjson.JSONDecodeError):
            return orjson.loads(body)
    return None


def _name_of(obj: Any) -> str:
    meta = obj.get("metadata") if isinstance(obj, dict) else None
    return str(meta.get("name") or "") if isinstance(meta, dict) else ""


async def send(
    handle: Handle,
    method: str,
    path: str,
    body: Any = None,
    *,
    media: str = "application/json",
    user: UserInfo = ADMIN,
) -> AnyResponse:
    """Send a request without bytes, and return what is answered.

    Args:
        handle: the pipeline.
        method: HTTP method.
        path: path and query.
        body: a JSON value; None for none.
        media: content type of the body.
        user: who asks.
    """
    data = b"" if body is None else orjson.dumps(body)
    raw: list[tuple[bytes, bytes]] = [(b"accept", b"application/json")]
    if data:
        raw.append((b"content-type", media.encode()))

    async def read_body(_: int) -> bytes:
        return data

    target, _, query = path.partition("?")
    request = Request(
        method=method,
        raw_path=target,
        raw_query=query,
        headers=dict(raw),
        raw_headers=raw,
        read_body=read_body,
        certificate=user,
        ready=True,
    )
    return await handle(request)


def of_operator(calls: Sequence[Call], user: str = OPERATOR.name) -> list[Call]:
    """The calls of an operator alone."""
    return [call for call in calls if call.user == user]
