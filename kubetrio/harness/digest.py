"""A digest of all that is stored, to compare two stores."""

from __future__ import annotations

from hashlib import sha256

from kubetrio.store.model import Range, Reading

EVERYTHING = Range("/", "0")  # "0" is the character after "/"
PAGE_KEYS = 500


async def digest(store: Reading) -> str:
    """Return a SHA-256 digest over keys, values and revisions of the newest state, in hex.

    Args:
        store: that no other task writes to meanwhile.
    """
    hashed, keys, more = sha256(), EVERYTHING, True
    while more:
        page = await store.range(keys, limit=PAGE_KEYS)
        for item in page.items:
            head = f"{item.key} {item.create_revision} {item.revision} {len(item.value)}\n"
            hashed.update(head.encode() + item.value)
            keys = keys.after(item.key)
        more = page.more
    return hashed.hexdigest()
