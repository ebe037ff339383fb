"""HTTP/1.1 requests on the wire: bytes in, parsed messages out (`heads` has the way back).

llhttp (httptools) does the parsing and refuses what RFC 9112 calls ambiguous: two framings at
once, repeated lengths, bare line feeds in heads.
"""

from __future__ import annotations

import http
import re
from typing import NamedTuple

import httptools

from kubetrio.api.outlines import SHORT_CHARS
from kubetrio.api.request import LISTS, by_name
from kubetrio.api.response import TEXT
from kubetrio.http.requestline import RequestLines

HTTP_11 = "1.1"
VERSIONS = frozenset({"1.0", HTTP_11})
MAX_HEADERS = 1000  # fields of one message; each costs more memory than its bytes
MAX_METHOD = 64
METHOD = re.compile(rb"([!#$%%&'*+.^_`|~0-9A-Za-z-]{1,%d})( |$)" % MAX_METHOD)
BLANKS = b" \t"  # around a field's value, and no part of it (RFC 9110, 5.5)
REMEMBERED_BYTES = 4096  # of a head whose fields are remembered
STAND_IN = b"REPORT"  # a method that means nothing to llhttp
# First lines and lengths about which there can be no doubt.
METHODS = {name.encode(): name for name in ("GET", "POST", "PUT", "PATCH", "HEAD", "DELETE")}
PLAIN_LINE = re.compile(rb"(GET|POST|PUT|PATCH|HEAD|DELETE) (/[A-Za-z0-9/._~?&=%,:+-]*) HTTP/1\.1")
LENGTH_FIELD = re.compile(rb"(?:^|(?<=\n))content-length: (0|[1-9][0-9]{0,8})\r\n", re.IGNORECASE)
LENGTH = re.compile(rb"0|[1-9][0-9]{0,8}")
BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class BadRequest(Exception):
    """What came is not a request that can be served; the connection ends with this answer.

    Args:
        status: HTTP status code of the answer.
        why: what the answer says beside that, as far as Go's server says it.
    """

    def __init__(self, status: int, why: str = "") -> None:
        super().__init__(why)
        self.status = status
        self.why = why

    def answer(self) -> bytes:
        """The whole answer, in plain text: what sent this may not even speak HTTP."""
        status = self.text()
        fields = f"Content-Type: {TEXT.decode()}\r\nConnection: close"
        return f"HTTP/1.1 {status}\r\n{fields}\r\n\r\n{status}".encode("ascii")

    def text(self) -> str:
        """The body of the answer."""
        title = f"{self.status} {http.HTTPStatus(self.status).phrase}"
        return f"{title}: {self.why}" if self.why else title


def split_target(target: bytes) -> tuple[str, str]:
    """Path and query of a request target, without the scheme and host that go to a proxy.

    Args:
        target: of a request line; its bytes are read as Latin-1.

    Raises:
        BadRequest: a path with a percent sign that begins no escape, of which Go makes no URL.
    """
    text = target.decode("latin-1")
    if text[:1] != "/" and "://" in text:
        rest = text.partition("://")[2]
        at = min((i for i in (rest.find("/"), rest.find("?")) if i >= 0), default=len(rest))
        text = rest[at:] if rest[at : at + 1] == "/" else "/" + rest[at:]
    path, _, query = text.partition("?")
    if "%" in path and len(path) <= SHORT_CHARS and BAD_ESCAPE.search(path):
        raise BadRequest(400)  # of a longer one, when it has a seat
    return path, query


