"""Many values: where they are decrypted, and that a key is asked for once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar, TypeVarTuple, Unpack

from kubetrio.encryption.decrypting import INLINE_BYTES, Decrypter
from kubetrio.encryption.transformers import (
    Identity,
    KeyWanted,
    Prefixed,
    Providers,
    TransformError,
    UnfetchedKeys,
)
from kubetrio.env import seeded
from kubetrio.store.cipher import Plain, StoredValue

Args = TypeVarTuple("Args")
Found = TypeVar("Found")


class Fetched(Identity):
    """Values that need a key, which can be fetched or not."""

    def __init__(self, *, there: bool) -> None:
        self.there = there
        self.asked = 0
        self.has = False

    async def fetch(self) -> None:
        """Get the key."""
        self.asked += 1
        if not self.there:
            raise TransformError("the key is gone")
        self.has = True

    def open(self, data: bytes, path: bytes, refused: UnfetchedKeys) -> Plain:
        """See `Transformer.open`."""
        if b"key" in refused:
            raise refused[b"key"]
        if not self.has:
            raise KeyWanted(b"key", self.fetch)
        return Plain(data + path, stale=False)


def rows(size: int = 1) -> list[StoredValue]:
    return [StoredValue(key, f"/{key}".encode(), b"x:" + b"v" * size) for key in ("a", "b", "c")]


async def test_a_key_is_fetched_once() -> None:
    """For all values that need it; what no provider has is as it is."""
    wanted = Fetched(there=True)
    providers = Providers([Prefixed(b"x:", wanted)])
    decrypter = Decrypter(lambda key: None if key == "b" else providers, seeded(1))
    assert await decrypter.open_all(rows()) == [
        Plain(b"v/a", stale=False),
        Plain(b"x:v", stale=False),
        Plain(b"v/c", stale=False),
    ]
    assert wanted.asked == 1


async def test_a_key_that_cannot_be_fetched() -> None:
    """Each value that needs it says why, and it is not asked for again."""
    wanted = Fetched(there=False)
    providers = Providers([Prefixed(b"x:", wanted)])
    found = await Decrypter(lambda _: providers, seeded(1)).open_all(rows())
    assert [str(each) for each in found] == ["the key is gone"] * 3
    assert wanted.asked == 1


async def test_much_is_decrypted_in_a_thread() -> None:
    """The event loop is not kept from other tasks."""
    calls = 0
    env = seeded(1)

    async def counted(fn: Callable[[Unpack[Args]], Found], *args: *Args) -> Found:
        nonlocal calls
        calls += 1
        return fn(*args)

    wanted = Fetched(there=True)
    providers = Providers([Prefixed(b"x:", wanted)])
    decrypter = Decrypter(lambda _: providers, replace(env, run_blocking=counted))
    await decrypter.open_all(rows())
    assert calls == 0
    wanted.has = False
    assert len(await decrypter.open_all(rows(INLINE_BYTES))) == 3
    assert calls == 2  # before the key was there, and with it
