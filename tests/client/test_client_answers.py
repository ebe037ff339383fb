"""Events, as they are read from the lines of a watch."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.client.answers import Event, Events
from kubetrio.client.streams import Lines, Pieces
from kubetrio.machinery.status import ApiError


def events(*pieces: bytes) -> Events[dict[str, Any]]:
    stream = Pieces()
    for piece in pieces:
        stream.offer(piece)
    stream.end()
    return Events(Lines(stream))


async def test_each_line_is_an_event() -> None:
    """However the stream is cut."""
    one, two = b'{"type":"ADDED","object":{"a":1}}\n', b'{"type":"BOOKMARK","object":{}}\n'
    seen = [event async for event in events(one[:9], one[9:] + two)]
    assert seen == [Event("ADDED", {"a": 1}), Event("BOOKMARK", {})]


async def test_an_error_ends_them() -> None:
    """It is raised as any other failure."""
    status = b'{"code":410,"reason":"Expired","message":"too old","status":"Failure"}'
    with pytest.raises(ApiError, match="too old") as caught:
        await events(b'{"type":"ERROR","object":' + status + b"}\n").__anext__()
    assert (caught.value.code, caught.value.reason) == (410, "Expired")
