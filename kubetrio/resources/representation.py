"""What the resource rooms ask of an encoder; media types live in `api`.

An encoder turns stored bytes into what one client asked for.  For JSON in the stored version that
is the identity, which is what makes reads cheap: `stored` says so, and lists are then joined inside
the store.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

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


class Encoder(Protocol):
    """One representation of one resource.

    Attributes:
        identity: equal for encoders that give equal bytes; part of cache keys.
        stored: whether an object is its stored bytes.
        separator: bytes between list items.
    """

    identity: Hashable
    stored: bool
    separator: bytes

    @property
    def content_type(self) -> bytes:
        """Media type of objects and lists."""
        ...

    @property
    def stream_type(self) -> bytes:
        """Media type of watches."""
        ...

    @property
    def skip(self) -> int:
        """Bytes of a stored object that a joined list leaves out, when `stored`."""
        ...

    def object(self, value: bytes) -> bytes:
        """A stored object as a response body."""
        ...

    def items(self, values: Sequence[bytes]) -> bytes:
        """Stored objects as list items, separated."""
        ...

    def list_open(self, meta: ListMeta, *, empty: bool) -> bytes:
        """What comes in front of the first item."""
        ...

    def list_close(self, *, empty: bool) -> bytes:
        """What comes behind the last item."""
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
