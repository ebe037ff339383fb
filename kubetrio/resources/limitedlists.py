"""Lists with a limit, which say in front where the next one begins.

Their last object tells that, so such a list is read to its end before its first byte is sent.  What
was read is kept until then as long as all lists together hold no more than a bound; a list for
which there is no room lets go of it, reads on to the end, and reads its objects a second time while
it is sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import replace

import trio

from kubetrio.resources.countedlists import Room
from kubetrio.resources.paging import CHUNK_BYTES, Page, Pager


class KeptPages:
    """Pages of a list that are kept while there is room; see `paging.Pages`.

    The first one is always kept, as that of a list without a limit is.

    Args:
        room: of all lists, None where all pages have to be kept.

    Attributes:
        whole: whether all of them are kept.
        count: items of all of them.
        last: the last of them, without objects.
    """

    def __init__(self, room: Room | None) -> None:
        self._room = room
        self._kept: deque[tuple[Page, int]] = deque()
        self.whole = True
        self.count = 0
        self.last = Page(0, b"", (), 0, "", more=True)

    def add(self, page: Page) -> None:
        """Take the next page, and keep it if that can be."""
        first = not self.count
        self.count += page.count
        self.last = replace(page, body=b"", values=())
        if not self.whole:
            return
        size = 0 if first or self._room is None else _size_of(page)
        if self._room is None or self._room.take(size):
            self._kept.append((page, size))
            return
        self.whole = False
        while len(self._kept) > 1:
            self._give_back(self._kept.pop()[1])

    async def next(self) -> Page | None:
        """The next page, which is not kept any more."""
        await trio.lowlevel.checkpoint()
        if not self._kept:
            return None
        page, size = self._kept.popleft()
        self._give_back(size)
        return page

    def _give_back(self, size: int) -> None:
        if self._room is not None:
            self._room.give_back(size)

    def __len__(self) -> int:
        return len(self._kept)

    def __del__(self) -> None:
        self._give_back(sum(size for _, size in self._kept))


class PagesAgain:
    """The objects of a list that is read a second time; see `paging.Pages`.

    Args:
        pager: reads them, at the same revision.
        left: how many there are.
    """

    def __init__(self, pager: Pager, left: int) -> None:
        self._pager = pager
        self._left = left

    async def next(self) -> Page | None:
        """The next page.

        Raises:
            StoreError: the objects cannot be read.
        """
        await trio.lowlevel.checkpoint()  # what other lists have read takes no wait
        if not self._left:
            return None
        page = await self._pager.read(self._left, CHUNK_BYTES)
        self._left -= page.count
        if not page.count or self._left < 0:
            raise AssertionError("a list is another one when it is read again")
        return page


async def read_pages(
    read: Callable[[int, int], Awaitable[Page]], limit: int, take: Callable[[Page], None]
) -> None:
    """Read pages up to a limit of items, at least one; to the end without a limit.

    Args:
        read: reads so many items and about so many bytes, see `paging.Pager.read`.
        limit: most items, 0 for all.
        take: called with each page.

    Raises:
        StoreError: the objects cannot be read.
    """
    count = 0
    while True:
        page = await read(limit - count if limit else 0, CHUNK_BYTES)
        count += page.count
        more = page.more
        take(page)
        del page
        if not more or (limit and count >= limit):
            return
        await trio.lowlevel.checkpoint()


def _size_of(page: Page) -> int:
    return len(page.body) + sum(len(item.value) for item in page.values)
