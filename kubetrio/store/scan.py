"""Reading all of a range, a page at a time."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from kubetrio.store.model import KeyValue, Range, Reading

PAGE_KEYS = 500


async def scan(store: Reading, keys: Range, page_keys: int = 0) -> AsyncGenerator[KeyValue, None]:
    """Every key of a range in order; each page is of the newest revision then.

    Args:
        store: where to read.
        keys: the range.
        page_keys: most keys that are read at a time; `PAGE_KEYS` when 0.
    """
    more = True
    while more:
        page = await store.range(keys, limit=page_keys or PAGE_KEYS)
        more = page.more
        for item in page.items:
            keys = keys.after(item.key)
            yield item
