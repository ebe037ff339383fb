"""States and changes of etcd as a store has them."""

from __future__ import annotations

import pytest

from kubetrio.store.cipher import UNREADABLE
from kubetrio.store.errors import Undecodable
from kubetrio.store.etcd import requests
from kubetrio.store.etcd.mapping import Mapping, RecentWrites, Translation
from kubetrio.store.etcd.unreadable import UnreadableState
from kubetrio.store.model import Event, EventType, KeyValue, Stamped
from kubetrio.testing.etcdstore import PlainKeys, PlainValues, Rot13, stored

BAD = b"no value"


class Values(PlainValues):
    """Values of which one cannot be read."""

    def from_etcd(self, key: str, data: bytes) -> Stamped:
        """See `mapping.Values`."""
        if data == BAD:
            raise Undecodable(f"{key} cannot be read")
        return super().from_etcd(key, data)


def reopen(complete: bytes) -> Stamped:
    before, _, rest = complete.partition(b"=")
    return Stamped(before + b"=", rest[rest.index(b";") :])


VALUE = Stamped(b"rev=", b";x")


@pytest.fixture
def translation() -> Translation:
    """Of keys under a prefix."""
    return Translation(Mapping(keys=PlainKeys(b"/t/"), values=Values(), reopen=reopen))


def kv(key: bytes, value: bytes, revision: int, created: int = 0) -> requests.KeyValue:
    return requests.KeyValue(key, value, revision, created or revision)


def change(
    made: requests.KeyValue, *, deleted: bool = False, before: requests.KeyValue | None = None
) -> requests.Event:
    return requests.Event(made, deleted=deleted, previous=before)


async def state(translation: Translation, one: requests.KeyValue) -> KeyValue | None:
    """The state of a key that is no encrypted one."""
    [found] = await translation.states([one])
    assert not isinstance(found, UnreadableState)
    return found


async def event(
    translation: Translation, made: requests.Event, before: KeyValue | None
) -> Event | None:
    """What is told of a change."""
    after = None if made.deleted else await state(translation, made.kv)
    return translation.event(made, after, before)


async def test_what_is_written_is_read_with_its_revision(translation: Translation) -> None:
    """The value has none in etcd; the key has the prefix."""
    name, data = await translation.to_etcd("a", VALUE)
    assert (name, data) == (b"/t/a", stored(VALUE))
    assert await state(translation, kv(name, data, 7, 5)) == KeyValue("a", b"rev=7;x", 7, 5)


async def test_what_is_no_key_of_the_store(translation: Translation) -> None:
    """Other prefixes, and the key that stands for fresh reads."""
    for key in (b"/other", translation.barrier):
        assert await state(translation, kv(key, stored(VALUE), 7)) is None
        assert await event(translation, change(kv(key, stored(VALUE), 7)), None) is None


async def test_changes(translation: Translation) -> None:
    """Created, updated, and deleted with the last state, stamped with the revision of that."""
    made = await event(translation, change(kv(b"/t/a", stored(VALUE), 5)), None)
    assert made == Event(5, "a", EventType.CREATED, b"rev=5;x", None)
    before = KeyValue("a", b"rev=5;x", 5, 5)
    assert await event(translation, change(kv(b"/t/a", stored(VALUE), 6, 5)), before) == Event(
        6, "a", EventType.UPDATED, b"rev=6;x", b"rev=5;x"
    )
    gone = change(kv(b"/t/a", b"", 7), deleted=True)
    assert await event(translation, gone, before) == Event(
        7, "a", EventType.DELETED, b"rev=7;x", b"rev=5;x"
    )
    assert await event(translation, gone, None) is None


async def test_what_cannot_be_converted_is_there(translation: Translation) -> None:
    """Its key is a key, and a list says why it fails without naming the key, as kube-apiserver."""
    bad = kv(b"/t/a", BAD, 6)
    [first] = await translation.states([bad])
    assert isinstance(first, UnreadableState)
    assert (first.key, first.kv, first.is_final) == ("a", bad, True)
    assert str(first.error) == str(first.listed) == "a cannot be read"
    assert translation.unreadable == {"a"}
    assert await state(translation, kv(b"/t/a", stored(VALUE), 7)) is not None
    assert translation.unreadable == set()


async def test_what_would_be_encoded_otherwise_is_stale() -> None:
    """In an old encoding, or an old version: an update that changes nothing writes it."""

    class Newer(PlainValues):
        def is_current(self, key: str, data: bytes) -> bool:
            """See `mapping.Values`."""
            return (key, data) != ("a", stored(VALUE))

    translation = Translation(Mapping(keys=PlainKeys(b"/t/"), values=Newer(), reopen=reopen))
    old, new = await translation.states(
        [kv(b"/t/a", stored(VALUE), 7), kv(b"/t/b", stored(VALUE), 8)]
    )
    assert isinstance(old, KeyValue)
    assert isinstance(new, KeyValue)
    assert (old.stale, new.stale) == (True, False)


async def test_what_cannot_be_decrypted_is_there(translation: Translation) -> None:
    """Without a cipher encrypted values are no values, but their keys are keys; others are read."""
    sealed = kv(b"/t/a", b"k8s:enc:aesgcm:v1:key:x", 6)
    first, second = await translation.states([sealed, kv(b"/t/b", stored(VALUE), 7)])
    assert isinstance(first, UnreadableState)
    assert (first.key, first.kv) == ("a", sealed)
    assert str(first.error) == UNREADABLE
    assert str(first.listed) == f'unable to transform key "/t/a": {UNREADABLE}'
    assert second == KeyValue("b", b"rev=7;x", 7, 7)
    assert translation.unreadable == {"a"}


async def test_what_would_be_stored_otherwise_is_stale() -> None:
    """A cipher says so of a value."""
    cipher = Rot13()
    translation = Translation(
        Mapping(keys=PlainKeys(b"/t/"), values=Values(), reopen=reopen, cipher=cipher)
    )
    _, data = await translation.to_etcd("a", VALUE)
    assert data.startswith(b"k8s:enc:rot:/t/a:")
    written, plain = await translation.states([kv(b"/t/a", data, 7), kv(b"/t/b", stored(VALUE), 8)])
    assert isinstance(written, KeyValue)
    assert isinstance(plain, KeyValue)
    assert (written.value, written.stale, plain.stale) == (b"rev=7;x", False, True)
    [moved] = await translation.states([kv(b"/t/elsewhere", data, 9)])
    assert isinstance(moved, UnreadableState)


def test_recent_writes_are_taken_once() -> None:
    """By key and bytes; protobuf alone, and so many bytes."""
    recent = RecentWrites(100)
    recent.put("a", b"k8s\0one", VALUE)
    recent.put("j", b'{"kind":"x"}', VALUE)
    assert recent.take("b", b"k8s\0one") is None
    assert recent.take("j", b'{"kind":"x"}') is None
    assert recent.take("a", b"k8s\0one") == VALUE
    assert recent.take("a", b"k8s\0one") is None
    for name in "abcdefgh":
        recent.put(name, b"k8s\0" + b"x" * 30, VALUE)
    kept = [name for name in "abcdefgh" if recent.take(name, b"k8s\0" + b"x" * 30)]
    assert kept == ["g", "h"]
