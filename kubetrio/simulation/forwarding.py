"""Forwarded ports of simulated pods: HTTP is answered, all else is refused.

Source: KEP-4006; k8s.io/kubelet (``portforward.k8s.io`` over SPDY).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.backend.spdy import DATA, PING, SYN_STREAM, Frame, SpdyError, data, ping
from kubetrio.backend.spdyserver import ServerFraming
from kubetrio.simulation.answers import http_answer, page_of
from kubetrio.simulation.connection import Connection
from kubetrio.simulation.processes import Find

Object = dict[str, Any]


class Forwarding:
    """One connection for forwarded ports of a pod.

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
