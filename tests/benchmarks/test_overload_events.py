"""The events of a watch are the same however its bytes are cut."""

import json

import pytest

from benchmarks.overload.events import EventReader

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENTS = [{"type": "ADDED", "object": {"n": n}} for n in range(3)]


def stream() -> bytes:
    lines = [json.dumps(event).encode() + b"\n" for event in EVENTS]
    payloads = (lines[0] + lines[1][:5], lines[1][5:], lines[2])
    return HEAD + b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in payloads)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_every_event_is_read_once(size: int):
    reader = EventReader()
    data = stream()
    read = [
        event for at in range(0, len(data), size) for event in reader.feed(data[at : at + size])
    ]
    assert (reader.status, read, reader.ended) == (200, EVENTS, False)


def test_the_last_chunk_ends_it():
    reader = EventReader()
    reader.feed(stream() + b"0\r\n\r\n")
    assert reader.ended


def test_a_refused_watch_has_a_status_and_no_events():
    reader = EventReader()
    assert reader.feed(b"HTTP/1.1 410 Gone\r\nContent-Length: 2\r\n\r\n{}\n") == []
    assert reader.status == 410