class Message:
    """One request as it comes in.

    Attributes:
        headers, raw_headers: of messages alike they may be the same objects: they are not changed.
        complete: whether the whole body is here.
        size: bytes of body seen, kept or not.
        rest: bytes behind the head of a request for an upgrade.
        pulled: whether its body is taken piece by piece, and so all of it is kept until then.
        broken: whether its body ended before its end, or in something that is no body.
    """

    __slots__ = (
        "broken",
        "chunks",
        "complete",
        "expects_continue",
        "headers",
        "http_11",
        "keep_alive",
        "method",
        "pulled",
        "raw_headers",
        "rest",
        "size",
        "target",
        "upgrade",
    )

    def __init__(self) -> None:
        self.method = ""
        self.target = b""
        self.headers: dict[bytes, bytes] = {}
        self.raw_headers: list[tuple[bytes, bytes]] = []
        self.chunks: list[bytes] = []
        self.size = 0
        self.complete = False
        self.keep_alive = True
        self.upgrade = False
        self.rest = b""
        self.expects_continue = False
        self.http_11 = True
        self.broken = False
        self.pulled = False

    def waiting(self) -> bool:
        """Whether more of the body is to come."""
        return not self.complete

    def wire(self, *, without: bytes = b"") -> bytes:
        """The head again, and what comes after it: for another server to read.

        Args:
            without: name of a header that is left out.
        """
        version = b"1.1" if self.http_11 else b"1.0"
        lines = [b"%b %b HTTP/%b" % (self.method.encode("ascii"), self.target, version)]
        lines += [name + b": " + value for name, value in self.raw_headers if name != without]
        return b"\r\n".join(lines) + b"\r\n\r\n" + self.rest


NOTHING = Message()
"""In the place of a message while there is none; it is not changed."""


class HeadTemplate(NamedTuple):
    """What messages have in common that differ in the first line, the length and the body.

    Args:
        before: the fields, up to the digits of the length; all of them if there is no body.
        after: the fields behind those digits; None if there is no body.
        length: those digits.
        headers, raw_headers: what the fields say; no body is kept with them.
    """

    before: bytes
    after: bytes | None
    length: bytes
    headers: dict[bytes, bytes]
    raw_headers: list[tuple[bytes, bytes]]


