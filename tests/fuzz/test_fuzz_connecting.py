"""The small connection: what a server sends comes whole, and what breaks is told."""

from __future__ import annotations

import pytest

from fuzz.connecting import Broken, Connection

PLAIN = b"HTTP/1.1 200 OK\r\nAudit-Id: 1\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n"
)
EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"


class Socket:
    """Answers from a script, in pieces.

    Args:
        data: what it answers in all.
        size: bytes of a piece.
    """

    def __init__(self, data: bytes, size: int) -> None:
        self.sent = b""
        self._data, self._size = data, size

    def sendall(self, data: bytes, /) -> None:
        self.sent += data

    def recv(self, _: int, /) -> bytes:
        piece, self._data = self._data[: self._size], self._data[self._size :]
        return piece

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_answers_come_whole(size: int) -> None:
    """However they are cut, one behind the other."""
    connection = Connection(Socket(PLAIN + CHUNKED + EMPTY + PLAIN, size))
    answers = [connection.request("GET", "/") for _ in range(4)]
    assert answers == [(200, b"hello"), (404, b"abcd"), (204, b""), (200, b"hello")]


def test_a_request_says_how_long_it_is() -> None:
    """With its headers."""
    socket = Socket(PLAIN, 1000)
    Connection(socket).request("PUT", "/a", b"xy", {"Authorization": "Bearer t"})
    head, _, body = socket.sent.partition(b"\r\n\r\n")
    assert head.split(b"\r\n") == [
        b"PUT /a HTTP/1.1", b"Host: localhost", b"Authorization: Bearer t", b"Content-Length: 2",
    ]  # fmt: skip
    assert body == b"xy"


@pytest.mark.parametrize("data", [b"", PLAIN[:20], PLAIN[:-1], CHUNKED[:-3], b"junk\r\n\r\n"])
def test_what_breaks_is_an_error(data: bytes) -> None:
    """So that no one takes a part for the whole."""
    with pytest.raises(Broken):
        Connection(Socket(data, 5)).request("GET", "/")
