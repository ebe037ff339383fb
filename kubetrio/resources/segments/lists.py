"""A list cut from segments: which of them, how many items, and the pieces that are sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakSet

import trio

from kubetrio.resources.continuetokens import encode_token
from kubetrio.resources.readcounts import ListReads
from kubetrio.resources.representation import ItemForm, ListMeta
from kubetrio.resources.segments.cache import SegmentCache, View
from kubetrio.resources.segments.collection import Part
from kubetrio.resources.segments.making import Beside, Making, choice_of
from kubetrio.resources.segments.segment import Segment
from kubetrio.resources.selection import Selection
from kubetrio.store.model import Range, Revision, Store

AT_ONCE_BYTES = 128 * 1024
"""Of lists that are one answer; those over it are compressed for clients that ask for that."""
LOOKS = 16
"""Segments from which items are chosen before others have their turn."""


@dataclass(slots=True)
class Cut:
    """Items of a list.

    Attributes:
        pieces: of them, in order.
        count: how many items.
        looked: how many objects selectors were asked about, or that needed none.
        last_key: key of the last of them.
        changed: oldest revision at which the collection had just these, as far as was looked.
        sizes: bytes of each item, if asked for.
    """

    pieces: list[bytes] = field(default_factory=list)
    count: int = 0
    looked: int = 0
    last_key: str = ""
    changed: Revision = 0
    sizes: list[int] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes of all pieces."""
        return sum(map(len, self.pieces))

    def add(self, segment: Segment, count: int, last: int) -> None:
        """Count items.

        Args:
            segment: that has them.
            count: how many.
            last: place of the last of them.
        """
        self.count += count
        self.last_key = segment.keys[last]


class RestOfPieces:
    """The part of a list behind its first piece; see `paging.RestOfList`.

    Args:
        pieces: what follows.
    """

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self._next = 0
        self.size = sum(map(len, pieces))

    async def next(self) -> tuple[bytes, bool]:
        """The next bytes, and whether more follow; a checkpoint, since nothing is waited for.

        A client that reads as fast as a list is written would hold up all others else.
        """
        await trio.lowlevel.checkpoint()
        if self._next == len(self.pieces):
            return b"", False
        piece = self.pieces[self._next]
        self.pieces[self._next] = b""
        self._next += 1
        self.size -= len(piece)
        return piece, self._next < len(self.pieces)


