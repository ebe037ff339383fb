"""`kubetrio.encryption.sealing`: values that are encrypted when their revision is known."""

from __future__ import annotations

from kubetrio.encryption.sealing import Sealed, SealedTogether, SealedUpdates, answered
from kubetrio.store.model import Change, EventType, KeyValue, Stamped
from kubetrio.testing.store_model import MemoryStore

PLAIN = Stamped(b"<", b">")


def seal(plain: bytes) -> bytes:
    """Stands for a cipher."""
    return b"sealed" + plain[::-1]


async def sealed(key: str, value: Stamped) -> Stamped:
    """What the store of the tests encrypts every value to."""
    assert key
    return Sealed.of(value, seal)


def test_a_value_is_encrypted_with_its_revision_inside() -> None:
    """The plain bytes are complete by then, and no hole is left."""
    value = Sealed.of(PLAIN, seal)
    assert value.at(7) == b"sealed>7<"
    assert value.hole == -1


def test_a_writer_is_answered_plain_bytes() -> None:
    """With the revision that the engine gave."""
    stored = KeyValue("a", b"sealed>7<", 7, 3)
    assert answered(PLAIN, stored) == KeyValue("a", b"<7>", 7, 3)


async def test_updates_reach_the_engine_encrypted() -> None:
    """Those that lead to a deletion, too."""
    store = MemoryStore()
    first = (await store.create("a", PLAIN)).revision
    updated = await SealedUpdates(store.freeing, sealed).update("a", PLAIN, expected=first)
    assert updated.value == PLAIN.at(updated.revision)
    assert store.state()["a"].value == seal(updated.value)


async def test_several_writes_reach_the_engine_encrypted() -> None:
    """Deletions have no value that could be."""
    store = MemoryStore()
    first = (await store.create("a", PLAIN)).revision
    assert store.rewinding is not None
    changes = [
        Change(EventType.DELETED, "a", None, first),
        Change(EventType.CREATED, "b", PLAIN, 0),
    ]
    await SealedTogether(store.rewinding, sealed).write_all(changes)
    assert {key: item.value for key, item in store.state().items()} == {"b": b"sealed>3<"}
