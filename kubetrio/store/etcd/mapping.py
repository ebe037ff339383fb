"""What stands between the bytes of the store and those of etcd, and reads what etcd tells by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kubetrio.observe.logs import Log
from kubetrio.store.errors import Unreadable
from kubetrio.store.etcd import requests
from kubetrio.store.etcd.layout import Keys
from kubetrio.store.model import Event, EventType, KeyValue, Reopen, Revision, Stamped

LOG = Log("kubetrio.store")
BARRIER = b"\0barrier"
"""Behind the prefix, a key that is written where etcd's word on progress is not to be trusted."""


class Values(Protocol):
    """Converts values between the store's bytes and etcd's."""

    def to_etcd(self, key: str, value: Stamped) -> bytes:
        """What etcd has for a value.

        Raises:
            ValueError: a member does not fit its type.
        """
        ...

    def from_etcd(self, key: str, data: bytes) -> Stamped:
        """The value for what etcd has.

        Raises:
            Unreadable: it is no value that is known.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """What stands between the store and etcd.

    Args:
        keys: maps keys.
        values: converts values.
        reopen: opens the hole of complete bytes, so that deletions are stamped.
    """

    keys: Keys
    values: Values
    reopen: Reopen


class Translation:
    """States and changes of etcd as the store has them, now and of the past.

    Args:
        mapping: of keys and values.

    Attributes:
        keys: maps keys.
        barrier: a key of etcd that is no key of the store.
        unreadable: keys whose values cannot be read.
    """

    def __init__(self, mapping: Mapping) -> None:
        self.keys = mapping.keys
        self._values = mapping.values
        self._reopen = mapping.reopen
        self.barrier = mapping.keys.everything[0] + BARRIER
        self.unreadable: set[str] = set()

    def to_etcd(self, key: str, value: Stamped) -> tuple[bytes, bytes]:
        """Return the key and the value that etcd has.

        Raises:
            ValueError: a member of the value does not fit its type.
        """
        return self.keys.to_etcd(key), self._values.to_etcd(key, value)

    def _key(self, kv: requests.KeyValue) -> str | None:
        return None if kv.key == self.barrier else self.keys.from_etcd(kv.key)

    def state(self, kv: requests.KeyValue) -> KeyValue | None:
        """Return a key as the store has it, None for what is none of its, or cannot be read."""
        key = self._key(kv)
        if key is None:
            return None
        try:
            value = self._values.from_etcd(key, kv.value).at(kv.revision)
        except Unreadable as error:
            if key not in self.unreadable:
                self.unreadable.add(key)
                LOG.error(error, "a value of etcd cannot be read, and is left alone", key=key)
            return None
        self.unreadable.discard(key)
        return KeyValue(key, value, kv.revision, kv.create_revision)

    def event(self, change: requests.Event, before: KeyValue | None) -> Event | None:
        """Return a change as the store tells it, None where nothing of it changes.

        Args:
            change: what etcd tells.
            before: the key before it, as the store had it.
        """
        key = self._key(change.kv)
        if key is None:
            return None
        state = None if change.deleted else self.state(change.kv)
        revision = change.kv.revision
        if state is not None:
            kind = EventType.CREATED if before is None else EventType.UPDATED
            return Event(revision, key, kind, state.value, before.value if before else None)
        if before is None:
            return None  # it was not readable before
        return self.deletion(before, revision)  # what cannot be read is not there

    def deletion(self, last: KeyValue, revision: Revision) -> Event:
        """Return the deletion of a key, which has its last state with the revision of that."""
        value = self._reopen(last.value).at(revision)
        return Event(revision, last.key, EventType.DELETED, value, last.value)