class Parser:
    """Feeds bytes to llhttp and queues the messages whose head is complete.

    Clients send the same header fields again and again.  A read that is a first line and fields
    that llhttp has taken on this connection before, byte for byte but for the length of the body,
    and that body to its end, is not parsed once more; only requests on connections that stay are
    remembered so.

    Bytes that are no request end the parser, not the messages before them: how a client's bytes
    are cut into reads makes no difference to the answers. (With one exception: a method that
    llhttp does not know is understood only at the start of a read, since llhttp does not tell
    where in one it stands.)

    Args:
        max_head_bytes: request line and headers of one message.
        max_body_bytes: bodies keep this much and one byte more; the rest is counted and dropped.
    """

    def __init__(self, max_head_bytes: int, max_body_bytes: int) -> None:
        self._max_head = max_head_bytes
        self._max_remembered = min(REMEMBERED_BYTES, max_head_bytes)
        self._max_body = max_body_bytes
        self._parser = httptools.HttpRequestParser(self)
        self._current = Message()
        self._in_fields = False  # in a head, or in trailers, which llhttp collects unseen
        self._head = 0
        self._unseen = 0
        self._between = True
        self._start = b""  # of a message that came first in a read, while its method is incomplete
        self._unknown = False  # whether that method is one that llhttp does not know
        self._method = ""  # that one, once it is complete
        self._template: HeadTemplate | None = None
        self._repeated_list = False  # whether a field of `LISTS` came again
        self._lines = RequestLines()
        self.in_head = False
        self.queue: list[Message] = []
        self.failure: BadRequest | None = None

    def close(self) -> None:
        """Nothing more will come: what knows this object is let go."""
        del self._parser
        self.failure = None  # by the frames of its traceback

    def forget(self) -> None:
        """Let go of the newest message, if all of it has come and nothing behind it."""
        if self._between and not self.queue:
            self._current = NOTHING
            self._lines.forget()

    def feed(self, data: bytes) -> None:
        """Parse more bytes; what is wrong with them is kept in `failure`."""
        if self.failure is not None:
            return
        fresh = self._between and not self._start
        if fresh and self._template is not None and self._repeated(data, self._template):
            return
        if self._in_fields:
            self._unseen += len(data)
        start = data if self._between else self._start + data if self._start else b""
        known = len(self.queue)
        unknown = self._unknown
        self._lines.add(data, between=self._between)
        if not unknown:
            try:
                self._feed(data)
            except httptools.HttpParserInvalidMethodError:
                unknown = True  # and behind this handler, for what is raised in it has its context
        if unknown:
            if not start or len(self.queue) != known:
                self.failure = BadRequest(400)
            else:
                self._feed_unknown(start)
        line_due = self.in_head and not self._lines.seen and self._current.target
        if line_due and not self._find_line() and self._current.raw_headers:
            self.failure = self.failure or BadRequest(
                400
            )  # no more of a head is kept than it takes
        incomplete = start and self.in_head and not self._current.target
        self._start = start if incomplete and len(start) <= MAX_METHOD else b""
        if self._in_fields and self._unseen > self._max_head:
            self.failure = BadRequest(431)
        if fresh and len(self.queue) == known + 1:
            self._remember(data, self.queue[-1])

    def _remember(self, data: bytes, message: Message) -> None:
        """Keep the fields of a message that was all of a read, if they can mean nothing else."""
        at, end = data.find(b"\r\n") + 2, data.find(b"\r\n\r\n") + 4
        if not (
            self._between
            and self.failure is None
            and end <= REMEMBERED_BYTES
            and PLAIN_LINE.fullmatch(data, 0, at - 2)
            and message.complete
            and message.keep_alive
            and not (message.upgrade or message.expects_continue)
            and b"transfer-encoding" not in message.headers
        ):
            return
        fields = data[at:end]
        known = (message.headers, message.raw_headers)
        if b"content-length" not in message.headers:
            if end == len(data):
                self._template = HeadTemplate(fields, None, b"", *known)
            return
        length = LENGTH_FIELD.search(fields)  # llhttp has refused a second one
        if length is not None:
            before, after = length.span(1)
            self._template = HeadTemplate(fields[:before], fields[after:], length[1], *known)

    def _repeated(self, data: bytes, template: HeadTemplate) -> bool:
        """Queue a message that another one was like; False if it is not plainly so."""
        line, _, rest = data.partition(b"\r\n")
        before, after, length, headers, raw_headers = template
        if not rest.startswith(before):
            return False
        at = len(before)
        size = 0
        if after is not None:
            end = at + len(length)
            if not (rest.startswith(length, at) and rest.startswith(after, end)):
                end = rest.find(b"\r", at)
                length = rest[at:end]
                if not (LENGTH.fullmatch(length) and rest.startswith(after, end)):
                    return False
                headers = {**headers, b"content-length": length}
                raw_headers = [
                    (name, length if name == b"content-length" else value)
                    for name, value in raw_headers
                ]
            at = end + len(after)
            size = int(length)
        if len(rest) != at + size or len(data) - size > self._max_remembered:
            return False
        parts = PLAIN_LINE.fullmatch(line)
        if parts is None:
            return False
        message = Message()
        method, message.target = parts.groups()
        message.method = METHODS[method]
        message.headers, message.raw_headers = headers, raw_headers
        if size:
            message.chunks.append(rest[at:])
            message.size = size
        message.complete = True
        self.queue.append(message)
        return True

    def _feed(self, data: bytes) -> None:
        """Give bytes to llhttp.

        Raises:
            HttpParserInvalidMethodError: a method that it does not know.
        """
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as pause:
            # Bytes behind an upgrade belong to another protocol; `upgrade` tells the loop.
            self._current.rest = data[pause.args[0] :]
            self.failure = BadRequest(400)
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__
            if not isinstance(cause, BadRequest):
                raise
            self.failure = cause
        except httptools.HttpParserInvalidMethodError:
            raise
        except httptools.HttpParserError:
            self.failure = BadRequest(400)

    def _feed_unknown(self, start: bytes) -> None:
        """Take a request with a method that llhttp does not know under the name of another.

        Any token is a method (RFC 9110, 9.1); that it is not served is said further up.
        """
        method = METHOD.match(start)
        if method is None:
            self.failure = BadRequest(400)
        elif not method[2]:
            self._unknown = True  # the rest of it is to come
        else:
            self._unknown = False
            self._method = method[1].decode("ascii")
            self._parser = httptools.HttpRequestParser(self)
            renamed = STAND_IN + start[method.end(1) :]
            self._lines.instead(renamed)
            try:
                self._feed(renamed)
            except httptools.HttpParserInvalidMethodError:
                self.failure = BadRequest(400)  # of a message behind this one

    def _find_line(self) -> bool:
        """Whether the first line is one, so far as can be seen; see `RequestLines`."""
        method = STAND_IN if self._method else self._parser.get_method()
        return self._lines.found(method, self._current.target)

    def on_message_begin(self) -> None:
        """Called by llhttp."""
        self._current = Message()
        self._repeated_list = False
        self._lines.seen = False
        self._between = False
        self.in_head = self._in_fields = True
        self._head = self._unseen = 0

    def on_url(self, url: bytes) -> None:
        """Called by llhttp, perhaps in pieces."""
        self._head += len(url)
        if self._head > self._max_head:
            raise BadRequest(431)
        self._current.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by llhttp, once a header."""
        self._head = size = self._head + len(name) + len(value) + 4
        if size > self._max_head:
            raise BadRequest(431)
        if not self.in_head:
            return  # a trailer must not pass for a header (RFC 9110, 6.5.1)
        message = self._current
        name = name.lower()
        value = value.strip(BLANKS)  # llhttp leaves those after it
        fields = message.raw_headers
        fields.append((name, value))
        if len(fields) > MAX_HEADERS:
            raise BadRequest(431)
        headers = message.headers
        if name in headers:
            if name == b"host":
                raise BadRequest(400, "too many Host headers")
            self._repeated_list = self._repeated_list or name in LISTS
        else:
            headers[name] = value

    def on_headers_complete(self) -> None:
        """Called by llhttp: the message can be served, its body may still come."""
        message, parser = self._current, self._parser
        if self._repeated_list:
            message.headers = by_name(message.raw_headers)
        if not (self._lines.seen or self._find_line()):
            raise BadRequest(400)
        self._lines.head_ended()
        self.in_head = self._in_fields = False
        message.method = self._method or parser.get_method().decode("ascii")
        self._method = ""
        version = parser.get_http_version()
        if version not in VERSIONS:
            raise BadRequest(505, "unsupported protocol version")
        message.http_11 = version == HTTP_11
        message.keep_alive = parser.should_keep_alive()
        message.upgrade = parser.should_upgrade() and message.method != "CONNECT"
        if not message.keep_alive or message.upgrade:
            self._template = None  # nothing comes after it, whatever it is like
        self._check(message)
        self.queue.append(message)

    @staticmethod
    def _check(message: Message) -> None:
        """Refuse what llhttp lets pass.

        Raises:
            BadRequest: Host is missing, or the framing is one that we do not speak.
        """
        headers = message.headers
        if message.http_11:
            if b"host" not in headers:
                raise BadRequest(400, "missing required Host header")
            expect = headers.get(b"expect")
            if expect is not None:
                if expect.lower() != b"100-continue":
                    raise BadRequest(417)
                message.expects_continue = True
        coding = headers.get(b"transfer-encoding")
        if coding is not None:
            if not message.http_11:
                raise BadRequest(400)
            if coding.lower() != b"chunked":
                raise BadRequest(501)

    def on_chunk_header(self) -> None:
        """Called by llhttp behind the size of a chunk; behind the last one come trailers."""
        self._in_fields = True
        self._unseen = 0

    def on_body(self, body: bytes) -> None:
        """Called by llhttp, a piece at a time."""
        self._in_fields = False
        message = self._current
        if message.pulled or message.size <= self._max_body:
            message.chunks.append(body)
        message.size += len(body)
        if b"content-length" in message.headers:
            self._lines.body(body)

    def on_message_complete(self) -> None:
        """Called by llhttp."""
        self._in_fields = False
        self._between = True
        self._current.complete = True
