"""A collection in memory: the segments of one key prefix, brought up to date when they are read.

Writes are noted as they are announced and made when a list asks, those to one segment together.  A
collection that is written and not listed costs a note for each write, and is let go of after some:
to read it again costs less then.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from kubetrio.resources.segments.segment import TARGET_BYTES, Items, Segment
from kubetrio.store.model import Event, EventType, KeyValue, Range, Revision

MADE_TOGETHER = 32
"""Writes that are made in one go: they may be to as many segments, which is about 1 ms."""
UNREAD_WRITES = 64
"""Writes without a list between after which any collection may be let go of."""
UNREAD_SHARE = 8
"""A collection is kept until one write for so many of its objects."""
UNREAD_BYTES = 1024 * 1024
"""Of writes without a list between."""


class Foreign(Exception):
    """A value that does not begin as all others of its collection do."""


class Shape(NamedTuple):
    """How stored values become stored items and back.

    Args:
        head: the bytes that every value begins with, and items leave out.
        separator: the bytes that items begin with instead.
    """

    head: bytes
    separator: bytes

    def item(self, value: bytes) -> bytes:
        """A value as it stands in a list, behind another.

        Raises:
            Foreign: it begins otherwise.
        """
        if not value.startswith(self.head):
            raise Foreign
        return self.separator + value[len(self.head) :]

    def value(self, item: bytes) -> bytes:
        """The value of an item."""
        return self.head + item[len(self.separator) :]


class Part(NamedTuple):
    """Some objects of a segment, next to each other.

    Args:
        segment: the segment.
        first: the first of them.
        last: the one behind them.
    """

    segment: Segment
    first: int
    last: int

    @property
    def objects(self) -> int:
        """How many they are."""
        return self.last - self.first


class Collection:
    """The objects of one prefix.

    Args:
        shape: of their values.
        revision: at which they are read; `extend` takes them.

    Attributes:
        used: number of the list that used it last.
        grew: whether it has changed since `measure`.
        bytes: what it takes, about; see `measure`.
    """

    def __init__(self, shape: Shape, revision: Revision) -> None:
        self.shape = shape
        self.used = 0
        self.bytes = 0
        self.grew = False
        self.revision = revision
        self._noted: list[Event] = []
        self._noted_bytes = 0
        self._segments: list[Segment] = [Segment([], Items([]), revision)]
        self._bounds = [""]  # a segment has all keys up to the first of the next one
        self._count = 0

    def extend(self, values: Sequence[KeyValue]) -> None:
        """Take further objects as they were at the revision that is read, in key order.

        Raises:
            Foreign: a value is not as the others.
        """
        if not values:
            return
        self.grew = True
        self._count += len(values)
        last = self._segments.pop()
        keys, items = last.keys, last.stored.parts()
        size = last.stored.size
        for value in values:
            item = self.shape.item(value.value)
            if keys and size + len(item) > TARGET_BYTES:
                stored = Items(items)
                stored.joined(0, len(keys))  # now: one piece takes less than its items
                self._segments.append(Segment(keys, stored, self.revision))
                keys, items, size = [], [], 0
            keys.append(value.key)
            items.append(item)
            size += len(item)
        self._segments.append(Segment(keys, Items(items), self.revision))
        self._note_bounds()

    def _note_bounds(self) -> None:
        self._bounds = ["", *(segment.keys[0] for segment in self._segments[1:])]

    def __len__(self) -> int:
        return self._count

    def note(self, event: Event) -> bool:
        """Take a write of one of its keys; return whether the collection is still worth it."""
        self._noted.append(event)
        self._noted_bytes += len(event.value)
        most = max(UNREAD_WRITES, self._count // UNREAD_SHARE)
        return len(self._noted) <= most and self._noted_bytes <= UNREAD_BYTES

    @property
    def behind(self) -> bool:
        """Whether there are more writes to be made than can be made in one go."""
        return len(self._noted) > MADE_TOGETHER

    def catch_up(self) -> None:
        """Make the oldest of the writes that were noted, no more than can be made in one go.

        Raises:
            Foreign: a value is not as the others.
        """
        noted, self._noted = self._noted[:MADE_TOGETHER], self._noted[MADE_TOGETHER:]
        self._noted_bytes -= sum(len(event.value) for event in noted)
        touched: dict[int, dict[str, bytes | None]] = {}
        newest: dict[int, Revision] = {}
        for event in noted:
            place = bisect_right(self._bounds, event.key) - 1
            deleted = event.type is EventType.DELETED
            item = None if deleted else self.shape.item(event.value)
            touched.setdefault(place, {})[event.key] = item
            newest[place] = event.revision
        for place in sorted(touched, reverse=True):  # so that places in front stay
            self._replace(place, touched[place], newest[place])
        if touched:
            self._note_bounds()

    def _replace(self, place: int, changes: dict[str, bytes | None], revision: Revision) -> None:
        self.grew = True
        before = self._segments[place]
        after = before.edited(changes, revision)
        self._count += len(after.keys) - len(before.keys)
        size = after.stored.size
        if size > 2 * TARGET_BYTES and len(after.keys) > 1:
            self._segments[place : place + 1] = after.divided()
            return
        self._segments[place] = after
        if size < TARGET_BYTES // 4 and len(self._segments) > 1:
            first = max(place - 1, 0)
            pair = self._segments[first : first + 2]
            if pair[0].stored.size + pair[1].stored.size <= TARGET_BYTES or not after.keys:
                self._segments[first : first + 2] = [pair[0].and_next(pair[1])]

    def parts(self, keys: Range) -> list[Part]:
        """What is there of a range, when all writes are made.

        Raises:
            Foreign: a value is not as the others.
        """
        while self._noted:
            self.catch_up()
        begin = bisect_right(self._bounds, keys.start) - 1
        end = bisect_left(self._bounds, keys.end, begin + 1)
        parts = [Part(segment, 0, len(segment.keys)) for segment in self._segments[begin:end]]
        for place in {0, len(parts) - 1}:  # those between have no other keys
            segment = parts[place].segment
            parts[place] = Part(segment, *segment.span(keys.start, keys.end))
        return parts

    def measure(self) -> int:
        """Return what it takes now, about, in bytes."""
        self.grew = False
        self.bytes = sum(segment.size for segment in self._segments)
        self.bytes += self._noted_bytes
        return self.bytes

    def forget_forms(self) -> None:
        """Let go of all that can be made again of the stored form."""
        for segment in self._segments:
            segment.forms.clear()
            segment.marks.clear()
