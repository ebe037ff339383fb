"""What the resource rooms ask of an encoder; media types live in `api`.

An encoder turns stored bytes into what one client asked for.  For JSON in the stored version that
is the identity, which is what makes reads cheap: `stored` says so, and lists are then joined inside
the store.  Quick conversions between versions are its own doing; for those that wait, the reader
brings the values to the version first (`converts`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from kubetrio.schema.kind import Kind
from kubetrio.store.model import KeyValue

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListMeta:
    """Metadata of a list.

    Args:
        resource_version: revision that was read.
        continue_token: where the next page begins, or empty.
        remaining: items behind this page, None when not known or not told.
    """

    resource_version: str
    continue_token: str = ""
    remaining: int | None = None

    def as_dict(self) -> Object:
        """The JSON form."""
        out: Object = {"resourceVersion": self.resource_version}
        if self.continue_token:
            out["continue"] = self.continue_token
        if self.remaining is not None:
            out["remainingItemCount"] = self.remaining
        return out


class ListWriter(Protocol):
    """Writes one list from beginning to end; pieces may be empty until the last.

    A list ends with either `close` or all of `tail`.
    """

    def open(self, meta: ListMeta) -> bytes:
        """What comes in front of the first item."""
        ...

    def lead(self) -> bytes:
        """What comes in front of items that the store joined, for encoders of stored bytes."""
        ...

    def items(self, values: Sequence[KeyValue]) -> bytes:
        """Further items."""
        ...

    def close(self) -> bytes:
        """What comes behind the last item."""
        ...

    def tail(self) -> Iterator[bytes]:
        """Write it in pieces, each made quickly, for formats that are written at their end."""
        ...


Around = Callable[[ListMeta, int, int], tuple[bytes, bytes]]
Ages = tuple[float | int, ...]
"""Where an item tells ages: for each, the moment it counts from in seconds since the epoch, and the
first byte of its text and the one behind it."""


class Span(NamedTuple):
    """When an item is good that tells ages, in seconds of the wall clock.

    Args:
        since: from when on.
        until: until when.
        ages: all that changes then; empty where the item has to be made again.
    """

    since: float
    until: float
    ages: Ages = ()


class ItemForm(Protocol):
    """How items are written that are made one by one, whatever stands around them.

    What is made of an object is kept for other lists, so it says nothing of the request.

    Attributes:
        key: equal for forms that make the same of the same objects.
        stored: whether items are stored objects without their first bytes (`Encoder.skip`), each
            behind a separator.
        lead: bytes of an item that are left out in front of the first of a list.
        kind: of the objects.
        around: what stands before and behind the items of a list that has some, by its metadata,
            how many items there are and the bytes of all of them.
    """

    @property
    def kind(self) -> Kind:
        """See the class."""
        ...

    @property
    def key(self) -> Hashable:
        """See the class."""
        ...

    @property
    def stored(self) -> bool:
        """See the class."""
        ...

    @property
    def lead(self) -> int:
        """See the class."""
        ...

    @property
    def around(self) -> Around:
        """See the class."""
        ...

    def now(self) -> float | None:
        """The time that items tell, None where they tell none."""
        ...

    def item(self, value: bytes) -> tuple[bytes, Span | None]:
        """An item as it stands behind another, and when it is good; None for ever.

        Args:
            value: the stored object.
        """
        ...

    def aged(self, item: bytes, ages: Ages, now: float) -> tuple[bytes, Span]:
        """An item with ages of another time, and when it is good.

        Args:
            item: what `item` or this returned.
            ages: all ages that it tells.
            now: the time.
        """
        ...


class Encoder(Protocol):
    """One representation of one resource for one request.

    Attributes:
        stored: whether an object is its stored bytes.
        separator: bytes between joined items, when `stored`.
        skip: bytes of a stored object that a joined list leaves out, when `stored`.
        converts: kind in whose version values are to be, where that has to be waited for; see
            `resources.conversion`.  None: all values come as they are stored.
        content_type: media type of objects and lists.
        stream_type: media type of watches.
    """

    stored: bool
    separator: bytes
    skip: int
    converts: Kind | None
    content_type: bytes
    stream_type: bytes

    @property
    def identity(self) -> Hashable:
        """Equal for encoders that give equal events; part of cache keys."""
        ...

    def check(self) -> None:
        """Refuse a representation that cannot be; `object` and `list_writer` do it themselves.

        Raises:
            ApiError: 400 or 406.
        """
        ...

    def object(self, value: bytes) -> bytes:
        """A stored object as a response body.

        Raises:
            ApiError: as `check`.
        """
        ...

    def list_writer(self) -> ListWriter:
        """A writer for one list.

        Raises:
            ApiError: as `check`.
        """
        ...

    def list_form(self) -> ItemForm | None:
        """How a list is written item by item, None where it cannot be."""
        ...

    def counted_form(self) -> ItemForm | None:
        """How a list is written that says in front how large it is; None for all others."""
        ...

    def state_form(self) -> ItemForm | None:
        """How the state is written that a watch begins with, None where it cannot be so."""
        ...

    def event(self, kind: str, value: bytes) -> bytes:
        """A framed watch event with a stored object."""
        ...

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        """A framed BOOKMARK event."""
        ...

    def error(self, status: Object) -> bytes:
        """A framed ERROR event."""
        ...
