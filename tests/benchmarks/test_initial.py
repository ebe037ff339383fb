"""A streaming list ends with the event that carries the mark, however its bytes are cut."""

import pytest

from benchmarks import initial
from benchmarks.errors import BenchError

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ADDED = b'{"type":"ADDED","object":{}}\n'
BOOKMARK = (
    b'{"type":"BOOKMARK","object":{"metadata":{"annotations":{'
    b'"k8s.io/initial-events-end":"true"}}}}\n'
)


def chunked(*payloads: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(payload), payload) for payload in payloads)


class Pieces:
    """A connection that gives bytes in the pieces it is told to, then the end."""

    fd = -1

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = iter(pieces)

    def receive(self) -> bytes | None:
        return next(self._pieces, None)


STREAM = HEAD + chunked(ADDED * 2, ADDED, BOOKMARK)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, len(STREAM)])
def test_the_mark_ends_the_list(size: int):
    pieces = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
    events, read = initial._read_one(Pieces(pieces))
    assert events == 4
    assert len(STREAM) - len(b"\r\n") <= read <= len(STREAM)


def test_a_stream_that_ends_before_the_mark_is_no_measurement():
    with pytest.raises(BenchError, match="ended after 1 events"):
        initial._read_one(Pieces([HEAD + chunked(ADDED)]))
