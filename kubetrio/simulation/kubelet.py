"""The kubelet of simulated nodes, as the API server speaks with it: logs, exec, attach, forwards.

Source: k8s.io/kubelet (paths of its server); KEP-4006 (protocols of streams over SPDY).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

import httptools
import orjson

from kubetrio.backend.spdy import DATA, PING, SYN_STREAM, Frame, SpdyError, data, ping
from kubetrio.backend.spdyserver import ServerFraming
from kubetrio.simulation.answers import (
    Ran,
    Unanswered,
    answer_of,
    http_answer,
    log_of,
    page_of,
    runs,
)
from kubetrio.simulation.connection import Connection

Object = dict[str, Any]
Find = Callable[[str, str], Awaitable[Object | None]]
"""Finds a pod by namespace and name."""

LOOK_S = 1.0
"""How often a container is looked at that is followed."""
MOST_HEAD_BYTES = 64 * 1024
WITH_STATUS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
FORWARDED = "portforward.k8s.io"
NOT_FOUND, BAD_REQUEST, FORBIDDEN = 404, 400, 403
REASONS = {200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found"}


class Asked(NamedTuple):
    """A request, without its body.

    Args:
        method: HTTP method.
        path: decoded.
        query: names and values, decoded.
        headers: names in lower case, and values.
    """

    method: str
    path: Sequence[str]
    query: Sequence[tuple[str, str]]
    headers: Sequence[tuple[str, str]]

    def values(self, name: str) -> list[str]:
        """The values of a header, those in one line separated."""
        return [
            part.strip() for key, value in self.headers if key == name for part in value.split(",")
        ]

    def wants(self, name: str) -> bool:
        """Whether the query says ``1`` or ``true``."""
        return dict(self.query).get(name) in ("1", "true")


class _Parser:
    """What llhttp calls."""

    def __init__(self) -> None:
        self.url = b""
        self.headers: list[tuple[str, str]] = []
        self.complete = False

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_message_complete(self) -> None:
        self.complete = True


def plain(status: int, text: str) -> bytes:
    """An answer with a text, behind which the connection ends.

    Args:
        status: HTTP status.
        text: of the body.
    """
    body = text.encode()
    head = (
        f"HTTP/1.1 {status} {REASONS.get(status, 'Error')}\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


class Kubelet:
    """The other end of one connection to a kubelet.

    Args:
        find: finds pods.
    """

    def __init__(self, find: Find) -> None:
        self._find = find
        self._parser = _Parser()
        self._http = httptools.HttpRequestParser(self._parser)
        self._size = 0
        self._then: Callable[[Connection], Awaitable[None]] | None = None

    async def work(self, here: Connection) -> None:
        """See `OtherEnd`."""
        if self._then is not None:
            await self._then(here)
            return
        await here.written()
        received = here.take()
        if not received:
            here.finish()
            return
        self._size += len(received)
        rest = b""
        try:
            self._http.feed_data(received)
        except httptools.HttpParserUpgrade as upgrade:
            rest, self._parser.complete = received[upgrade.args[0] :], True
        except httptools.HttpParserError as error:
            _refuse(here, BAD_REQUEST, str(error))
            return
        if self._parser.complete:
            await self._answer(here, self._asked(), rest)
        elif self._size > MOST_HEAD_BYTES:
            _refuse(here, BAD_REQUEST, "the request is too large")

    def _asked(self) -> Asked:
        url = httptools.parse_url(self._parser.url)
        path = unquote(url.path.decode("latin-1")).strip("/").split("/")
        query = parse_qsl((url.query or b"").decode("latin-1"), keep_blank_values=True)
        return Asked(self._http.get_method().decode(), path, query, self._parser.headers)

    async def _answer(self, here: Connection, asked: Asked, rest: bytes) -> None:
        match asked.path:
            case ["containerLogs", namespace, name, container]:
                await self._logs(here, asked, (namespace, name, container))
            case ["exec" | "attach" as what, namespace, name, container]:
                await self._streams(here, asked, (namespace, name, container), what, rest)
            case ["portForward", namespace, name]:
                await self._forward(here, asked, (namespace, name), rest)
            case _:
                _refuse(here, NOT_FOUND, "404 page not found\n")

    async def _logs(self, here: Connection, asked: Asked, where: tuple[str, str, str]) -> None:
        namespace, name, container = where
        query = dict(asked.query)
        pod = await self._find(namespace, name)
        if pod is None:
            _refuse(here, NOT_FOUND, f'pod "{name}" not found\n')
            return
        try:
            text = log_of(pod, container, query)
        except Unanswered as error:
            _refuse(here, error.status, str(error))
            return
        # Without a length: the end of the connection is that of the log.
        here.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" + text)
        if query.get("follow") == "true" and query.get("previous") != "true":
            self._then = _Following(self._find, where).work
        else:
            here.finish()

    async def _streams(
        self,
        here: Connection,
        asked: Asked,
        where: tuple[str, str, str],
        what: str,
        rest: bytes,
    ) -> None:
        namespace, name, container = where
        pod = await self._find(namespace, name)
        offered = asked.values("x-stream-protocol-version")
        version = next((one for one in WITH_STATUS if one in offered), "")
        if pod is None or not runs(pod, container):
            _refuse(here, NOT_FOUND, f'container not found ("{container}")')
            return
        if "spdy/3.1" not in [one.lower() for one in asked.values("upgrade")] or not version:
            _refuse(here, FORBIDDEN, "simulated kubelets speak SPDY/3.1 with a status at the end")
            return
        here.say(_switched(version))
        names = [("error", True), ("stdin", asked.wants("input")),
                 ("stdout", asked.wants("output")),
                 ("stderr", asked.wants("error") and not asked.wants("tty")),
                 ("resize", asked.wants("tty"))]  # fmt: skip
        expected = frozenset(one for one, there in names if there)
        attached = what == "attach"
        ran = (
            Ran(log_of(pod, container, {}).decode())
            if attached
            else answer_of(
                pod, container, [value for key, value in asked.query if key == "command"]
            )
        )
        after = _Following(self._find, where) if attached else None
        self._then = _Process(expected, ran, after, rest).work

    async def _forward(
        self, here: Connection, asked: Asked, where: tuple[str, str], rest: bytes
    ) -> None:
        namespace, name = where
        pod = await self._find(namespace, name)
        if pod is None:
            _refuse(here, NOT_FOUND, f'pod "{name}" not found\n')
            return
        if "spdy/3.1" not in [one.lower() for one in asked.values("upgrade")]:
            _refuse(here, FORBIDDEN, "simulated kubelets speak SPDY/3.1")
            return
        here.say(_switched(FORWARDED))
        self._then = _Forward(self._find, pod, rest).work


def _refuse(here: Connection, status: int, text: str) -> None:
    here.say(plain(status, text))
    here.finish()


def _switched(version: str) -> bytes:
    return (
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        f"X-Stream-Protocol-Version: {version}\r\n\r\n"
    ).encode()


class _Following:
    """Waits for a container to end; for the arguments see `Kubelet`."""

    def __init__(self, find: Find, where: tuple[str, str, str]) -> None:
        self._find = find
        self._where = where

    async def ended(self) -> bool:
        """Whether the container does not run."""
        namespace, name, container = self._where
        pod = await self._find(namespace, name)
        return pod is None or not runs(pod, container)

    async def work(self, here: Connection) -> None:
        """See `OtherEnd`."""
        if here.over or await self.ended():
            here.finish()
            return
        await here.written(LOOK_S)
        here.take()


class _Process:
    """Streams of a command, or of a container that is attached to.

    Args:
        expected: names of the streams that the client opens.
        ran: what it prints.
        after: what it waits for before it ends, None for nothing.
        rest: bytes that came behind the request.
    """

    def __init__(
        self, expected: frozenset[str], ran: Ran, after: _Following | None, rest: bytes
    ) -> None:
        self._framing = ServerFraming()
        self._expected = expected
        self._ran = ran
        self._after = after
        self._rest = rest
        self._streams: dict[str, int] = {}
        self._printed = False

    async def work(self, here: Connection) -> None:
        """See `OtherEnd`."""
        if self._printed and (self._after is None or await self._after.ended()):
            self._end(here)
            return
        if not self._rest:
            await here.written(LOOK_S if self._printed else None)
        received, self._rest = self._rest + here.take(), b""
        if here.over and not received:
            here.finish()
            return
        try:
            frames = self._framing.feed(received)
            for frame in frames:
                self._take(here, frame)
        except SpdyError:
            here.finish()
            return
        if not self._printed and self._expected <= self._streams.keys():
            self._printed = True
            for name, text in (("stdout", self._ran.stdout), ("stderr", self._ran.stderr)):
                if text and name in self._streams:
                    here.say(data(self._streams[name], text.encode()))

    def _take(self, here: Connection, frame: Frame) -> None:
        if frame.kind == SYN_STREAM:
            name = self._framing.headers(frame).get("streamtype", "")
            self._streams[name] = frame.stream
            here.say(self._framing.reply(frame.stream))
        elif frame.kind == PING:
            here.say(ping(frame.stream))
        # What is typed goes nowhere.

    def _end(self, here: Connection) -> None:
        for name in ("stdout", "stderr"):
            if name in self._streams:
                here.say(data(self._streams[name], b"", fin=True))
        here.say(data(self._streams["error"], _status(self._ran.code), fin=True))
        here.finish()


def _status(code: int) -> bytes:
    """How a command ended, as a ``Status``."""
    if not code:
        return orjson.dumps({"metadata": {}, "status": "Success"})
    text = f"command terminated with non-zero exit code: exit status {code}"
    details = {"causes": [{"reason": "ExitCode", "message": str(code)}]}
    return orjson.dumps(
        {
            "metadata": {},
            "status": "Failure",
            "message": text,
            "reason": "NonZeroExitCode",
            "details": details,
        }
    )


class _Forward:
    """Forwarded ports of a pod: HTTP is answered, all else is refused.

    Args:
        find: finds pods.
        pod: the pod, as it was when the connection began.
        rest: bytes that came behind the request.
    """

    def __init__(self, find: Find, pod: Object, rest: bytes) -> None:
        self._framing = ServerFraming()
        self._find = find
        self._meta: Mapping[str, Any] = pod["metadata"]
        self._rest = rest
        self._errors: dict[str, int] = {}  # streams of errors, by the id of the request
        self._ports: dict[int, tuple[str, str]] = {}  # ids and ports of streams of data
        self._heads: dict[int, bytes] = {}  # the last bytes of what they sent

    async def work(self, here: Connection) -> None:
        """See `OtherEnd`."""
        if not self._rest:
            await here.written()
        received, self._rest = self._rest + here.take(), b""
        if here.over and not received:
            here.finish()
            return
        try:
            for frame in self._framing.feed(received):
                await self._take(here, frame)
        except SpdyError:
            here.finish()

    async def _take(self, here: Connection, frame: Frame) -> None:
        if frame.kind == PING:
            here.say(ping(frame.stream))
        elif frame.kind == SYN_STREAM:
            headers = self._framing.headers(frame)
            number = headers.get("requestid", "")
            here.say(self._framing.reply(frame.stream))
            if headers.get("streamtype") == "error":
                self._errors[number] = frame.stream
            else:
                self._ports[frame.stream] = (number, headers.get("port", ""))
                await self._open(here, frame.stream)
        elif frame.kind == DATA and frame.stream in self._ports:
            head = self._heads.get(frame.stream, b"") + frame.payload
            self._heads[frame.stream] = head[-3:]
            if b"\r\n\r\n" in head:
                await self._serve(here, frame.stream)

    async def _page(self) -> bytes | None:
        pod = await self._find(self._meta["namespace"], self._meta["name"])
        return None if pod is None else page_of(pod)

    async def _open(self, here: Connection, stream: int) -> None:
        """Refuse a connection to a port on which nothing listens."""
        if await self._page() is not None:
            return
        number, port = self._ports.pop(stream)
        text = (
            f"error forwarding port {port} to pod {self._meta['name']}, uid {self._meta['uid']}: "
            f"dial tcp 127.0.0.1:{port}: connect: connection refused"
        )
        if number in self._errors:
            here.say(data(self._errors.pop(number), text.encode(), fin=True))
        here.say(data(stream, b"", fin=True))

    async def _serve(self, here: Connection, stream: int) -> None:
        page = await self._page()
        number, _ = self._ports.pop(stream)
        self._heads.pop(stream, None)
        if number in self._errors:
            here.say(data(self._errors.pop(number), b"", fin=True))
        here.say(data(stream, b"" if page is None else http_answer(page), fin=True))
