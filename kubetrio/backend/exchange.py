"""One HTTP/1.1 request to a backend and its answer, over a connection of its own.

Request and answer are streamed, both at once if the backend likes: a piece of a body is read when
the piece before it is gone.  What was begun goes on after a cancellation (`head` sends what it can
until the answer begins, `read` goes on where it stopped), because no byte is taken from anywhere
before there is a place for it.

Source: RFC 9112; llhttp (httptools) does the parsing.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

import httptools
import trio

from kubetrio.backend.dial import io_words
from kubetrio.machinery.status import ApiError, bad_request
from kubetrio.transport import Transport

MAX_HEAD_BYTES = 1024 * 1024  # Go's limit for answers is 10 MiB; no backend sends that
GONE_CHECK_S = 1.0
HEAD_END = b"\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
SWITCHING = 101
FIRST_FINAL = 200
BREAK = re.compile(r"[\x00-\x20\x7f]")
END = re.compile(rb"[\x00\r\n]")
BODILESS = frozenset({204, 304})

Pull = Callable[[], Awaitable[bytes]]
Headers = list[tuple[bytes, bytes]]


class BackendError(Exception):
    """A backend broke off, or does not speak HTTP; the text says which."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A request's body.

    Args:
        pull: gives the next piece, empty at the end; may be cancelled and called again.
        length: bytes in it, None when it is not known.
    """

    pull: Pull
    length: int | None


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """Status line and headers of an answer.

    Args:
        status: HTTP status code.
        headers: names as they came, and values.
        raw: the bytes they were.
        length: bytes of the body, None when its end will tell.
    """

    status: int
    headers: Headers
    raw: bytes
    length: int | None

    def get(self, name: bytes) -> bytes:
        """A header's first value, empty when absent."""
        return next((value for key, value in self.headers if key.lower() == name), b"")


