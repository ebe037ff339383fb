"""The parts of a gRPC answer."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.store.etcd.calls import Call, Messages, framed
from kubetrio.store.etcd.errors import Code, EtcdError, PermissionDenied, Unavailable
from kubetrio.store.etcd.http2 import STREAM_WINDOW, Headers, Http2

BEGUN = Headers({":status": "200"}, ended=False)
ENDED = Headers({"grpc-status": "0"}, ended=True)


def messages() -> Messages:
    """A stream that has begun."""
    http2 = Http2()
    made = Messages(http2, 1000)
    made.stream_id = http2.begin(http2.encode([(":path", "/a")]), made)
    http2.out.clear()
    made.headers(BEGUN)
    return made


@given(st.lists(st.binary(max_size=30), max_size=6), st.integers(1, 50))
def test_messages_in_any_pieces(sent: list[bytes], size: int) -> None:
    """They do not depend on how they come."""
    stream = messages()
    data = b"".join(framed(message) for message in sent)
    for place in range(0, len(data), size):
        stream.data(data[place : place + size], ended=False)
    stream.headers(ENDED)

    async def receive() -> list[bytes]:
        got = []
        while (message := await stream.receive()) is not None:
            got.append(message)
        return got

    assert trio.run(receive) == sent


def test_windows_open_as_messages_are_taken() -> None:
    """Not before, when there are as many as a window."""
    http2 = Http2()
    stream = Messages(http2, STREAM_WINDOW)
    stream.stream_id = http2.begin(http2.encode([(":path", "/a")]), stream)
    stream.headers(BEGUN)
    http2.out.clear()
    message = framed(bytes(STREAM_WINDOW // 4))
    for _ in range(4):
        stream.data(message, ended=False)
    given_early = len(http2.out)
    stream.data(message, ended=False)
    stream.data(message, ended=False)
    assert len(http2.out) == given_early
    for _ in range(3):
        trio.run(stream.receive)
    assert len(http2.out) > given_early


@pytest.mark.parametrize(
    ("headers", "error", "text"),
    [
        ([Headers({":status": "404"}, ended=False)], EtcdError, "HTTP status 404"),
        ([Headers({":status": "403"}, ended=True)], PermissionDenied, "HTTP status 403"),
        ([BEGUN, Headers({}, ended=True)], EtcdError, "^$"),
        ([BEGUN, ENDED], EtcdError, "without a message"),
        (
            [Headers({":status": "200", "grpc-status": "14", "grpc-message": "a%20b"}, ended=True)],
            Unavailable,
            "a b",
        ),
    ],
)
def test_answers_without_a_message(
    headers: list[Headers], error: type[EtcdError], text: str
) -> None:
    """Are errors."""
    http2 = Http2()
    call = Call(http2, 1000)
    call.stream_id = http2.begin(http2.encode([(":path", "/a")]), call)
    for each in headers:
        call.headers(each)
    with pytest.raises(error, match=text) as raised:
        trio.run(call.answer)
    assert raised.value.code in Code


def test_an_end_without_a_status() -> None:
    """Is an error, whatever came before."""
    http2 = Http2()
    call = Call(http2, 1000)
    call.stream_id = http2.begin(http2.encode([(":path", "/a")]), call)
    call.headers(BEGUN)
    call.data(framed(b"answer"), ended=True)
    with pytest.raises(EtcdError, match="without a status") as raised:
        trio.run(call.answer)
    assert raised.value.undecided
