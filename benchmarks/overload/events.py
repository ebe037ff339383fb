"""The events of one watch over HTTP/1.1, read from its bytes in any pieces."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.exchange import ChunkReader


class EventReader:
    """Reads one watch.

    Attributes:
        status: of the answer, 0 until it is known.
        ended: whether the last chunk has come.
    """

    __slots__ = ("_chunks", "_head", "ended", "status")

    def __init__(self) -> None:
        self.status = 0
        self.ended = False
        self._head = b""
        self._chunks = ChunkReader(keep=True)

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Take bytes; the events that they complete, none for an answer that is not 200."""
        if not self.status:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return []
            self.status = int(self._head[9:12])
            data = self._head[end + 4 :]
        if self.status != 200:
            return []
        self.ended = self._chunks.feed(data) or self.ended
        payload = self._chunks.payload
        end = payload.rfind(b"\n") + 1
        lines = bytes(payload[:end]).splitlines()
        del payload[:end]
        return [json.loads(line) for line in lines]
