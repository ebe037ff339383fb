"""What lists that are under way have just read or made, for others that are at the same place.

Many informers that begin at once ask for the same objects at the same revision.  The first that
comes to a part reads it, those that come meanwhile wait for it, and those a little behind find it
here: all of them send one and the same bytes.  Nothing is kept when no such list is under way.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from kubetrio.resources.shared import Shared
from kubetrio.store.model import JoinResult, RangeResult

T = TypeVar("T")


class Recent(Generic[T]):
    """Parts by what they are of, the latest ones.

    Args:
        max_bytes: what they take together, but for the last one.
        size_of: bytes of a part.

    Attributes:
        bytes: what they take now.
    """

    def __init__(self, max_bytes: int, size_of: Callable[[T], int]) -> None:
        self._max_bytes = max_bytes
        self._size_of = size_of
        self._parts: OrderedDict[Hashable, T] = OrderedDict()
        self._under_way: Shared[T] = Shared()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._parts)

    async def get(self, key: Hashable, make: Callable[[], Awaitable[T]], *, keep: bool = True) -> T:
        """A part, made unless it is there or on its way.

        Args:
            key: says which part it is; equal keys are of equal bytes.
            make: reads or makes it.
            keep: whether it is kept for those who ask later.

        Raises:
            BaseException: what `make` raises, in the task that called it.
        """
        part = self._parts.get(key)
        if part is not None:
            self._parts.move_to_end(key)
            return part
        part = await self._under_way.get(key, make)
        if keep:
            self._keep(key, part)
        return part

    def _keep(self, key: Hashable, part: T) -> None:
        size = self._size_of(part)
        if key in self._parts or size > self._max_bytes:
            return
        self._parts[key] = part
        self.bytes += size
        while self.bytes > self._max_bytes:
            self.bytes -= self._size_of(self._parts.popitem(last=False)[1])

    def clear(self) -> None:
        """Forget all of them."""
        self._parts.clear()
        self.bytes = 0


class UnderWay:
    """A list that is under way, for as long as this lives."""

    __slots__ = ("__weakref__",)


class RecentReads:
    """Of all lists of a server.

    Args:
        max_bytes: of each of the three.

    Attributes:
        pages: objects that the store joined.
        ranges: objects one by one.
        items: single large objects in the form in which they are sent.
    """

    def __init__(self, max_bytes: int) -> None:
        self.pages = Recent[JoinResult](max_bytes, lambda page: len(page.body))
        self.ranges = Recent[RangeResult](max_bytes, _size_of_range)
        self.items = Recent[bytes](max_bytes, len)
        self._lists = 0

    @property
    def entries(self) -> int:
        """How many parts there are."""
        return len(self.pages) + len(self.ranges) + len(self.items)

    @property
    def bytes(self) -> int:
        """What they take."""
        return self.pages.bytes + self.ranges.bytes + self.items.bytes

    @property
    def under_way(self) -> bool:
        """Whether there are lists that go on for longer."""
        return self._lists > 0

    def begin(self) -> UnderWay:
        """Note a list that goes on for longer; it is over when what is returned is let go of."""
        under_way = UnderWay()
        self._lists += 1
        weakref.finalize(under_way, self._ended)
        return under_way

    def _ended(self) -> None:
        self._lists -= 1
        if not self._lists:
            self.clear()

    def clear(self) -> None:
        """Forget everything."""
        for parts in (self.pages, self.ranges, self.items):
            parts.clear()


def _size_of_range(result: RangeResult) -> int:
    return sum(len(item.value) for item in result.items)
