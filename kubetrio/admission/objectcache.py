"""Single objects that admission reads again and again, remembered until a commit changes them."""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.remembered import Remembered
from kubetrio.store.model import Range
from kubetrio.store.scan import scan

Object = dict[str, Any]
REMEMBERED = (
    1000  # objects; one of 1 MiB is the largest there can be, most have a few hundred bytes
)
REMEMBERED_BYTES = 8 << 20


class ObjectCache(Remembered[Object]):
    """Reads objects by their storage key.

    Args:
        dispatcher: the commit stream, which says what to forget.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        super().__init__(dispatcher, orjson.loads, most=REMEMBERED, most_bytes=REMEMBERED_BYTES)

    async def under(self, prefix: str) -> list[Object]:
        """The objects below a prefix, by key; not remembered."""
        keys = Range.prefix(prefix)
        return [orjson.loads(item.value) async for item in scan(self.store, keys)]
