"""How lists and states of watches are written item by item, for what is kept in memory of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import inf

from kubetrio.kinds.common.ages import Passed
from kubetrio.kinds.common.cells import changes_after, duration
from kubetrio.resources.representation import Ages, Around, Span
from kubetrio.schema.kind import Kind
from kubetrio.wire import jsonwire

AGE = 3
"""Numbers for each of `Ages`."""


class Noting(float):
    """The time, for cells that tell how long ago something was: notes when they will differ.

    Attributes:
        until: when the first of the texts made of it changes.
        taken: how many lengths of time were taken from it.
    """

    until: float = inf
    taken: int = 0

    def __sub__(self, then: float) -> Passed:
        passed = float(self) - then
        self.until = min(self.until, float(self) + changes_after(passed))
        self.taken += 1
        return Passed(passed, then)


def _no_ages(form: object, item: bytes, ages: Ages, now: float) -> tuple[bytes, Span]:
    """Items tell no ages."""
    raise NotImplementedError("items of this form are good for ever")


@dataclass(frozen=True, slots=True)
class StoredForm:
    """Items as they are stored; see `ItemForm`.

    Args:
        kind: of the objects.
        key: equal for equal forms.
        lead: bytes of a separator.
        around: what stands around items.
    """

    kind: Kind
    key: Hashable
    lead: int
    around: Around
    stored: bool = True

    def now(self) -> None:
        """Items tell no time."""

    def item(self, value: bytes) -> tuple[bytes, None]:
        """Items are not made."""
        raise NotImplementedError("stored items are there")

    aged = _no_ages


@dataclass(frozen=True, slots=True)
class MadeForm:
    """Items that are made of objects; see `ItemForm`.

    Args:
        kind: of the objects.
        key: equal for equal forms.
        lead: bytes of a separator.
        around: what stands around items.
        make: an item, with what separates it from the one before.
    """

    kind: Kind
    key: Hashable
    lead: int
    around: Around
    make: Callable[[bytes], bytes]
    stored: bool = False

    def now(self) -> None:
        """Items tell no time."""

    def item(self, value: bytes) -> tuple[bytes, None]:
        """See `ItemForm`."""
        return self.make(value), None

    aged = _no_ages


@dataclass(frozen=True, slots=True)
class AgingForm:
    """Items that tell ages; see `ItemForm`.

    Args:
        kind: of the objects.
        key: equal for equal forms.
        lead: bytes of a separator.
        around: what stands around items.
        make: an item at a time, with what separates it from the one before, and the ages that it
            tells in JSON.
        clock: seconds since the epoch.
    """

    kind: Kind
    key: Hashable
    lead: int
    around: Around
    make: Callable[[bytes, float], tuple[bytes, Ages]]
    clock: Callable[[], float]
    stored: bool = False

    def now(self) -> float:
        """The time."""
        return self.clock()

    def item(self, value: bytes) -> tuple[bytes, Span]:
        """See `ItemForm`."""
        now = Noting(self.clock())
        item, ages = self.make(value, now)
        since = -inf if now.until == inf else float(now)
        # A length of time that is not an age of its own went into another text.
        known = len(ages) == AGE * now.taken
        return item, Span(since, now.until, ages if known else ())

    def aged(self, item: bytes, ages: Ages, now: float) -> tuple[bytes, Span]:
        """See `ItemForm`."""
        pieces: list[bytes] = []
        moved: list[float | int] = []
        behind, grown, until = 0, 0, inf
        for then, begin, end in zip(ages[::AGE], ages[1::AGE], ages[2::AGE], strict=True):
            passed = now - then
            until = min(until, now + changes_after(passed))
            text = jsonwire.encode(duration(passed))[1:-1]
            first, last = int(begin), int(end)
            pieces += (item[behind:first], text)
            moved += (then, first + grown, first + grown + len(text))
            grown += len(text) - (last - first)
            behind = last
        pieces.append(item[behind:])
        return b"".join(pieces), Span(now, until, tuple(moved))


def no_frame(*_: object) -> tuple[bytes, bytes]:
    """What stands around the events of a state: nothing."""
    return b"", b""
