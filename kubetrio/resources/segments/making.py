"""What lists take from segments, made where it is missing: items in a form, and what is selected.

All lists of a server take turns at making: a round of the event loop has one slice of it in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import orjson
import trio

from kubetrio.resources.paging import LOOK_BYTES, LOOK_KEYS, SLICE_BYTES
from kubetrio.resources.representation import ItemForm
from kubetrio.resources.segments.collection import Part, Shape
from kubetrio.resources.segments.segment import Items, Mark, Segment, Span
from kubetrio.resources.selection import Selection

Made = tuple[bytes, Span | None]


class Beside(NamedTuple):
    """Where items of large objects are made.

    Args:
        larger_than: bytes of objects that are made on the event loop.
        run: makes an item elsewhere.
    """

    larger_than: int
    run: Callable[[Callable[[], Made]], Awaitable[Made]]


class Choice(NamedTuple):
    """What is selected.

    Args:
        selection: selectors.
        pinned: a label or field that has to have one value; None where they pin none.
    """

    selection: Selection
    pinned: tuple[str, str, str] | None


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
        await self._make(segment, items, form, items.missing(first, last, form.now()))
        while missing := items.missing(first, last):  # another list slices some too old meanwhile
            await self._make(segment, items, form, missing)
        return items.led(items.joined(first, last), lead)

    async def chosen(self, segment: Segment, places: Sequence[int], form: ItemForm) -> list[bytes]:
        """Some items of a segment in a form."""
        if form.stored:
            return [segment.stored.get(at) for at in places]
        items = segment.form(form.key)
        first, last = places[0], places[-1] + 1
        chosen, now = frozenset(places), form.now()
        while missing := [at for at in items.missing(first, last, now) if at in chosen]:
            await self._make(segment, items, form, missing)
            now = None
        return [items.get(at) for at in places]

    async def _make(
        self, segment: Segment, items: Items, form: ItemForm, missing: Sequence[int]
    ) -> None:
        """Make some items, a slice in each turn."""
        begin = 0
        self.grew = self.grew or bool(missing)
        while begin < len(missing):
            size, end = 0, begin
            while end < len(missing) and size < SLICE_BYTES:
                size += len(segment.stored.get(missing[end]))
                end += 1
            if self.beside is not None and size > self.beside.larger_than:
                await self._make_beside(segment, items, form, missing[begin:end])
            elif end == len(missing) and not begin:
                self._make_here(segment, items, form, missing)
            else:
                async with self.turns:
                    self._make_here(segment, items, form, missing[begin:end])
            begin = end

    def _make_here(
        self, segment: Segment, items: Items, form: ItemForm, places: Sequence[int]
    ) -> None:
        for at in places:
            items.fill(at, *form.item(self.shape.value(segment.stored.get(at))))

    async def _make_beside(
        self, segment: Segment, items: Items, form: ItemForm, places: Sequence[int]
    ) -> None:
        for at in places:
            value = self.shape.value(segment.stored.get(at))
            if self.beside is None or len(value) <= self.beside.larger_than:
                items.fill(at, *form.item(value))
            else:
                items.fill(at, *await self.beside.run(partial(form.item, value)))

    @staticmethod
    def known(part: Part, choice: Choice) -> Sequence[int] | None:
        """Places of the objects of a part that are selected; None where that takes a look."""
        selection, pinned = choice
        marks = part.segment.marks.get(selection.values)
        if marks is None or pinned is None or not marks.indexed:
            return None
        return [
            at
            for at in marks.places(pinned)
            if part.first <= at < part.last and _matches(selection, marks.get(at))
        ]

    async def selected(self, part: Part, choice: Choice) -> Sequence[int]:
        """Places of the objects of a part that are selected."""
        segment, first, last = part
        selection, pinned = choice
        marks = segment.marked(selection.values)
        begin, end = (0, len(segment.keys)) if pinned is not None else (first, last)
        missing = marks.missing(begin, end)
        self.grew = self.grew or bool(missing)
        for slice_ in _slices(segment, missing):
            if len(slice_) == len(missing):
                self._mark(segment, slice_, selection)
            else:
                async with self.turns:
                    self._mark(segment, slice_, selection)
        if pinned is None:
            places: Sequence[int] = range(first, last)
        else:
            places = [at for at in marks.places(pinned) if first <= at < last]
        return [at for at in places if _matches(selection, marks.get(at))]

    def _mark(self, segment: Segment, places: Sequence[int], selection: Selection) -> None:
        marks = segment.marked(selection.values)
        for at in places:
            obj = orjson.loads(self.shape.value(segment.stored.get(at)))
            labels = obj["metadata"].get("labels") or {}
            marks.fill(at, Mark(labels, selection.values(obj)))


def _slices(segment: Segment, places: Sequence[int]) -> list[Sequence[int]]:
    """Places of objects that are looked into in one turn."""
    slices: list[Sequence[int]] = []
    begin = size = 0
    for number, at in enumerate(places):
        size += len(segment.stored.get(at))
        if size >= LOOK_BYTES or number + 1 - begin == LOOK_KEYS:
            slices.append(places[begin : number + 1])
            begin, size = number + 1, 0
    if begin < len(places):
        slices.append(places[begin:])
    return slices


def _pinned(selection: Selection) -> tuple[str, str, str] | None:
    """A label or field that has to have one value; None where a selection pins none."""
    if selection.fields is not None:
        for name, operator, value in selection.fields.requirements:
            if operator == "=" and value and not name.startswith("metadata.name"):
                return ("field", name, value)
    if selection.labels is not None:
        for requirement in selection.labels.requirements:
            if requirement.operator in ("=", "==", "in") and len(requirement.values) == 1:
                return ("label", requirement.key, requirement.values[0])
    return None


def _matches(selection: Selection, mark: Mark) -> bool:
    """Whether an object is selected; as `Selection.matches`."""
    if selection.labels is not None and not selection.labels.matches(mark.labels):
        return False
    return selection.fields is None or selection.fields.matches(mark.fields)
