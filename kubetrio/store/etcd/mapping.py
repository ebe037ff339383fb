"""What stands between the bytes of the store and those of etcd, and reads what etcd tells by it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import trio

from kubetrio.observe.logs import Log
from kubetrio.store.cipher import Cipher, NoCipher, StoredValue
from kubetrio.store.errors import Unreadable
from kubetrio.store.etcd import requests
from kubetrio.store.etcd.layout import Keys
from kubetrio.store.etcd.unreadable import UnreadableState
from kubetrio.store.model import (
    Event,
    EventType,
    KeyValue,
    Reopen,
    Revision,
    Stale,
    Stamped,
)

LOG = Log("kubetrio.store")
BARRIER = b"\0barrier"
"""Behind the prefix, a key that is written where etcd's word on progress is not to be trusted."""
PROTOBUF = b"k8s\0"
"""Prefix of values in protobuf."""
RECENT_BYTES = 1 << 20
CONVERTED_AT_ONCE = 8
"""Values that are converted between two looks of the event loop at other tasks."""


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
            Undecodable: it is no value that is known.
        """
        ...

    def is_current(self, key: str, data: bytes) -> bool:
        """Whether a value that was read is in the encoding and version that are written."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """What stands between the store and etcd.

    Args:
        keys: maps keys.
        values: converts values.
        reopen: opens the hole of complete bytes, so that deletions are stamped.
        cipher: encrypts what etcd has.
    """

    keys: Keys
    values: Values
    reopen: Reopen
    cipher: Cipher = field(default_factory=NoCipher)


class RecentWrites:
    """Values that this replica has written, by what etcd has of them; each is taken once.

    A replica hears of its own writes, too, and need not convert them back.  Only protobuf is kept:
    the members of JSON come back in another order.

    Args:
        most: bytes of both forms that are kept; the oldest go first.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._values: OrderedDict[tuple[str, bytes], Stamped] = OrderedDict()

    def put(self, key: str, data: bytes, value: Stamped) -> None:
        """Keep a value that is about to be written."""
        if not data.startswith(PROTOBUF) or (key, data) in self._values:
            return
        self._values[key, data] = value
        self._size += _size(data, value)
        while self._size > self._most:
            (_, oldest), gone = self._values.popitem(last=False)
            self._size -= _size(oldest, gone)

    def take(self, key: str, data: bytes) -> Stamped | None:
        """Return a value, and forget it; None where it is not kept."""
        value = self._values.pop((key, data), None)
        if value is not None:
            self._size -= _size(data, value)
        return value


def _size(data: bytes, value: Stamped) -> int:
    return len(data) + len(value.before) + len(value.after)


class Translation:
    """States and changes of etcd as the store has them, now and of the past.

    A value that cannot be decrypted or converted is there, and reads of it fail: were it left out,
    its collection would look empty to controllers that fill it or clean up after it.

    Args:
        mapping: of keys and values.

    Attributes:
        keys: maps keys.
        cipher: encrypts what etcd has.
        barrier: a key of etcd that is no key of the store.
        unreadable: keys whose values cannot be read.
    """

    def __init__(self, mapping: Mapping) -> None:
        self.keys = mapping.keys
        self._values = mapping.values
        self._reopen = mapping.reopen
        self.cipher = mapping.cipher
        self.barrier = mapping.keys.everything[0] + BARRIER
        self.unreadable: set[str] = set()
        self._recent = RecentWrites(RECENT_BYTES)

    async def to_etcd(self, key: str, value: Stamped) -> tuple[bytes, bytes]:
        """Return the key and the value that etcd has.

        Raises:
            ValueError: a member of the value does not fit its type.
            Unreadable: it cannot be encrypted now.
        """
        name = self.keys.to_etcd(key)
        data = self._values.to_etcd(key, value)
        self._recent.put(key, data, value)
        return name, await self.cipher.encrypt(StoredValue(key, name, data))

    def key_of(self, kv: requests.KeyValue) -> str | None:
        """Return the store's key, None for what is none of its."""
        return None if kv.key == self.barrier else self.keys.from_etcd(kv.key)

    async def states(
        self, kvs: Sequence[requests.KeyValue]
    ) -> list[KeyValue | UnreadableState | None]:
        """Return keys as the store has them, in order.

        None stands for what is no key of the store.
        """
        keys = [self.key_of(kv) for kv in kvs]
        rows = [
            StoredValue(key, kv.key, kv.value)
            for key, kv in zip(keys, kvs, strict=True)
            if key is not None
        ]
        plain = iter(await self.cipher.decrypt(rows))
        states: list[KeyValue | UnreadableState | None] = []
        for place, (key, kv) in enumerate(zip(keys, kvs, strict=True), 1):
            if key is None:
                states.append(None)
                continue
            value = next(plain)
            if isinstance(value, Unreadable):
                self._log(key, value)
                states.append(UnreadableState(key, value, kv))
            else:
                states.append(self._state(key, kv, value.data, stale=value.stale))
            if place % CONVERTED_AT_ONCE == 0:
                await trio.lowlevel.checkpoint()
        return states

    def _state(
        self, key: str, kv: requests.KeyValue, data: bytes, *, stale: bool
    ) -> KeyValue | UnreadableState:
        try:
            stamped = self._recent.take(key, data) or self._values.from_etcd(key, data)
            value = stamped.at(kv.revision)
        except Unreadable as error:
            self._log(key, error)
            return UnreadableState(key, error, kv)
        self.unreadable.discard(key)
        stale = stale or not self._values.is_current(key, data)
        state_type = Stale if stale else KeyValue
        return state_type(key, value, kv.revision, kv.create_revision)

    def _log(self, key: str, error: Unreadable) -> None:
        if key not in self.unreadable:
            self.unreadable.add(key)
            LOG.error(error, "a value of etcd cannot be read, and is left alone", key=key)

    def event(
        self, change: requests.Event, state: KeyValue | None, before: KeyValue | None
    ) -> Event | None:
        """Return a change as the store tells it, None where nothing of it changes.

        Args:
            change: what etcd tells.
            state: the key after it (`states`), None for a deletion.
            before: the key before it, as the store had it.
        """
        key = self.key_of(change.kv)
        if key is None:
            return None
        revision = change.kv.revision
        if state is not None:
            kind = EventType.CREATED if before is None else EventType.UPDATED
            return Event(revision, key, kind, state.value, before.value if before else None)
        if before is None:
            return None  # it was not readable before
        return self.deletion(before, revision)

    def deletion(self, last: KeyValue, revision: Revision) -> Event:
        """Return the deletion of a key, which has its last state with the revision of that."""
        value = self._reopen(last.value).at(revision)
        return Event(revision, last.key, EventType.DELETED, value, last.value)
