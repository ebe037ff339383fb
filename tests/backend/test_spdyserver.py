"""SPDY from the side that streams are opened at."""

from __future__ import annotations

import pytest

from kubetrio.backend import spdy
from kubetrio.backend.spdy import DATA, SYN_REPLY, SYN_STREAM, Framing, SpdyError
from kubetrio.backend.spdyserver import ServerFraming


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_streams_are_opened_and_answered(size: int) -> None:
    """The headers of each are read, however the bytes come, and its data is its own."""
    client, server = Framing(), ServerFraming()
    sent = client.opening(1, {"streamtype": "error", "port": "80"})
    sent += client.opening(3, {"streamtype": "data"}) + spdy.data(3, b"hello", fin=True)
    frames = []
    for place in range(0, len(sent), size):
        frames += server.feed(sent[place : place + size])
    opened = [(one.stream, server.headers(one)) for one in frames if one.kind == SYN_STREAM]
    assert opened == [(1, {"streamtype": "error", "port": "80"}), (3, {"streamtype": "data"})]
    data = [one for one in frames if one.kind == DATA]
    assert b"".join(one.payload for one in data) == b"hello"
    assert {one.stream for one in data} == {3}
    assert data[-1].fin
    back = client.feed(server.reply(1) + server.reply(3))
    assert [(one.kind, one.stream) for one in back] == [(SYN_REPLY, 1), (SYN_REPLY, 3)]


def test_other_frames_have_no_headers() -> None:
    """Nor does what is no SPDY."""
    server = ServerFraming()
    (frame,) = server.feed(spdy.data(1, b"x"))
    with pytest.raises(SpdyError):
        server.headers(frame)
    (frame,) = server.feed(spdy.control(SYN_STREAM, bytes(10) + b"nonsense"))
    with pytest.raises(SpdyError, match="cannot be read"):
        server.headers(frame)
