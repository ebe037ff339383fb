"""Lists that say in front how large they are, such as those in protobuf.

Their items are made before the first byte is sent.  They are kept until then as long as all such
lists together hold no more than a bound; a list for which there is no room lets go of its items,
goes on counting, and makes them a second time while it is sent.  kube-apiserver does that for every
list in protobuf: it adds up sizes first and encodes then (KEP-5116).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import trio

from kubetrio.resources import paging
from kubetrio.resources.paging import Page, Pager
from kubetrio.resources.recentreads import Recent, UnderWay
from kubetrio.resources.representation import ItemForm
from kubetrio.resources.segments.making import Beside
from kubetrio.store.model import KeyValue


class Room:
    """How much lists may keep of what is not sent yet.

    Args:
        max_bytes: all lists together.
    """

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes

    def take(self, size: int) -> bool:
        """Take some of it, if there is so much."""
        if size > self._left:
            return False
        self._left -= size
        return True

    def give_back(self, size: int) -> None:
        """Give back what was taken."""
        self._left += size


class KeptItems:
    """Items of a list that are kept while there is room.

    Args:
        room: of all lists.

    Attributes:
        whole: whether all of them are kept.
        size: bytes of all of them.
    """

    def __init__(self, room: Room) -> None:
        self._room = room
        self._taken = 0
        self._pieces: deque[bytes] = deque()
        self.whole = True
        self.size = 0

    def add(self, items: Sequence[bytes]) -> None:
        """Count items, and keep them if that can be."""
        size = sum(map(len, items))
        self.size += size
        if not self.whole:
            return
        if not self._room.take(size):
            self.whole = False
            self.let_go()
            return
        self._taken += size
        self._pieces.extend(paging.merged(items))

    def let_go(self) -> None:
        """Keep nothing any more."""
        self._pieces.clear()
        self._room.give_back(self._taken)
        self._taken = 0

    def pop(self) -> bytes | None:
        """The next piece, which is not kept any more; None behind the last."""
        if not self._pieces:
            return None
        piece = self._pieces.popleft()
        self._room.give_back(len(piece))
        self._taken -= len(piece)
        return piece

    def __del__(self) -> None:
        self._room.give_back(self._taken)


@dataclass(slots=True)
class ItemMaking:
    """How the items of a list are made.

    Args:
        form: how they are written.
        turns: of all lists.
        beside: where large objects are made, None for on the event loop.
        recent: large items that other lists have made.
    """

    form: ItemForm
    turns: trio.Lock
    beside: Beside | None
    recent: Recent[bytes]

    async def items(self, values: Sequence[KeyValue]) -> list[bytes]:
        """The items of some objects, a slice in each turn, large ones beside the event loop."""
        items: list[bytes] = []
        for some in paging.to_encode(values):
            small, large = some, None
            if self.beside is not None and len(some[-1].value) > self.beside.larger_than:
                small, large = some[:-1], some[-1]  # a large object ends its slice
            if small:
                async with paging.turn(self.turns, some, values):
                    items += [self.form.item(value.value)[0] for value in small]
            if large is not None:
                items.append(await self._large(self.beside, large))
        return items

    async def _large(self, beside: Beside | None, value: KeyValue) -> bytes:
        make = partial(self.form.item, value.value)

        async def run() -> bytes:
            item, _ = make() if beside is None else await beside.run(make)
            return item

        return await self.recent.get((self.form.key, value.key, value.revision), run)


@dataclass(frozen=True, slots=True)
class Counted:
    """A list that was counted.

    Args:
        page: the last of its pages, without objects.
        count: how many items it has.
        items: those that are kept, or their size alone.
    """

    page: Page
    count: int
    items: KeptItems


async def counted(pager: Pager, limit: int, making: ItemMaking, room: Room) -> Counted:
    """Go through a list to its end, and make all of its items.

    Args:
        pager: reads the objects.
        limit: most items, 0 for all.
        making: makes the items.
        room: what may be kept of them.

    Raises:
        StoreError: the objects cannot be read.
    """
    items, count = KeptItems(room), 0
    while True:
        page = await pager.read_values(limit - count if limit else 0, paging.CHUNK_BYTES)
        values, page.values = page.values, ()
        items.add(await making.items(values))
        count += page.count
        if not page.more or (limit and count >= limit):
            return Counted(page, count, items)
        await trio.lowlevel.checkpoint()


class RestOfKept:
    """A list whose items are all kept; see `paging.Rest`.

    Args:
        items: the items.
        behind: what stands behind them.
    """

    def __init__(self, items: KeptItems, behind: bytes) -> None:
        self._items = items
        self._behind = behind

    async def next(self) -> tuple[bytes, bool]:
        """The next bytes, and whether more follow."""
        await trio.lowlevel.checkpoint()
        piece = self._items.pop()
        return (self._behind, False) if piece is None else (piece, True)


class RestOfCounted:
    """A list whose items are made again; see `paging.Rest`.

    Args:
        counted: what was counted of it.
        pager: reads the objects again, at the same revision.
        making: makes the items.
        behind: what stands behind them.
        under_way: says that the list is under way.
    """

    def __init__(
        self,
        counted: Counted,
        pager: Pager,
        making: ItemMaking,
        behind: bytes,
        under_way: UnderWay,
    ) -> None:
        self._left, self._left_bytes = counted.count, counted.items.size
        self._pager = pager
        self._making = making
        self._behind = behind
        self._pieces: deque[bytes] = deque()
        self._under_way = under_way

    async def next(self) -> tuple[bytes, bool]:
        """The next bytes, and whether more follow.

        Raises:
            StoreError: the objects cannot be read.
        """
        await trio.lowlevel.checkpoint()  # what other lists have made takes no wait
        if not self._pieces:
            if not self._left:
                return self._behind, False
            self._pieces.extend(paging.merged(await self._items()))
        return self._pieces.popleft(), True

    async def _items(self) -> list[bytes]:
        page = await self._pager.read_values(self._left, paging.CHUNK_BYTES)
        items = await self._making.items(page.values)
        self._left -= len(items)
        self._left_bytes -= sum(map(len, items))
        if not items or self._left_bytes < 0 or (not self._left and self._left_bytes):
            raise AssertionError("a list is another one when it is read again")
        return items