def encode_head(method: str, target: str, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A request's head.

    Args:
        method: HTTP method.
        target: path and query as they go on the wire.
        headers: names and values, Host and framing among them.

    Raises:
        ApiError: 400 for what would end a line.
    """
    headers = list(headers)
    if BREAK.search(target) or any(END.search(part) for pair in headers for part in pair):
        raise bad_request("malformed request line or header")
    lines = [f"{method} {target} HTTP/1.1".encode("latin-1")]
    lines += [b"%b: %b" % (name.title(), value) for name, value in headers]
    return b"\r\n".join(lines) + HEAD_END


class _Parser:
    """What llhttp calls: the parts of one answer."""

    def __init__(self) -> None:
        self.headers: Headers = []
        self.pieces: list[bytes] = []
        self.complete = False
        self.in_body = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.in_body:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self.in_body = True

    def on_body(self, body: bytes) -> None:
        self.pieces.append(body)

    def on_message_complete(self) -> None:
        self.complete = True


class Exchange:
    """A request and its answer.

    Args:
        transport: an open connection, nothing written to it yet.
        method: HTTP method.
        head: the request's head.
        upload: its body, None for none.
    """

    def __init__(
        self, transport: Transport, method: str, head: bytes, upload: Upload | None = None
    ) -> None:
        self.transport = transport
        self.method = method
        self._pending = memoryview(head)
        self._upload = upload
        self._last = upload is None
        self._sent = False
        self._parser = _Parser()
        self._http: httptools.HttpResponseParser | None = None
        self._bodiless = False
        self.rest = b""

    @property
    def sent(self) -> bool:
        """Whether the whole request is on its way, or the backend takes no more of it."""
        return self._sent

    async def send(self) -> None:
        """Send the request, or what is left of it; may be cancelled and called again."""
        transport = self.transport
        while not self._sent:
            try:
                while self._pending:
                    taken = transport.write_nowait(self._pending)
                    self._pending = self._pending[taken:]
                    if self._pending:
                        await transport.wait_writable()
            except OSError:
                self._sent = True  # it may have said why before it closed
                return
            if self._last or self._upload is None:
                self._sent = True
                return
            data = await self._upload.pull()
            self._last = not data
            if self._upload.length is None:
                data = b"%x\r\n%b\r\n" % (len(data), data) if data else LAST_CHUNK
            self._pending = memoryview(data)

    async def head(self, gone: Callable[[], bool] | None = None) -> AnswerHead:
        """The head of the answer; the request is sent meanwhile.

        Args:
            gone: whether no client waits for the answer any more; asked now and then.

        Raises:
            BackendError: there is none.
            ApiError: what `Upload.pull` raises.
        """
        head: AnswerHead | None = None
        problem: Exception | None = None

        async with trio.open_nursery() as nursery:

            async def answer() -> None:
                nonlocal head, problem
                try:
                    head = await self._final_head()
                except BackendError as error:
                    problem = error
                nursery.cancel_scope.cancel()

            async def send() -> None:
                nonlocal problem
                try:
                    await self.send()
                except ApiError as error:
                    problem = error
                    nursery.cancel_scope.cancel()

            async def give_up(is_gone: Callable[[], bool]) -> None:
                nonlocal problem
                while not is_gone():  # noqa: ASYNC110  (there is no event for it)
                    await trio.sleep(GONE_CHECK_S)
                problem = BackendError("context canceled")
                nursery.cancel_scope.cancel()

            nursery.start_soon(answer, name="backend answer")
            nursery.start_soon(send, name="backend request")
            if gone is not None:
                nursery.start_soon(give_up, gone, name="backend client")
        if head is not None:
            return head
        raise problem or AssertionError("a head or a problem")

    async def _final_head(self) -> AnswerHead:
        while True:
            raw = await self._raw_head()
            head = self._parse(raw)
            if head.status >= FIRST_FINAL or head.status == SWITCHING:
                return head

    async def _raw_head(self) -> bytes:
        received = bytearray(self.rest)
        while (at := received.find(HEAD_END)) < 0:
            if len(received) > MAX_HEAD_BYTES:
                raise BackendError("server response headers exceeded 1048576 bytes; aborted")
            data = await self._receive()
            if not data:
                raise BackendError("unexpected EOF" if received else "EOF")
            received += data
        at += len(HEAD_END)
        self.rest = bytes(received[at:])
        return bytes(received[:at])

    def _parse(self, raw: bytes) -> AnswerHead:
        parser = self._parser = _Parser()
        http = self._http = httptools.HttpResponseParser(parser)
        try:
            http.feed_data(raw)
        except httptools.HttpParserUpgrade:
            pass  # what follows is not HTTP
        except httptools.HttpParserError:
            line = raw.partition(b"\r\n")[0].decode("latin-1")
            text = (
                f'net/http: HTTP/1.x transport connection broken: malformed HTTP response "{line}"'
            )
            raise BackendError(text) from None
        status = http.get_status_code()
        self._bodiless = self.method == "HEAD" or status in BODILESS
        head = AnswerHead(status, parser.headers, raw, None)
        declared = head.get(b"content-length")
        if declared.isdigit() and not head.get(b"transfer-encoding"):
            return AnswerHead(status, parser.headers, raw, int(declared))
        return head

    async def read(self) -> bytes:
        """The next piece of the answer's body, without framing; empty at the end.

        Raises:
            BackendError: it ended before its end.
        """
        parser, http = self._parser, self._http
        if http is None:
            raise AssertionError("the head comes first")
        while not (self._bodiless or parser.pieces or parser.complete):
            if self.rest:
                data, self.rest = self.rest, b""
            else:
                data = await self._receive()
                if not data:
                    return self._ended()
            try:
                http.feed_data(data)
            except httptools.HttpParserError as error:
                if not parser.complete:  # behind the end it is none of our business
                    raise BackendError(str(error)) from None
        piece = b"".join(parser.pieces)
        parser.pieces.clear()
        return piece

    def _ended(self) -> bytes:
        """The connection's end is the body's, if nothing else tells where that is."""
        headers = {name.lower() for name, _ in self._parser.headers}
        if headers & {b"content-length", b"transfer-encoding"}:
            raise BackendError("unexpected EOF")
        self._parser.complete = True
        return b""

    async def _receive(self) -> bytes:
        transport = self.transport
        while True:
            try:
                data = transport.read_nowait()
                if data is not None:
                    return data
                await transport.wait_readable()
            except OSError as error:
                raise BackendError(io_words(error)) from error
