"""Forwarded ports of simulated pods: bytes between streams of a client and what is behind a port.

Source: KEP-4006; k8s.io/kubelet (``portforward.k8s.io`` over SPDY).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import trio

from kubetrio.backend.dial import DialError
from kubetrio.backend.spdy import DATA, PING, SYN_STREAM, Frame, SpdyError, data, ping
from kubetrio.backend.spdyserver import ServerFraming
from kubetrio.simulation.connection import Connection
from kubetrio.simulation.podports import PodPorts
from kubetrio.simulation.processes import Find
from kubetrio.transport import Transport

Object = dict[str, Any]
MOST_WAITING = 256 * 1024
"""Bytes that wait for one side while no more is read from the other."""


@dataclass(slots=True)
class _Forwarded:
    """A connection to a port.

    Args:
        number: id of the request.
        port: as the client names it.
        transport: to what is behind the port.
        out: bytes that wait to be written to it.
        ended: whether the client writes no more.
        told: whether that was told.
    """

    number: str
    port: str
    transport: Transport
    out: bytearray = field(default_factory=bytearray)
    ended: bool = False
    told: bool = False


class Forwarding:
    """One connection for forwarded ports of a pod.

    Args:
        find: finds pods.
        ports: opens them.
        pod: the pod, as it was when the connection began.
        rest: bytes that came behind the request.
    """

    def __init__(self, find: Find, ports: PodPorts, pod: Object, rest: bytes) -> None:
        self._framing = ServerFraming()
        self._find = find
        self._ports = ports
        self._meta: Mapping[str, Any] = pod["metadata"]
        self._rest = rest
        self._errors: dict[str, int] = {}  # streams of errors, by the id of the request
        self._streams: dict[int, _Forwarded] = {}  # by the number of the stream of data

    async def work(self, here: Connection) -> None:
        """See `OtherEnd`."""
        if not self._rest:
            await self._wait(here)
        received = self._rest
        if sum(len(one.out) for one in self._streams.values()) < MOST_WAITING:
            received, self._rest = received + here.take(), b""
        if here.over and not received:
            self.closed()
            here.finish()
            return
        try:
            for frame in self._framing.feed(received):
                await self._take(here, frame)
        except SpdyError:
            self.closed()
            here.finish()
            return
        for stream in tuple(self._streams):
            self._pump(here, stream)

    def closed(self) -> None:
        """Close what is open: the client is gone."""
        for one in self._streams.values():
            one.transport.close()
        self._streams.clear()

    async def _wait(self, here: Connection) -> None:
        """Wait until the client or something behind a port has something to say, or to take."""
        async with trio.open_nursery() as nursery:

            async def until(wait: Callable[[], Awaitable[None]]) -> None:
                await wait()
                nursery.cancel_scope.cancel()

            if sum(len(one.out) for one in self._streams.values()) < MOST_WAITING or here.over:
                nursery.start_soon(until, here.written)
            for one in self._streams.values():
                nursery.start_soon(until, one.transport.wait_readable)
                if one.out:
                    nursery.start_soon(until, one.transport.wait_writable)

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
                await self._open(here, frame.stream, number, headers.get("port", ""))
        elif frame.kind == DATA and frame.stream in self._streams:
            one = self._streams[frame.stream]
            one.out += frame.payload
            one.ended = one.ended or frame.fin

    async def _open(self, here: Connection, stream: int, number: str, port: str) -> None:
        """Connect to a port, or say why not."""
        pod = await self._find(self._meta["namespace"], self._meta["name"])
        try:
            if pod is None or not (port.isascii() and port.isdigit()):
                raise DialError(f"dial tcp 127.0.0.1:{port}: connect: connection refused")
            transport = await self._ports.open(pod, int(port))
        except DialError as error:
            self._end(here, stream, number, self._failed(port, error))
        else:
            self._streams[stream] = _Forwarded(number, port, transport)

    def _failed(self, port: str, error: Exception) -> str:
        pod = f"pod {self._meta['name']}, uid {self._meta['uid']}"
        return f"error forwarding port {port} to {pod}: {error}"

    def _end(self, here: Connection, stream: int, number: str, error: str = "") -> None:
        """End the streams of a connection."""
        if number in self._errors:
            here.say(data(self._errors.pop(number), error.encode(), fin=True))
        here.say(data(stream, b"", fin=True))

    def _pump(self, here: Connection, stream: int) -> None:
        """Move the bytes that can be moved now."""
        one = self._streams[stream]
        try:
            while one.out and (taken := one.transport.write_nowait(bytes(one.out))):
                del one.out[:taken]
            if one.ended and not one.out and not one.told:
                one.told = True
                one.transport.end()
            while here.unread < MOST_WAITING:
                received = one.transport.read_nowait()
                if received is None:
                    return
                if not received:
                    self._gone(here, stream)
                    return
                here.say(data(stream, received))
        except OSError as error:
            self._gone(here, stream, self._failed(one.port, error))

    def _gone(self, here: Connection, stream: int, error: str = "") -> None:
        one = self._streams.pop(stream)
        one.transport.close()
        self._end(here, stream, one.number, error)
