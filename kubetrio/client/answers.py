"""What the client answers with beside objects: pages of lists, and events of watches."""

from __future__ import annotations

from typing import Generic, NamedTuple

import orjson

from kubetrio.client.streams import Lines
from kubetrio.machinery.status import ApiError
from kubetrio.schema.kind import ObjectT


class Listed(NamedTuple, Generic[ObjectT]):
    """A page of a list.

    Args:
        items: the objects.
        resource_version: at which they were read.
        token: continues the list; empty at its end.
    """

    items: list[ObjectT]
    resource_version: str
    token: str


class Event(NamedTuple, Generic[ObjectT]):
    """One event of a watch.

    Args:
        type: ``ADDED``, ``MODIFIED``, ``DELETED`` or ``BOOKMARK``.
        object: the object, or of a bookmark its revision only.
    """

    type: str
    object: ObjectT


class Events(Generic[ObjectT]):
    """The events of a watch; taking one raises the `ApiError` that ends it.

    Args:
        lines: of the stream.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def __aiter__(self) -> Events[ObjectT]:
        return self

    async def __anext__(self) -> Event[ObjectT]:
        line = await self._lines.next()
        if not line:
            raise StopAsyncIteration
        event = orjson.loads(line)
        if event["type"] == "ERROR":
            raise ApiError.of(event["object"])
        return Event(event["type"], event["object"])
