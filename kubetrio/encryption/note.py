"""What a store says of itself: which of its folders have had encrypted values.

A server that has lost its configuration reads it and refuses what it cannot decrypt.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import orjson

from kubetrio.store.model import KeyValue, Reading, Stamped

NOTE: Final = "/kubetrio/encrypted"
"""The key under which it says so."""


def note_of(folders: Iterable[str]) -> Stamped:
    """What is stored for some folders."""
    text = orjson.dumps({"folders": sorted(folders)})
    return Stamped(text[:-1] + b',"revision":', b"}")


def folders_in(note: KeyValue | None) -> frozenset[str]:
    """The folders of a note, none without one."""
    return frozenset(orjson.loads(note.value)["folders"]) if note else frozenset()


async def noted_folders(store: Reading) -> frozenset[str]:
    """Folders of a store that have had encrypted values.

    Raises:
        StoreError: it cannot be read.
    """
    return folders_in(await store.get(NOTE))
