"""First lines whose parts are not one space apart."""

from __future__ import annotations

import pytest

from kubetrio.http.messages import Parser


@pytest.mark.parametrize(
    "line",
    [
        b"GET  / HTTP/1.1", b"GET /  HTTP/1.1", b"GET   /   HTTP/1.1", b" GET / HTTP/1.1",
        b"GET / HTTP/1.1 ", b"\tGET / HTTP/1.1", b"GET\t/ HTTP/1.1", b"GET /\tHTTP/1.1",
        b"GET / HTTP/1.1\t", b"GET / \tHTTP/1.1", b"FOO  / HTTP/1.1", b"FOO /  HTTP/1.1",
        b"GET  /", b"GET /", b"GET  / HTTP/1.1\r\nX: GET / HTTP/1.1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"])
@pytest.mark.parametrize("cut", [1, 2, 7, 1000])
def test_parts_of_the_first_line_are_one_space_apart(line: bytes, before: bytes, cut: int) -> None:
    """As for Go's server, however the bytes are cut: others may see another target in it."""
    parser = Parser(1000, 1000)
    raw = before + line + b"\r\nHost: h\r\n\r\n"
    for at in range(0, len(raw), cut):
        parser.feed(raw[at : at + cut])
    assert parser.failure is not None
    assert parser.failure.status == 400
    assert len(parser.queue) == bool(before)


@pytest.mark.parametrize("cut", [1, 3, 70, 1000])
@pytest.mark.parametrize("between", [b"", b"\r\n"])
def test_plain_first_lines_are_taken(between: bytes, cut: int) -> None:
    """In pieces, behind bodies and behind others; line ends before them are nothing."""
    parser = Parser(1000, 1000)
    get = b"GET /a?b HTTP/1.1\r\nHost: h\r\n\r\n"
    post = b"POST /a?b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
    chunked = (
        b"PUT /a?b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"
    )
    raw = between.join([b"", get, post, get, post, post, chunked, get, chunked, post])
    for at in range(0, len(raw), cut):
        parser.feed(raw[at : at + cut])
    assert parser.failure is None
    assert len(parser.queue) == 9
    assert {each.target for each in parser.queue} == {b"/a?b"}
