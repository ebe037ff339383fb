"""gRPC over one HTTP/2 connection, read side: one answer, or a stream of messages.

Source: gRPC's PROTOCOL-HTTP2.md, statuscodes.md and http-grpc-status-mapping.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

import trio

from kubetrio.store.etcd.errors import Code, EtcdError, TooLarge, Unavailable, error_of
from kubetrio.store.etcd.http2 import STREAM_WINDOW, Headers, Http2

PREFIX_BYTES: Final = 5
_GIVE: Final = STREAM_WINDOW // 4
_BY_HTTP: Final[Mapping[str, Code]] = {
    "400": Code.INTERNAL,
    "401": Code.UNAUTHENTICATED,
    "403": Code.PERMISSION_DENIED,
    "404": Code.UNIMPLEMENTED,
    "429": Code.UNAVAILABLE,
    "502": Code.UNAVAILABLE,
    "503": Code.UNAVAILABLE,
    "504": Code.UNAVAILABLE,
}


def framed(message: bytes) -> bytes:
    """A message with gRPC's prefix: not compressed, and its length."""
    return b"\0%b%b" % (len(message).to_bytes(4, "big"), message)


class Reader:
    """What calls and streams have in common: the parts of a gRPC answer.

    Args:
        http2: the connection.
        most: bytes of the largest message that is taken.
    """

    def __init__(self, http2: Http2, most: int) -> None:
        self.stream_id = 0
        self.ended = False
        self.error: EtcdError | None = None
        self._http2 = http2
        self._most = most
        self._answered = False
        self._part = bytearray()
        self._task: trio.lowlevel.Task | None = None

    # ------------------------------------------------------------------ of HTTP/2

    def headers(self, headers: Headers) -> None:
        """See `http2.StreamReader`."""
        values = headers.values
        if not self._answered:
            self._answered = True
            status = values.get(":status", "")
            if status != "200":
                code = _BY_HTTP.get(status, Code.UNKNOWN)
                self._stop(error_of(code, f"the answer has HTTP status {status}"))
                return
        if headers.ended:
            status = values.get("grpc-status", "")
            if status == "0":
                self._finish(None)
                return
            code_number = int(status) if status.isdecimal() else Code.UNKNOWN
            self._finish(error_of(code_number, unquote(values.get("grpc-message", ""))))

    def data(self, data: bytes, *, ended: bool) -> None:
        """See `http2.StreamReader`."""
        part = self._part
        part += data
        self._received(len(data))
        position, end = 0, len(part)
        while end - position >= PREFIX_BYTES:
            begin = position + PREFIX_BYTES
            length = int.from_bytes(part[position + 1 : begin], "big")
            if part[position]:
                self._stop(EtcdError("a compressed message", Code.INTERNAL, undecided=True))
                return
            if length > self._most:
                text = f"a message of {length} bytes, of at most {self._most}"
                self._stop(TooLarge(text, Code.RESOURCE_EXHAUSTED, undecided=True))
                return
            if end - begin < length:
                break
            position = begin + length
            self._message(bytes(part[begin:position]))
        if position:
            del part[:position]
        if ended:
            self._finish(EtcdError("an answer without a status", Code.INTERNAL, undecided=True))

    def reset(self, code: int, *, refused: bool) -> None:
        """See `http2.StreamReader`."""
        text = f"the stream was reset ({code})"
        self._finish(Unavailable(text, Code.UNAVAILABLE, undecided=not refused))

    def lost(self, why: str) -> None:
        """See `http2.StreamReader`."""
        text = f"the connection broke: {why}"
        self._finish(Unavailable(text, Code.UNAVAILABLE, undecided=True))

    # ------------------------------------------------------------------ to be waited for

    def _received(self, size: int) -> None:
        raise NotImplementedError

    def _message(self, message: bytes) -> None:
        raise NotImplementedError

    def _stop(self, error: EtcdError) -> None:
        self._http2.reset(self.stream_id)
        self._finish(error)

    def _finish(self, error: EtcdError | None) -> None:
        if not self.ended:
            self.ended = True
            self.error = error
            self._wake()

    def _wake(self) -> None:
        if self._task is not None:
            trio.lowlevel.reschedule(self._task)
            self._task = None

    async def _wait(self) -> None:
        """Wait until `_wake`."""

        def abort(_: object) -> trio.lowlevel.Abort:
            self._task = None
            return trio.lowlevel.Abort.SUCCEEDED

        self._task = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(abort)


class Call(Reader):
    """One answer to one request."""

    def __init__(self, http2: Http2, most: int) -> None:
        super().__init__(http2, most)
        self._owed = 0
        self._answer: bytes | None = None

    def _received(self, size: int) -> None:
        # An answer is bounded by the largest message, so its window is always opened again.
        self._owed += size
        if self._owed >= _GIVE:
            self._http2.give(self.stream_id, self._owed)
            self._owed = 0

    def _message(self, message: bytes) -> None:
        self._answer = message

    async def answer(self) -> bytes:
        """Wait for the answer.

        Raises:
            EtcdError: there is none.
        """
        if not self.ended:
            await self._wait()
        if self.error is not None:
            raise self.error
        if self._answer is None:
            raise EtcdError("an answer without a message", Code.INTERNAL, undecided=True)
        return self._answer


class Messages(Reader):
    """A stream of messages; the peer sends no more than its reader takes."""

    def __init__(self, http2: Http2, most: int) -> None:
        super().__init__(http2, most)
        self._owed = 0
        self._queue: deque[bytes] = deque()
        self._queued = 0

    def _received(self, size: int) -> None:
        self._owed += size
        self._give()

    def _give(self) -> None:
        # Complete messages count: a message larger than the window has to come in.
        if self._owed >= _GIVE and self._queued < STREAM_WINDOW:
            self._http2.give(self.stream_id, self._owed)
            self._owed = 0

    def _message(self, message: bytes) -> None:
        self._queue.append(message)
        self._queued += len(message)
        self._wake()

    async def receive(self) -> bytes | None:
        """Return the next message, or None at the end of the stream.

        Raises:
            EtcdError: the stream ended with an error; messages before it have been returned.
        """
        while not self._queue:
            if self.error is not None:
                raise self.error
            if self.ended:
                return None
            await self._wait()
        message = self._queue.popleft()
        self._queued -= len(message)
        self._give()
        return message
