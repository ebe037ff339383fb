"""Reading a collection in pages, and writing what was read a moment at a time.

A page of stored bytes is joined by the store and costs nothing here.  Selecting, and every other
representation, looks into each object, so that is done in slices.  All lists of a server take turns
at them: a round of the event loop has one slice in it, however many lists there are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeVar

import trio

from kubetrio.resources.conversion import shown
from kubetrio.resources.readcounts import ListReads
from kubetrio.resources.recentreads import RecentReads, UnderWay
from kubetrio.resources.representation import Encoder, ListWriter
from kubetrio.resources.selection import Selection
from kubetrio.store.model import JoinResult, KeyValue, Range, RangeResult, Reading, Revision

T = TypeVar("T")

CHUNK_BYTES = 512 * 1024
SHARED_BYTES = 128 * 1024
"""Joined objects of more bytes are sent as they were read, without a copy."""
SLICE_BYTES = 8 * 1024  # stored bytes that are encoded in one turn: about 1 ms
SELECT_KEYS = 100  # objects read at a time, to look which are selected: few enough for no thread
SELECT_BYTES = 1024 * 1024  # and their size, but for the last one
LOOK_KEYS = 25  # objects looked into in one turn: about 0.2 ms
LOOK_BYTES = 64 * 1024  # and their size, but for the last one
AT_ONCE = contextlib.nullcontext()


@dataclass(slots=True)
class Page:
    """Part of a list: joined bytes or values.

    Args:
        revision: revision that was read.
        body: stored objects joined by the store, or empty.
        values: stored objects one by one, or none; converted where the encoder wants them so.
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


def slices(
    values: Sequence[T], max_bytes: int, max_keys: int, size_of: Callable[[T], int]
) -> Iterator[Sequence[T]]:
    """Objects in pieces of a moment's work each; a large object ends its piece.

    Args:
        values: the objects, or where they are.
        max_bytes: size of a piece, but for its last object.
        max_keys: objects in a piece.
        size_of: bytes of one of them.
    """
    begin = size = 0
    for number, value in enumerate(values):
        size += size_of(value)
        if size >= max_bytes or number + 1 - begin == max_keys:
            yield values[begin : number + 1]
            begin, size = number + 1, 0
    if begin < len(values):
        yield values[begin:]


def to_encode(values: Sequence[KeyValue]) -> Iterator[Sequence[KeyValue]]:
    """Slices of objects that are decoded and encoded."""
    return slices(values, SLICE_BYTES, len(values), _size_of)


def to_look_into(values: Sequence[KeyValue]) -> Iterator[Sequence[KeyValue]]:
    """Slices of objects whose labels and fields are read."""
    return slices(values, LOOK_BYTES, LOOK_KEYS, _size_of)


def merged(items: Sequence[bytes]) -> list[bytes]:
    """Items in fewer pieces: large ones alone, small ones joined."""
    pieces: list[bytes] = []
    small: list[bytes] = []
    for item in items:
        if len(item) < LOOK_BYTES:
            small.append(item)
            continue
        if small:
            pieces.append(b"".join(small))
            small = []
        pieces.append(item)
    if small:
        pieces.append(b"".join(small))
    return pieces


def _size_of(value: KeyValue) -> int:
    return len(value.value)


def turn(turns: trio.Lock, some: Sized, whole: Sized) -> AbstractAsyncContextManager[None]:
    """A list's turn at a slice; what is one slice as a whole is done at once."""
    return AT_ONCE if len(some) == len(whole) else turns


