"""States and changes of etcd as a store has them."""

from __future__ import annotations

import pytest

from kubetrio.store.errors import Unreadable
from kubetrio.store.etcd import requests
from kubetrio.store.etcd.mapping import Mapping, Translation
from kubetrio.store.model import Event, EventType, KeyValue, Stamped
from kubetrio.testing.etcdstore import PlainKeys, PlainValues, stored

BAD = b"no value"


class Values(PlainValues):
    """Values of which one cannot be read."""

    def from_etcd(self, key: str, data: bytes) -> Stamped:
        """See `mapping.Values`."""
        if data == BAD:
            raise Unreadable(f"{key} cannot be read")
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


def test_what_is_written_is_read_with_its_revision(translation: Translation) -> None:
    """The value has none in etcd; the key has the prefix."""
    name, data = translation.to_etcd("a", VALUE)
    assert (name, data) == (b"/t/a", stored(VALUE))
    assert translation.state(kv(name, data, 7, 5)) == KeyValue("a", b"rev=7;x", 7, 5)


def test_what_is_no_key_of_the_store(translation: Translation) -> None:
    """Other prefixes, and the key that stands for fresh reads."""
    for key in (b"/other", translation.barrier):
        assert translation.state(kv(key, stored(VALUE), 7)) is None
        assert translation.event(change(kv(key, stored(VALUE), 7)), None) is None


def test_changes(translation: Translation) -> None:
    """Created, updated, and deleted with the last state, stamped with the revision of that."""
    made = translation.event(change(kv(b"/t/a", stored(VALUE), 5)), None)
    assert made == Event(5, "a", EventType.CREATED, b"rev=5;x", None)
    before = KeyValue("a", b"rev=5;x", 5, 5)
    assert translation.event(change(kv(b"/t/a", stored(VALUE), 6, 5)), before) == Event(
        6, "a", EventType.UPDATED, b"rev=6;x", b"rev=5;x"
    )
    gone = change(kv(b"/t/a", b"", 7), deleted=True)
    assert translation.event(gone, before) == Event(
        7, "a", EventType.DELETED, b"rev=7;x", b"rev=5;x"
    )
    assert translation.event(gone, None) is None


def test_what_cannot_be_read_is_left_out(translation: Translation) -> None:
    """It is counted, its coming is the deletion of what was readable, and its going is no event."""
    bad = kv(b"/t/a", BAD, 6)
    assert translation.state(bad) is None
    assert translation.unreadable == {"a"}
    assert translation.event(change(bad), None) is None
    before = KeyValue("a", b"rev=5;x", 5, 5)
    seen = translation.event(change(bad), before)
    assert seen == Event(6, "a", EventType.DELETED, b"rev=6;x", b"rev=5;x")
    assert translation.state(kv(b"/t/a", stored(VALUE), 7)) is not None
    assert translation.unreadable == set()
