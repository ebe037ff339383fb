"""Reading a collection in pages, and writing what was read a moment at a time.

A page of stored bytes is joined by the store and costs nothing here.  Every other representation
looks into each object, so that is done in slices with a checkpoint between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import trio

from kubetrio.resources.representation import Encoder, ListWriter
from kubetrio.resources.selection import Selection
from kubetrio.store.model import KeyValue, Range, Revision, Store

CHUNK_BYTES = 512 * 1024
SLICE_BYTES = 8 * 1024  # stored bytes that are encoded between two checkpoints: about 1 ms
SELECT_KEYS = 250  # objects decoded between two checkpoints
SELECT_BYTES = 1024 * 1024  # and their size, but for the last one


@dataclass(slots=True)
class Page:
    """Part of a list: joined bytes or values.

    Args:
        revision: revision that was read.
        body: stored objects joined by the store, or empty.
        values: stored objects one by one, or none.
        count: how many, in either form.
        last_key: key of the last object looked at.
        more: whether keys follow.
    """

    revision: Revision
    body: bytes
    values: Sequence[KeyValue]
    count: int
    last_key: str
    more: bool


def slices(values: Sequence[KeyValue]) -> Iterator[Sequence[KeyValue]]:
    """Objects in pieces that are encoded in a moment; a large object is a piece of its own."""
    begin = size = 0
    for number, value in enumerate(values):
        size += len(value.value)
        if size >= SLICE_BYTES:
            yield values[begin : number + 1]
            begin, size = number + 1, 0
    if begin < len(values):
        yield values[begin:]


class Pager:
    """Reads one collection at one revision, page after page.

    Args:
        store: where to read.
        keys: keys not read yet.
        at: revision, None to take the newest on the first read.
        encoder: representation of items.
        selection: selectors, None for everything.
    """

    def __init__(
        self,
        store: Store,
        keys: Range,
        at: Revision | None,
        encoder: Encoder,
        selection: Selection | None,
    ) -> None:
        self._store = store
        self.keys = keys
        self.at = at
        self.more = True
        self._encoder = encoder
        self._selection = selection

    async def read(self, limit: int, max_bytes: int) -> Page:
        """The next items: at most `limit` (0: any number) and about `max_bytes`."""
        if self._encoder.stored and self._selection is None:
            return self._passed(await self._joined(limit, max_bytes))
        return await self.read_values(limit, max_bytes)

    async def read_values(self, limit: int, max_bytes: int) -> Page:
        """The same, one by one in any case."""
        return self._passed(await self._selected(limit, max_bytes))

    def _passed(self, page: Page) -> Page:
        """Go on behind a page."""
        self.at, self.more = page.revision, page.more
        if page.last_key:
            self.keys = self.keys.after(page.last_key)
        return page

    async def written(self, page: Page, writer: ListWriter) -> bytes:
        """A page as a writer puts it; where that means work, other tasks have their turn."""
        if not page.values:
            return writer.joined(page.body)
        if self._encoder.stored:
            return writer.items(page.values)
        parts: list[bytes] = []
        for values in slices(page.values):
            if parts:
                await trio.lowlevel.checkpoint()
            parts.append(writer.items(values))
        return b"".join(parts)

    async def _joined(self, limit: int, max_bytes: int) -> Page:
        result = await self._store.join(
            self.keys,
            skip=self._encoder.skip,
            separator=self._encoder.separator,
            at=self.at,
            limit=limit,
            max_bytes=max_bytes,
        )
        return Page(result.revision, result.body, (), result.count, result.last_key, result.more)

    async def _selected(self, limit: int, max_bytes: int) -> Page:
        found: list[KeyValue] = []
        size = 0
        keys, at = self.keys, self.at
        while True:
            want = SELECT_KEYS
            if limit and self._selection is None:
                want = min(limit - len(found), SELECT_KEYS)
            result = await self._store.range(keys, at=at, limit=want, max_bytes=SELECT_BYTES)
            at = result.revision
            last, more = "", result.more
            for item in result.items:
                last = item.key
                if self._selection is None or self._selection.matches_bytes(item.value):
                    found.append(item)
                    size += len(item.value)
                    if len(found) == limit:
                        more = more or item is not result.items[-1]
                        break
            if last:
                keys = keys.after(last)
            if not more or (limit and len(found) >= limit) or size >= max_bytes:
                return Page(at, b"", found, len(found), last, more)
            await trio.lowlevel.checkpoint()


class RestOfList:
    """The part of a large list behind its first page.

    Args:
        pager: reads on, and encodes.
        writer: has written the beginning.
        pages: pages that are read already, when they are all; None to read on to the end.
    """

    def __init__(
        self, pager: Pager, writer: ListWriter, pages: Sequence[Page] | None = None
    ) -> None:
        self._pager = pager
        self._writer = writer
        self._pages = None if pages is None else iter(pages)
        self._tail: Iterator[bytes] | None = None

    async def next(self) -> tuple[bytes, bool]:
        """The next bytes, perhaps none, and whether more follow."""
        if self._tail is None:
            page = await self._page()
            if page is not None:
                return await self._pager.written(page, self._writer), True
            self._tail = self._writer.tail()
        piece = next(self._tail, None)
        return (b"", False) if piece is None else (piece, True)

    async def _page(self) -> Page | None:
        if self._pages is not None:
            return next(self._pages, None)
        if not self._pager.more:
            return None
        return await self._pager.read(0, CHUNK_BYTES)