class Pager:
    """Reads one collection at one revision, page after page.

    Args:
        store: where to read.
        keys: keys not read yet.
        at: revision, None to take the newest on the first read.
        encoder: representation of items.
        selection: selectors, None for everything.
        turns: of all lists.
        reads: counts what is read.
        recent: what lists that are under way have read, None to read alone.

    Attributes:
        newest: a revision that the first read without one may be of, if that is known: lists that
            begin at the same one read their first page together.
    """

    def __init__(
        self,
        store: Reading,
        keys: Range,
        at: Revision | None,
        encoder: Encoder,
        selection: Selection | None,
        turns: trio.Lock,
        reads: ListReads,
        recent: RecentReads | None = None,
    ) -> None:
        self._store = store
        self._recent = recent
        self._turns = turns
        self.reads = reads
        self.keys = keys
        self.at = at
        self.more = True
        self.newest: Revision | None = None
        self._begun = False  # a first read says whether history still has the revision
        self._encoder = encoder
        self._selection = selection

    async def read(self, limit: int, max_bytes: int) -> Page:
        """The next items: at most `limit` (0: any number) and about `max_bytes`."""
        if self._encoder.stored and self._selection is None:
            return self._passed(await self._joined(limit, max_bytes))
        return await self.read_values(limit, max_bytes)

    async def read_values(self, limit: int, max_bytes: int) -> Page:
        """Select from a page one object after the other."""
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
            return writer.lead() + page.body if page.body else b""
        if self._encoder.stored:
            return writer.items(page.values)
        parts: list[bytes] = []
        for values in to_encode(page.values):
            async with turn(self._turns, values, page.values):
                parts.append(writer.items(values))
        return b"".join(parts)

    @property
    def _alone(self) -> bool:
        """Whether the next read is not one that other lists may share."""
        return not self._begun and (self.at is not None or self.newest is None)

    async def _joined(self, limit: int, max_bytes: int) -> Page:
        keys, at, encoder = self.keys, self.at, self._encoder

        async def read() -> JoinResult:
            return await self._store.join(
                keys,
                skip=encoder.skip,
                separator=encoder.separator,
                at=at,
                limit=limit,
                max_bytes=max_bytes,
            )

        recent = self._recent
        if recent is None or self._alone:
            result = await read()
        else:
            shape = (encoder.skip, encoder.separator, limit, max_bytes)
            asked = (keys, at, None if self._begun else self.newest, *shape)
            result = await recent.pages.get(asked, read, keep=self._begun or recent.under_way)
        self._begun = True
        self.reads.read(result.count, result.count)
        return Page(result.revision, result.body, (), result.count, result.last_key, result.more)

    async def _selected(self, limit: int, max_bytes: int) -> Page:
        selected: list[KeyValue] = []
        size = 0
        keys, at = self.keys, self.at
        while True:
            want = SELECT_KEYS
            if limit and self._selection is None:
                want = min(limit - len(selected), SELECT_KEYS)
            result = await self._range(keys, at, want, min(max_bytes, SELECT_BYTES))
            at = result.revision
            last, more = "", result.more
            there = result.items
            taken = len(selected)
            if self._encoder.converts is not None:
                there = await shown(self._encoder.converts, there)
            for items in to_look_into(there):
                async with turn(self._turns, items, there):
                    chosen = self._choose(items, limit - len(selected) if limit else 0)
                selected += chosen
                size += sum(len(item.value) for item in chosen)
                last = items[-1].key
                if limit and len(selected) >= limit:
                    last = selected[-1].key
                    more = more or last != there[-1].key
                    break
            self.reads.read(len(there), len(selected) - taken)
            if last:
                keys = keys.after(last)
            if not more or (limit and len(selected) >= limit) or size >= max_bytes:
                return Page(at, b"", selected, len(selected), last, more)
            await trio.lowlevel.checkpoint()

    async def _range(
        self, keys: Range, at: Revision | None, limit: int, max_bytes: int
    ) -> RangeResult:
        async def read() -> RangeResult:
            return await self._store.range(keys, at=at, limit=limit, max_bytes=max_bytes)

        recent = self._recent
        if recent is None or self._alone:
            result = await read()
        else:
            asked = (keys, at, None if self._begun else self.newest, limit, max_bytes)
            result = await recent.ranges.get(asked, read, keep=self._begun or recent.under_way)
        self._begun = True
        return result

    def _choose(self, items: Sequence[KeyValue], limit: int) -> Sequence[KeyValue]:
        """What is selected of some objects, at most `limit` of them (0: any number)."""
        if self._selection is None:
            return items[:limit] if limit else items
        matches = self._selection.matches_bytes
        chosen = (item for item in items if matches(item.value))
        return list(islice(chosen, limit or None))


class Rest(Protocol):
    """The part of a large list after what was begun with."""

    async def next(self) -> tuple[bytes, bool]:
        """The next bytes, perhaps none, and whether more follow."""
        ...


class Pages(Protocol):
    """The pages of a list after those that are written."""

    async def next(self) -> Page | None:
        """The next page, None behind the last."""
        ...


class RestOfList:
    """The part of a large list after its first page.

    Args:
        pager: reads on, and encodes.
        writer: has written the beginning.
        pages: what follows, None to read on to the end.
        under_way: says that the list is under way.
        first: a page that is read and not written.
    """

    def __init__(
        self,
        pager: Pager,
        writer: ListWriter,
        pages: Pages | None = None,
        under_way: UnderWay | None = None,
        first: Page | None = None,
    ) -> None:
        self._pager = pager
        self._first = first
        self._under_way = under_way
        self._body = b""
        self._writer = writer
        self._pages = pages
        self._tail: Iterator[bytes] | None = None

    async def next(self) -> tuple[bytes, bool]:
        """The next bytes, perhaps none, and whether more follow."""
        if self._body:
            # What other lists have read takes no wait: a quick client would hold up all others.
            await trio.lowlevel.checkpoint()
            body, self._body = self._body, b""
            return body, True
        if self._tail is None:
            page = await self._page()
            if page is not None and page.body:
                self._body = page.body  # as it was read, for other lists may send the same
                return self._writer.lead(), True
            if page is not None:
                return await self._pager.written(page, self._writer), True
            self._tail = self._writer.tail()
        piece = next(self._tail, None)
        return (b"", False) if piece is None else (piece, True)

    async def _page(self) -> Page | None:
        first, self._first = self._first, None
        if first is not None:
            return first
        if self._pages is not None:
            return await self._pages.next()
        if not self._pager.more:
            return None
        return await self._pager.read(0, CHUNK_BYTES)