def whole(pieces: list[bytes]) -> tuple[bytes, RestOfPieces | None]:
    """What is sent: at once if it is small, else piece by piece, as they are kept."""
    if sum(map(len, pieces)) <= AT_ONCE_BYTES:
        return b"".join(pieces), None
    return pieces[0], RestOfPieces(pieces[1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """What a list asks for.

    Args:
        prefix: of the collection, or of a namespace in it.
        keys: those that are listed.
        at: revision, None for the newest.
        selection: selectors, None for everything.
        limit: most items, 0 for all.
        beside: where items of large objects are made.
        sizes: whether the size of each item is asked for.
    """

    prefix: str
    keys: Range
    at: Revision | None = None
    selection: Selection | None = None
    limit: int = 0
    beside: Beside | None = None
    sizes: bool = False


async def cut_of(making: Making, view: View, form: ItemForm, request: ListRequest) -> Cut:
    """The items of a view that a list asks for."""
    cut, limit = Cut(), request.limit
    choice = None if request.selection is None else choice_of(request.selection)
    for number, part in enumerate(view.parts):
        if number % LOOKS == LOOKS - 1:
            await trio.lowlevel.checkpoint()
        left = limit - cut.count if limit else part.objects
        cut.changed = max(cut.changed, part.segment.changed)
        if choice is None:
            some = part._replace(last=min(part.last, part.first + left))
            if some.objects:
                await _take_all(cut, making, some, form, request)
        else:
            selected = making.known(part, choice) or await making.selected(part, choice)
            cut.looked += selected.looked
            if selected.places:
                await _take(cut, making, part.segment, selected.places[:left], form)
        if limit and cut.count >= limit:
            break
    return cut


async def _take_all(
    cut: Cut, making: Making, part: Part, form: ItemForm, request: ListRequest
) -> None:
    """Add all items of a part that has some."""
    cut.pieces.append(await making.joined(part, form, 0 if cut.pieces else form.lead))
    if request.sizes:
        cut.sizes += part.segment.form(form.key).sizes(part.first, part.last)
    cut.add(part.segment, part.objects, part.last - 1)
    cut.looked += part.objects


async def _take(
    cut: Cut, making: Making, segment: Segment, places: Sequence[int], form: ItemForm
) -> None:
    """Add some items of a segment, at least one."""
    items = await making.chosen(segment, places, form)
    cut.pieces.append(b"".join(items)[0 if cut.pieces else form.lead :])
    cut.sizes += map(len, items)
    cut.add(segment, len(places), places[-1])


class SegmentedLists:
    """Lists of one server that are cut from segments.

    Args:
        store: what they are of.
        cache: the segments.
        turns: of all lists.
    """

    def __init__(self, store: Store, cache: SegmentCache, turns: trio.Lock) -> None:
        self._store = store
        self._turns = turns
        self.cache = cache
        self._sent: WeakSet[RestOfPieces] = WeakSet()

    async def open(
        self, form: ItemForm, request: ListRequest, reads: ListReads
    ) -> tuple[bytes, RestOfPieces | None] | None:
        """Begin a list, as `Listing.open`; None where that has to be read from the store.

        Args:
            form: how items are written.
            request: which.
            reads: counts what is read.

        Raises:
            StoreError: the rest of the list cannot be counted.
        """
        answer = await self.cut(form, request)
        if answer is None or not answer[0].count:
            return None
        cut, view = answer
        at = view.revision if request.at is None else request.at
        reads.read(cut.looked, cut.count)
        token, remaining = "", None
        if request.limit and cut.count >= request.limit and cut.last_key != view.last_key:
            token = encode_token(at, cut.last_key, request.prefix)
            if request.selection is None:
                remaining = view.objects - cut.count
                if request.at is not None and view.changed > request.at:
                    left = request.keys.after(cut.last_key)
                    remaining = await self._store.count(left, at=at)
        meta = ListMeta(resource_version=str(at), continue_token=token, remaining=remaining)
        before, behind = form.around(meta, cut.count, cut.size)
        begin, rest = whole([before, *cut.pieces, behind])
        if rest is not None:
            self._sent.add(rest)
        return begin, rest

    async def state(
        self, form: ItemForm, request: ListRequest
    ) -> tuple[RestOfPieces, Sequence[int], Revision] | None:
        """The state that a watch begins with; see `Listing.state`."""
        answer = await self.cut(form, request)
        if answer is None:
            return None
        cut, view = answer
        rest = RestOfPieces(cut.pieces)
        self._sent.add(rest)
        return rest, cut.sizes, view.revision

    async def cut(self, form: ItemForm, request: ListRequest) -> tuple[Cut, View] | None:
        """The items of a list; None where they are not in memory as they were at its revision."""
        if self._holds_too_much():
            return None
        view = await self.cache.view(form.kind, request.prefix, request.keys)
        at = request.at
        if view is None or (at is not None and not self._store.compacted <= at <= view.revision):
            return None
        making = Making(view.collection.shape, self._turns, request.beside)
        cut = await cut_of(making, view, form, request)
        self.cache.settle(view.collection, grew=making.grew)
        if at is not None and cut.changed > at:
            return None
        return cut, view

    def _holds_too_much(self) -> bool:
        """Whether the lists that are being sent hold more than the cache may.

        Those that begin now are read from the store, a page at a time.
        """
        most = self.cache.max_bytes
        if sum(rest.size for rest in self._sent) <= most:
            return False
        return sum({id(p): len(p) for rest in self._sent for p in rest.pieces}.values()) > most
