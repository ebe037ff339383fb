"""A segment: some objects of a collection, next to each other in key order, in several forms.

What a segment shows never changes: a write makes another segment.  What it knows of itself grows,
for a form is made when a list first asks for it, and the segment that replaces it keeps the items
that the write did not touch.  So a list that has begun holds its segments and sees one state.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from math import inf
from typing import NamedTuple, TypeVar

from kubetrio.resources.representation import Ages, Span
from kubetrio.resources.segments.piece import Piece
from kubetrio.store.model import Revision
from kubetrio.watch.choosing import Pin, Seen

T = TypeVar("T")

TARGET_BYTES = 128 * 1024
"""Of stored objects in a segment; it is divided at twice that, and joined to another at a quarter.
"""
KEY_BYTES = 160
"""What an object takes beside its bytes and those of its key, about."""
ITEM_BYTES = 16
"""What an item of another form takes beside its bytes."""
SPLICED = 4
"""Edits of one segment that are made in what is joined, each with a copy of that."""
SPAN_BYTES = 200
"""What it takes to know when an item is good, about."""
NEVER = Span(inf, -inf)
Again = Callable[[bytes, Ages, float], tuple[bytes, Span]]
"""An item with other ages; see `ItemForm.aged`."""


class Edit(NamedTuple):
    """A write of one key, as the lists of a segment see it.

    Args:
        at: place of the key.
        there: whether the key is there.
        item: the stored item, None for a deletion.
    """

    at: int
    there: bool
    item: bytes | None

    def make(self, parts: list[T], part: T) -> None:
        """Change a list that has a part for each key."""
        if self.item is None:
            if self.there:
                del parts[self.at]
        elif self.there:
            parts[self.at] = part
        else:
            parts.insert(self.at, part)


class Items:
    """The items of a segment in one form: one by one, or joined.

    Args:
        parts: the items; None for those that are not made yet.
        spans: from when on and until when each of them is good; None where they are for ever.

    Attributes:
        size: bytes of the items that are made.
    """

    __slots__ = ("_body", "_ends", "_first", "_good", "_parts", "_spans", "size")

    def __init__(self, parts: list[bytes | None], spans: list[Span] | None = None) -> None:
        self._parts: list[bytes | None] = parts
        self._spans = spans
        self._body: Piece | None = None
        self._first: Piece | None = None
        self._ends = array("Q")
        self._good = NEVER
        """When all of them are good, once they are joined."""
        self.size = sum(len(part) for part in parts if part is not None)

    def missing(self, first: int, last: int) -> list[int]:
        """Which of some items are to be made, or made again.

        Args:
            first: the first of them.
            last: the one behind them.
        """
        if self._body is not None:
            return []
        parts = self._parts
        return [at for at in range(first, last) if parts[at] is None]

    def may_be_old(self, now: float) -> bool:
        """Whether there may be items that are not good at a time."""
        if self._body is not None and self._spans is not None:
            since, until, _ = self._good
            return not since <= now < until
        return self._spans is not None

    def renew(self, places: Iterable[int], now: float, again: Again) -> None:
        """Have some items tell the ages of a time, and forget those of them that cannot.

        Args:
            places: where they are.
            now: the time.
            again: gives an item other ages.
        """
        spans = self._spans
        if spans is None or not self.may_be_old(now):
            return
        parts = self._parts = self.parts()
        self._body = self._first = None
        for at in places:
            part, (since, until, ages) = parts[at], spans[at]
            if part is None or since <= now < until:
                continue
            self.size -= len(part)
            if not ages:
                parts[at] = None
                continue
            parts[at], spans[at] = item, _ = again(part, ages, now)
            self.size += len(item)

    def fill(self, at: int, item: bytes, span: Span | None = None) -> None:
        """Note an item that was missing, unless another list has made it meanwhile.

        Args:
            at: where.
            item: the item.
            span: when it is good, None for ever.
        """
        if self._body is not None or self._parts[at] is not None:
            return
        self._parts[at] = item
        self.size += len(item)
        if span is not None:
            if self._spans is None:
                self._spans = [NEVER] * len(self._parts)
            self._spans[at] = span

    def get(self, at: int) -> bytes:
        """An item that is made."""
        if self._body is not None:
            return self._body[self._ends[at - 1] if at else 0 : self._ends[at]]
        part = self._parts[at]
        if part is None:
            raise LookupError(at)
        return part

    def size_of(self, at: int) -> int:
        """Bytes of an item that is made."""
        return len(self.get(at))

    def joined(self, first: int, last: int) -> bytes:
        """Items next to each other, all of them made, as one piece of bytes."""
        body = self._body
        if body is None:
            items = [part for part in self._parts if part is not None]
            # What tells ages and was not asked for may be too old.
            some = self._spans is not None and last - first < len(items)
            if some or len(items) != len(self._parts):
                return b"".join([self.get(at) for at in range(first, last)])
            body = self._body = Piece(b"".join(items))
            self._ends = array("Q", accumulate(map(len, items)))
            self._parts = []
            if self._spans is not None:
                begins, ends, _ = zip(*self._spans, strict=True)
                self._good = Span(max(begins), min(ends))
        if not first and last == len(self._ends):
            return body
        return body[self._ends[first - 1] if first else 0 : self._ends[last - 1]]

    def led(self, piece: bytes, lead: int) -> bytes:
        """A piece without its first bytes, as it stands at the beginning of a list.

        Args:
            piece: what `joined` returned.
            lead: how many bytes.
        """
        if not lead:
            return piece  # itself, for it may be compressed already
        if piece is not self._body:
            return piece[lead:]
        if self._first is None:
            self._first = Piece(piece[lead:])
        return self._first

    @property
    def kept(self) -> int:
        """Bytes that are kept beside the items.

        When they are good, what is squeezed, and the beginning of a list.
        """
        size = 0 if self._spans is None else SPAN_BYTES * len(self._spans)
        for piece in (self._body, self._first):
            if piece is not None and piece.squeezed is not None:
                size += len(piece.squeezed.data)
        return size if self._first is None else size + len(self._first)

    def sizes(self, first: int, last: int) -> list[int]:
        """Bytes of some items that are made."""
        if self._body is None:
            return [len(self.get(at)) for at in range(first, last)]
        begin = self._ends[first - 1] if first else 0
        return [after - before for before, after in pairwise((begin, *self._ends[first:last]))]

    def parts(self) -> list[bytes | None]:
        """A copy of the items, one by one."""
        body = self._body
        if body is None:
            return self._parts.copy()
        return [body[begin:end] for begin, end in pairwise((0, *self._ends))]

    def edited(self, edits: Sequence[Edit], *, items: bool = False) -> Items:
        """Return the items after some edits, in the order in which these were made.

        Args:
            edits: of the segment.
            items: whether these are the stored items, which the edits bring.
        """
        if items and self._body is not None and len(edits) <= SPLICED:
            return self._spliced(self._body, edits)
        parts = self.parts()
        spans = None if self._spans is None else self._spans.copy()
        for edit in edits:
            edit.make(parts, edit.item if items else None)
            if spans is not None:
                edit.make(spans, NEVER)
        return Items(parts, spans)

    def _spliced(self, body: bytes, edits: Sequence[Edit]) -> Items:
        """Return the stored items after some edits, joined as they were.

        To take a segment apart and join it again costs several times as much.
        """
        ends = self._ends
        for at, there, item in edits:
            begin = ends[at - 1] if at else 0
            end = ends[at] if there else begin
            new = b"" if item is None else item
            view = memoryview(body)
            body = b"".join((view[:begin], new, view[end:]))
            grown = len(new) - (end - begin)
            after = array("Q", [each + grown for each in ends[at + there :]])
            own = ends[:0] if item is None else array("Q", [begin + len(new)])
            ends = ends[:at] + own + after
        edited = Items([])
        edited._body, edited._ends, edited.size = Piece(body), ends, len(body)
        return edited

    def part(self, first: int, last: int) -> Items:
        """Return some of the items."""
        spans = None if self._spans is None else self._spans[first:last]
        return Items(self.parts()[first:last], spans)


class Marks:
    """What selectors look at of the objects of a segment.

    Args:
        found: labels and fields of each object; None for those that were not looked into yet.
    """

    __slots__ = ("_found", "_places", "size")

    def __init__(self, found: list[Seen | None]) -> None:
        self._found = found
        self._places: dict[Pin, list[int]] | None = None
        self.size = 0
        for mark in found:
            if mark is not None:
                self.size += mark.size

    def missing(self, first: int, last: int) -> list[int]:
        """Which of some objects were not looked into."""
        if self._places is not None:
            return []
        return [at for at in range(first, last) if self._found[at] is None]

    def fill(self, at: int, mark: Seen) -> None:
        """Note what an object has, unless that is known meanwhile."""
        if self._found[at] is not None:
            return
        self._found[at] = mark
        self.size += mark.size

    def get(self, at: int) -> Seen:
        """What an object has that was looked into."""
        mark = self._found[at]
        if mark is None:
            raise LookupError(at)
        return mark

    @property
    def indexed(self) -> bool:
        """Whether `places` was asked, so that all objects have been looked into."""
        return self._places is not None

    def places(self, which: Pin) -> Sequence[int]:
        """Where objects are that have a label or field, all of them having been looked into.

        Args:
            which: ``label`` or ``field``, its name, its value.
        """
        places = self._places
        if places is None:
            places = self._places = {}
            for at, mark in enumerate(self._found):
                if mark is None:
                    raise LookupError(at)
                for name, value in mark.labels.items():
                    places.setdefault(("label", name, value), []).append(at)
                for name, value in mark.fields.items():
                    places.setdefault(("field", name, value), []).append(at)
        return places.get(which, ())

    def edited(self, edits: Sequence[Edit]) -> Marks:
        """Return the marks after some edits."""
        marks = self._found.copy()
        for edit in edits:
            edit.make(marks, None)
        return Marks(marks)

    def part(self, first: int, last: int) -> Marks:
        """Return those of some of the objects."""
        return Marks(self._found[first:last])


class Segment:
    """Objects of a collection; see the module.

    Args:
        keys: in order.
        stored: their stored form.
        changed: the oldest revision at which the collection had just these objects here.
    """

    __slots__ = ("_own", "changed", "forms", "keys", "marks", "stored")

    def __init__(self, keys: list[str], stored: Items, changed: Revision) -> None:
        self.keys = keys
        self.stored = stored
        self.changed = changed
        self._own = sum(map(len, keys)) + KEY_BYTES * len(keys)
        self.forms: dict[Hashable, Items] = {}
        """Other forms, by what makes equal ones."""
        self.marks: dict[Hashable, Marks] = {}
        """What selectors look at, by what reads it from an object."""

    @property
    def size(self) -> int:
        """What it takes, about, in bytes."""
        count = len(self.keys)
        size = self.stored.size + self.stored.kept + self._own
        for items in self.forms.values():
            size += items.size + items.kept + ITEM_BYTES * count
        for marks in self.marks.values():
            size += marks.size
        return size

    def form(self, key: Hashable) -> Items:
        """The items in another form, made or not."""
        items = self.forms.get(key)
        if items is None:
            items = self.forms[key] = Items([None] * len(self.keys))
        return items

    def marked(self, key: Hashable) -> Marks:
        """What selectors look at, made or not."""
        marks = self.marks.get(key)
        if marks is None:
            marks = self.marks[key] = Marks([None] * len(self.keys))
        return marks

    def span(self, start: str, end: str) -> tuple[int, int]:
        """Where the keys from one to another are."""
        return bisect_left(self.keys, start), bisect_left(self.keys, end)

    def edited(self, changes: Mapping[str, bytes | None], revision: Revision) -> Segment:
        """Return the segment after some writes.

        Args:
            changes: keys to their stored items, None for what is deleted.
            revision: the newest of these writes.
        """
        keys = self.keys.copy()
        edits: list[Edit] = []
        for key, item in changes.items():
            at = bisect_left(keys, key)
            edit = Edit(at, at < len(keys) and keys[at] == key, item)
            edit.make(keys, key)
            edits.append(edit)
        after = Segment(keys, self.stored.edited(edits, items=True), revision)
        after.forms = {form: items.edited(edits) for form, items in self.forms.items()}
        after.marks = {which: marks.edited(edits) for which, marks in self.marks.items()}
        return after

    def divided(self) -> tuple[Segment, Segment]:
        """Return the segment in halves."""
        middle = len(self.keys) // 2
        return self._part(0, middle), self._part(middle, len(self.keys))

    def _part(self, first: int, last: int) -> Segment:
        part = Segment(self.keys[first:last], self.stored.part(first, last), self.changed)
        part.forms = {form: items.part(first, last) for form, items in self.forms.items()}
        part.marks = {which: marks.part(first, last) for which, marks in self.marks.items()}
        return part

    def and_next(self, other: Segment) -> Segment:
        """Return one segment of two; its other forms are made again."""
        stored = Items(self.stored.parts() + other.stored.parts())
        return Segment(self.keys + other.keys, stored, max(self.changed, other.changed))
