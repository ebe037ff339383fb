"""What lists take from segments, made where it is missing: items in a form, and what is selected.

All lists of a server take turns at making: a round of the event loop has one slice of it in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import trio

from kubetrio.resources.paging import LOOK_BYTES, LOOK_KEYS, SLICE_BYTES, slices, turn
from kubetrio.resources.representation import ItemForm, Span
from kubetrio.resources.segments.collection import Part, Shape
from kubetrio.resources.segments.segment import Items, Marks, Segment
from kubetrio.resources.selection import Selection
from kubetrio.watch.choosing import Pin, look

Made = tuple[bytes, Span | None]


class Beside(NamedTuple):
    """Where items of large objects are made.

    Args:
        larger_than: bytes of objects that are made on the event loop.
        run: makes an item elsewhere.
    """

    larger_than: int
    run: Callable[[Callable[[], Made]], Awaitable[Made]]


class Selected(NamedTuple):
    """What is selected of a part.

    Args:
        places: of the objects.
        looked: how many objects the selectors were asked about.
    """

    places: list[int]
    looked: int


class Choice(NamedTuple):
    """What is selected.

    Args:
        selection: selectors.
        pinned: a label or field that has to have one value; None where they pin none.
    """

    selection: Selection
    pinned: Pin | None


def choice_of(selection: Selection) -> Choice:
    """Look for what selectors pin."""
    return Choice(selection, _pinned(selection))


@dataclass(slots=True)
class Making:
    """How what is missing is made.

    Args:
        shape: of stored values.
        turns: of all lists.
        beside: where large objects are made, None for on the event loop.

    Attributes:
        grew: whether something was made.
    """

    shape: Shape
    turns: trio.Lock
    beside: Beside | None
    grew: bool = False

    async def joined(self, part: Part, form: ItemForm, lead: int = 0) -> bytes:
        """All items of a part in a form.

        Args:
            part: the objects.
            form: how they are written.
            lead: bytes to be left out in front.
        """
        segment, first, last = part
        if form.stored:
            return segment.stored.led(segment.stored.joined(first, last), lead)
        items = segment.form(form.key)
        await self._renew(items, range(first, last), form)
        while missing := items.missing(first, last):  # another list found some too old meanwhile
            await self._make(segment, items, form, missing)
        return items.led(items.joined(first, last), lead)

    async def chosen(self, segment: Segment, places: Sequence[int], form: ItemForm) -> list[bytes]:
        """Some items of a segment in a form."""
        if form.stored:
            return [segment.stored.get(at) for at in places]
        items = segment.form(form.key)
        first, last = places[0], places[-1] + 1
        await self._renew(items, places, form)
        chosen = frozenset(places)
        while missing := [at for at in items.missing(first, last) if at in chosen]:
            await self._make(segment, items, form, missing)
        return [items.get(at) for at in places]

    async def _renew(self, items: Items, places: Sequence[int], form: ItemForm) -> None:
        """Have items tell the ages of now; what is left to be made of them is missing then."""
        now = form.now()
        if now is None or not items.may_be_old(now):
            return
        async with self.turns:  # a segment takes less than a millisecond
            items.renew(places, now, form.aged)

    async def _make(
        self, segment: Segment, items: Items, form: ItemForm, missing: Sequence[int]
    ) -> None:
        """Make some items, a slice in each turn, and those of large objects beside the loop."""
        self.grew = self.grew or bool(missing)
        beside = self.beside
        for places in slices(missing, SLICE_BYTES, len(missing), segment.stored.size_of):
            large: list[tuple[int, Callable[[], Awaitable[Made]]]] = []
            async with turn(self.turns, places, missing):
                for at in places:
                    value = self.shape.value(segment.stored.get(at))
                    if beside is not None and len(value) > beside.larger_than:
                        large.append((at, partial(beside.run, partial(form.item, value))))
                    else:
                        items.fill(at, *form.item(value))
            for at, make in large:
                items.fill(at, *await make())

    @staticmethod
    def known(part: Part, choice: Choice) -> Selected | None:
        """What is selected of a part; None where its objects have to be looked into."""
        selection, pinned = choice
        marks = part.segment.marks.get(selection.reads)
        if marks is None or pinned is None or not marks.indexed:
            return None
        return _among(part, choice, marks)

    async def selected(self, part: Part, choice: Choice) -> Selected:
        """What is selected of a part."""
        segment, first, last = part
        selection, pinned = choice
        marks = segment.marked(selection.reads)
        begin, end = (0, len(segment.keys)) if pinned is not None else (first, last)
        missing = marks.missing(begin, end)
        self.grew = self.grew or bool(missing)
        for places in slices(missing, LOOK_BYTES, LOOK_KEYS, segment.stored.size_of):
            async with turn(self.turns, places, missing):
                for at in places:
                    value = self.shape.value(segment.stored.get(at))
                    marks.fill(at, look(value, selection.reads))
        return _among(part, choice, marks)


def _among(part: Part, choice: Choice, marks: Marks) -> Selected:
    """What is selected of a part whose objects have been looked into."""
    _, first, last = part
    selection, pinned = choice
    places: Sequence[int] = range(first, last)
    if pinned is not None:
        places = [at for at in marks.places(pinned) if first <= at < last]
    chooses, get = selection.chooses, marks.get
    return Selected([at for at in places if chooses(*get(at))], len(places))


def _pinned(selection: Selection) -> Pin | None:
    """A label or field that has to have one value; None where a selection pins none.

    Names are as many as objects, and most objects have an empty field.
    """
    for pin in selection.pins():
        where, name, value = pin
        if where == "label" or (value and not name.startswith("metadata.name")):
            return pin
    return None
