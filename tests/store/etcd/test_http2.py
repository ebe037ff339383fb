"""HTTP/2 without I/O, against the library h2 and by hand."""

from __future__ import annotations

import h2.config
import h2.connection
import h2.events
import h2.settings
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.store.etcd.http2 import GIVE_BACK, Headers, Http2, Kind, ProtocolError, Reset

HEADERS = [(":method", "POST"), (":scheme", "http"), (":path", "/a"), (":authority", "b")]
ANSWER = [(":status", "200"), ("content-type", "application/grpc")]
TRAILERS = [("grpc-status", "0"), ("grpc-message", "")]


class Seen:
    """A reader that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.body = b""

    def headers(self, headers: Headers) -> None:
        """See `StreamReader`."""
        self.told.append((dict(headers.values), headers.ended))

    def data(self, data: bytes, *, ended: bool) -> None:
        """See `StreamReader`."""
        self.body += data
        if ended:
            self.told.append("end")

    def reset(self, code: int, *, refused: bool) -> None:
        """See `StreamReader`."""
        self.told.append((code, refused))

    def lost(self, why: str) -> None:
        """See `StreamReader`."""
        self.told.append(why)


class Peer:
    """A server by the library, and what it has seen of requests."""

    def __init__(self, window: int = 65_535) -> None:
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(config)
        self.h2.initiate_connection()
        self.h2.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window})
        self.bodies: dict[int, bytes] = {}
        self.ended: set[int] = set()
        self.reset: set[int] = set()

    def exchange(self, client: Http2, *, acknowledge: bool = True, at_once: int = 2**20) -> None:
        """Move bytes both ways until there are none."""
        while client.out or (back := self.h2.data_to_send()):
            if client.out:
                for event in self.h2.receive_data(bytes(client.out)):
                    self._take(event, acknowledge)
                client.out.clear()
                back = self.h2.data_to_send()
            for place in range(0, len(back), at_once):
                client.receive(back[place : place + at_once])

    def _take(self, event: h2.events.Event, acknowledge: bool) -> None:
        match event:
            case h2.events.DataReceived():
                self.bodies[event.stream_id] = self.bodies.get(event.stream_id, b"") + event.data
                if acknowledge and event.flow_controlled_length:
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case h2.events.StreamEnded():
                self.ended.add(event.stream_id)
            case h2.events.StreamReset():
                self.reset.add(event.stream_id)


@given(st.integers(1, 40), st.lists(st.integers(0, 3_000), min_size=1, max_size=4))
def test_bytes_in_any_pieces(at_once: int, sizes: list[int]) -> None:
    """What is read does not depend on how it comes."""
    client, peer, seen = Http2(), Peer(), Seen()
    stream = client.begin(client.encode(HEADERS), seen)
    client.send(stream, b"x", end=True)
    peer.exchange(client, at_once=at_once)
    peer.h2.send_headers(stream, ANSWER)
    for size in sizes:
        while size > 0:
            part = min(size, peer.h2.max_outbound_frame_size)
            peer.h2.send_data(stream, b"d" * part)
            size -= part
    peer.h2.send_headers(stream, TRAILERS, end_stream=True)
    peer.exchange(client, at_once=at_once)
    assert seen.told == [(dict(ANSWER), False), (dict(TRAILERS), True)]
    assert len(seen.body) == sum(sizes)
    assert client.streams == {}


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 100_000)), min_size=1, max_size=5),
    st.sampled_from([1_000, 65_535, 300_000]),
)
def test_requests_fit_the_windows(sends: list[tuple[int, int]], window: int) -> None:
    """Whatever their size; all of it arrives in order, and the end with the last byte."""
    client, peer = Http2(), Peer(window)
    peer.exchange(client)
    block = client.encode(HEADERS)
    streams = [client.begin(block, Seen()) for _ in range(3)]
    sent = dict.fromkeys(streams, b"")
    for place, (which, size) in enumerate(sends):
        data = bytes((place,)) * size
        sent[streams[which]] += data
        client.send(streams[which], data, end=False)
    for stream in streams:
        client.send(stream, b"", end=True)
    peer.exchange(client)  # the library raises where a window is not kept
    assert {stream: peer.bodies.get(stream, b"") for stream in streams} == sent
    assert peer.ended == set(streams)


def test_a_stream_that_is_reset_sends_no_more() -> None:
    """What waits for a window is forgotten; other streams go on."""
    client, peer = Http2(), Peer(100)
    peer.exchange(client)
    block = client.encode(HEADERS)
    first, second = (client.begin(block, Seen()) for _ in range(2))
    for stream in (first, second):
        client.send(stream, b"x" * 1000, end=True)
    peer.exchange(client, acknowledge=False)
    client.reset(first)
    client.reset(first)
    assert len(peer.bodies[first]) == 100
    peer.h2.increment_flow_control_window(900, second)
    peer.exchange(client)
    assert (peer.reset, len(peer.bodies[second])) == ({first}, 1000)


def test_an_answer_before_the_request_is_sent() -> None:
    """Ends the stream, and what was not sent is not sent."""
    client, peer, seen = Http2(), Peer(100), Seen()
    peer.exchange(client)
    stream = client.begin(client.encode(HEADERS), seen)
    client.send(stream, b"x" * 1000, end=True)
    peer.exchange(client, acknowledge=False)
    peer.h2.send_headers(stream, ANSWER + TRAILERS, end_stream=True)
    peer.exchange(client)
    assert seen.told == [(dict(ANSWER + TRAILERS), True)]
    assert peer.reset == {stream}


def test_blocks_of_headers_are_decoded_once() -> None:
    """Equal blocks mean equal headers, for the peer keeps no table."""
    client, peer = Http2(), Peer()
    peer.exchange(client)
    answers = []
    for _ in range(3):
        seen = Seen()
        stream = client.begin(client.encode(HEADERS), seen)
        peer.exchange(client)
        peer.h2.send_headers(stream, ANSWER)
        peer.h2.send_headers(stream, [*TRAILERS, ("x", "y" * 20_000)], end_stream=True)
        peer.exchange(client)
        answers.append(seen.told)
    assert answers[0] == answers[1] == answers[2]
    assert len(client._blocks) <= 4


def frame(kind: int, payload: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    """A frame by hand."""
    head = len(payload).to_bytes(3, "big") + bytes((kind, flags))
    return head + stream.to_bytes(4, "big") + payload


def begun() -> tuple[Http2, Seen]:
    """A client with stream 1."""
    client, seen = Http2(), Seen()
    client.begin(client.encode(HEADERS), seen)
    client.out.clear()
    return client, seen


STATUS = b"\x88"  # :status 200, of the static table


def test_padding_and_priority() -> None:
    """Are taken off."""
    client, seen = begun()
    client.receive(frame(Kind.HEADERS, b"\x02" + bytes(5) + STATUS + b"zz", 0x4 | 0x8 | 0x20, 1))
    client.receive(frame(Kind.DATA, b"\x03abc" + b"zzz", 0x8 | 0x1, 1))
    assert seen.told == [({":status": "200"}, False), "end"]
    assert seen.body == b"abc"


def test_headers_in_parts() -> None:
    """Continuations belong to the headers before them, and nothing comes between."""
    client, seen = begun()
    client.receive(frame(Kind.HEADERS, STATUS, 0x1, 1))
    client.receive(frame(Kind.CONTINUATION, b"\x00\x01a\x01b", 0x4, 1))
    assert seen.told == [({":status": "200", "a": "b"}, True)]
    client, seen = begun()
    client.receive(frame(Kind.HEADERS, STATUS, 0, 1))
    with pytest.raises(ProtocolError, match="do not end"):
        client.receive(frame(Kind.PING, bytes(8)))


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        frame(Kind.CONTINUATION, b"", 0x4, 1),
        frame(Kind.PUSH_PROMISE, bytes(4), 0x4, 1),
        frame(Kind.HEADERS, b"\xff\xff\xff\xff\xff\xff", 0x4, 1),
        frame(Kind.DATA, b"\x09abc", 0x8, 1),
        frame(Kind.HEADERS, bytes(16_000), 0, 1)
        + frame(Kind.CONTINUATION, bytes(16_000), 0, 1) * 4,
    ],
)
def test_what_is_no_http2(data: bytes) -> None:
    """Ends the connection."""
    with pytest.raises(ProtocolError):
        begun()[0].receive(data)


def test_pings_and_unknown_frames() -> None:
    """A ping is answered with its bytes; its answer is counted; what is not known is nothing."""
    client, seen = begun()
    client.receive(frame(Kind.PING, b"12345678") + frame(0x77, b"?"))
    assert bytes(client.out) == frame(Kind.PING, b"12345678", 0x1)
    client.ping()
    client.receive(frame(Kind.PING, bytes(8), 0x1))
    assert client.acknowledged_pings == 1
    assert seen.told == []


def test_a_peer_that_goes_away() -> None:
    """Later streams are refused, earlier ones go on, new ones are not begun."""
    client, first = begun()
    second = Seen()
    client.begin(client.encode(HEADERS), second)
    client.receive(frame(Kind.GOAWAY, (1).to_bytes(4, "big") + (11).to_bytes(4, "big")))
    assert second.told == [(Reset.ENHANCE_YOUR_CALM, True)]
    assert not client.usable
    client.receive(frame(Kind.HEADERS, STATUS, 0x5, 1))
    assert first.told == [({":status": "200"}, True)]


def test_a_lost_connection_ends_its_streams() -> None:
    """And says why."""
    client, seen = begun()
    client.lost("no power")
    assert seen.told == ["no power"]
    assert client.streams == {}


def test_frames_of_a_stream_that_is_gone() -> None:
    """Are nothing: it was reset here."""
    client, seen = begun()
    client.reset(1)
    client.receive(
        frame(Kind.HEADERS, STATUS, 0x4, 1)
        + frame(Kind.DATA, b"abc", 0, 1)
        + frame(Kind.WINDOW_UPDATE, (5).to_bytes(4, "big"), 0, 1)
        + frame(Kind.RST_STREAM, bytes(4), 0, 1)
    )
    assert seen.told == []


def test_the_window_of_the_connection_is_given_back() -> None:
    """Long before it is used up."""
    client, _ = begun()
    client.reset(1)
    client.out.clear()
    piece = frame(Kind.DATA, bytes(16_384), 0, 1)
    for _ in range(GIVE_BACK // 16_384):
        client.receive(piece)
    assert bytes(client.out) == frame(Kind.WINDOW_UPDATE, GIVE_BACK.to_bytes(4, "big"))
