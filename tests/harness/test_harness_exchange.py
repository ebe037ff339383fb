"""The client writes what it is given and reads answers strictly."""

from __future__ import annotations

import pytest

from kubetrio.harness.exchange import BadAnswer, Exchange, encode_request
from kubetrio.harness.transport import memory_pair

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_a_body_brings_its_length() -> None:
    """And a request without one brings none."""
    assert encode_request("GET", "/a") == b"GET /a HTTP/1.1\r\nHost: test\r\n\r\n"
    assert encode_request("POST", "/a", {"X": "y"}, b"ab").endswith(
        b"X: y\r\nContent-Length: 2\r\n\r\nab"
    )


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", b"ab"),
        (CHUNKED + b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", b"abc"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
)  # fmt: skip
async def test_bodies_are_read_by_their_framing(raw: bytes, body: bytes) -> None:
    """By length, in chunks, or not at all."""
    ours, theirs = memory_pair()
    theirs.write_nowait(raw)
    assert (await Exchange(ours).receive()).body == body


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.0 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
        CHUNKED + b"2\r\nabXX",
    ],
)
async def test_what_is_no_answer_is_refused(raw: bytes) -> None:
    """Another version, a header without a colon, a body that ends early, a chunk without an end."""
    ours, theirs = memory_pair()
    theirs.write_nowait(raw)
    theirs.end()
    with pytest.raises(BadAnswer):
        await Exchange(ours).receive()
