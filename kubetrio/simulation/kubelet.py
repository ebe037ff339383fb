"""The kubelet of simulated nodes, as the API server speaks with it: logs, exec, attach, forwards.

Source: k8s.io/kubelet (paths of its server); KEP-4006 (protocols of streams over SPDY).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

import httptools

from kubetrio.backend.websocket import accept_head
from kubetrio.simulation.answers import Ran, Unanswered, answer_of, log_of, runs
from kubetrio.simulation.connection import Connection
from kubetrio.simulation.forwarding import Forwarding
from kubetrio.simulation.podports import PodPorts
from kubetrio.simulation.processes import Find, Following, SocketProcess, SpdyProcess
from kubetrio.simulation.standardinput import End, input_of, note_of
from kubetrio.simulation.summary import Look, Tenants, pods_of, summary_of

MOST_HEAD_BYTES = 64 * 1024
WITH_STATUS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
FORWARDED = "portforward.k8s.io"
OK, NOT_FOUND, BAD_REQUEST, FORBIDDEN = 200, 404, 400, 403
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
    """An answer with a text; see `whole`."""
    return whole(status, text.encode(), "text/plain; charset=utf-8")


def whole(status: int, body: bytes, media_type: str) -> bytes:
    """An answer, behind which the connection ends.

    Args:
        status: HTTP status.
        body: its body.
        media_type: of the body.
    """
    head = (
        f"HTTP/1.1 {status} {REASONS.get(status, 'Error')}\r\n"
        f"Content-Type: {media_type}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


class Kubelet:
    """The other end of one connection to a kubelet.

    Args:
        find: finds pods.
        ports: opens ports of pods.
        end: ends containers, None where what is typed ends none.
        look: finds the node and its pods, None where the node is not known.
    """

    def __init__(
        self, find: Find, ports: PodPorts, end: End | None = None, look: Look | None = None
    ) -> None:
        self._end = end
        self._look = look
        self._find = find
        self._ports = ports
        self._forwarding: Forwarding | None = None
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
            _end_with(here, BAD_REQUEST, str(error))
            return
        if self._parser.complete:
            await self._answer(here, self._asked(), rest)
        elif self._size > MOST_HEAD_BYTES:
            _end_with(here, BAD_REQUEST, "the request is too large")

    def closed(self) -> None:
        """See `Closing`."""
        if self._forwarding is not None:
            self._forwarding.closed()

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
            case ["healthz"] | ["healthz", "ping" | "log" | "syncloop"]:
                _end_with(here, OK, "ok")
            case ["pods"]:
                await self._tell(here, pods_of)
            case ["stats", "summary"]:
                await self._tell(here, summary_of)
            case _:
                _end_with(here, NOT_FOUND, "404 page not found\n")

    async def _tell(self, here: Connection, make: Callable[[Tenants], bytes]) -> None:
        """Tell something of the node."""
        tenants = None if self._look is None else await self._look()
        if tenants is None:
            _end_with(here, NOT_FOUND, "404 page not found\n")
            return
        here.say(whole(OK, make(tenants), "application/json"))
        here.finish()

    async def _logs(self, here: Connection, asked: Asked, where: tuple[str, str, str]) -> None:
        namespace, name, container = where
        query = dict(asked.query)
        pod = await self._find(namespace, name)
        if pod is None:
            _end_with(here, NOT_FOUND, f'pod "{name}" not found\n')
            return
        try:
            text = log_of(pod, container, query)
        except Unanswered as error:
            _end_with(here, error.status, str(error))
            return
        # Without a length: the end of the connection is that of the log.
        here.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" + text)
        if query.get("follow") == "true" and query.get("previous") != "true":
            self._then = Following(self._find, where, pod).work
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
        if pod is None or not runs(pod, container):
            _end_with(here, NOT_FOUND, f'container not found ("{container}")')
            return
        typed = None
        if what == "attach":
            ran = Ran(log_of(pod, container, {}).decode())
            if asked.wants("input") and self._end is not None:
                typed = input_of(pod, container, partial(self._end, pod, container))
                ran = _with_note(ran, note_of(pod, container), tty=asked.wants("tty"))
        else:
            command = [value for key, value in asked.query if key == "command"]
            ran = answer_of(pod, container, command)
        after = Following(self._find, where, pod) if what == "attach" else None
        upgrades = [one.lower() for one in asked.values("upgrade")]
        offered = asked.values("x-stream-protocol-version")
        version = next((one for one in WITH_STATUS if one in offered), "")
        spoken = asked.values("sec-websocket-protocol")
        channels = next((one for one in WITH_STATUS if one in spoken), "")
        if "spdy/3.1" in upgrades and version:
            here.say(_switched(version))
            self._then = SpdyProcess(_streams_of(asked), ran, after, rest, typed).work
        elif "websocket" in upgrades and channels:
            key = "".join(asked.values("sec-websocket-key"))
            here.say(accept_head(key.encode("latin-1"), channels))
            self._then = SocketProcess(ran, after, rest, typed).work
        else:
            text = f"simulated kubelets speak {' and '.join(WITH_STATUS)} over SPDY or WebSocket"
            _end_with(here, FORBIDDEN, text)

    async def _forward(
        self, here: Connection, asked: Asked, where: tuple[str, str], rest: bytes
    ) -> None:
        namespace, name = where
        pod = await self._find(namespace, name)
        if pod is None:
            _end_with(here, NOT_FOUND, f'pod "{name}" not found\n')
            return
        if "spdy/3.1" not in [one.lower() for one in asked.values("upgrade")]:
            _end_with(here, FORBIDDEN, "simulated kubelets speak SPDY/3.1")
            return
        here.say(_switched(FORWARDED))
        self._forwarding = Forwarding(self._find, self._ports, pod, rest)
        self._then = self._forwarding.work


def _with_note(ran: Ran, note: str, *, tty: bool) -> Ran:
    """What is printed, and a note where a client sees it: a terminal has no errors."""
    if not tty:
        return ran._replace(stderr=note)
    return ran._replace(stdout=ran.stdout + note.replace("\n", "\r\n"))


def _streams_of(asked: Asked) -> frozenset[str]:
    """The names of the streams that a client opens in SPDY."""
    tty = asked.wants("tty")
    streams = {
        "error": True,
        "stdin": asked.wants("input"),
        "stdout": asked.wants("output"),
        "stderr": asked.wants("error") and not tty,
        "resize": tty,
    }
    return frozenset(name for name, there in streams.items() if there)


def _end_with(here: Connection, status: int, text: str) -> None:
    here.say(plain(status, text))
    here.finish()


def _switched(version: str) -> bytes:
    return (
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        f"X-Stream-Protocol-Version: {version}\r\n\r\n"
    ).encode()
