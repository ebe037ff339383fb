"""Lists of objects that no store has: made when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import trio

from kubetrio.api.encoding.encoders import AnyEncoder
from kubetrio.resources.representation import ListMeta
from kubetrio.store.model import KeyValue
from kubetrio.wire import jsonwire

Object = dict[str, Any]

TOGETHER = 32
"""Items that are written before other tasks run."""


class _NoVersion(ListMeta):
    """Metadata of a list that was not read from the store."""

    def as_dict(self) -> Object:
        """Nothing."""
        return {}


async def unstored_list(encoder: AnyEncoder, objects: Iterable[Object]) -> bytes:
    """Encode a list without a version, a few items at a time.

    Args:
        encoder: for what the client accepts.
        objects: its items; they are made while the list is written.
    """
    writer = encoder.list_writer()
    parts = [writer.open(_NoVersion(resource_version=""))]
    remaining = iter(objects)
    while some := list(islice(remaining, TOGETHER)):
        items = [KeyValue(obj["metadata"]["name"], jsonwire.encode(obj), 0, 0) for obj in some]
        parts.append(writer.items(items))
        if len(some) == TOGETHER:
            await trio.lowlevel.checkpoint()
    return b"".join((*parts, writer.close()))
