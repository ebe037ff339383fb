"""How lists and states of watches are written item by item, for what is kept in memory of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import inf

from kubetrio.kinds.common.cells import changes_after
from kubetrio.resources.representation import Around
from kubetrio.schema.kind import Kind


class Noting(float):
    """The time, for cells that tell how long ago something was: notes when they will differ.

    Attributes:
        until: when the first of the texts made of it changes.
    """

    until: float = inf

    def __sub__(self, then: float) -> float:
        passed = float(self) - then
        self.until = min(self.until, float(self) + changes_after(passed))
        return passed


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


@dataclass(frozen=True, slots=True)
class AgingForm:
    """Items that tell ages; see `ItemForm`.

    Args:
        kind: of the objects.
        key: equal for equal forms.
        lead: bytes of a separator.
        around: what stands around items.
        make: an item at a time, with what separates it from the one before.
        clock: seconds since the epoch.
    """

    kind: Kind
    key: Hashable
    lead: int
    around: Around
    make: Callable[[bytes, float], bytes]
    clock: Callable[[], float]
    stored: bool = False

    def now(self) -> float:
        """The time."""
        return self.clock()

    def item(self, value: bytes) -> tuple[bytes, tuple[float, float]]:
        """See `ItemForm`."""
        now = Noting(self.clock())
        item = self.make(value, now)
        since = -inf if now.until == inf else float(now)
        return item, (since, now.until)


def no_frame(*_: object) -> tuple[bytes, bytes]:
    """What stands around the events of a state: nothing."""
    return b"", b""
