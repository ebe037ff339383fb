"""What is older than a replica's own history, read from etcd while etcd has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import trio

from kubetrio.store import errors
from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.etcd import errors as etcd
from kubetrio.store.etcd import requests
from kubetrio.store.etcd.client import Client
from kubetrio.store.etcd.errors import EtcdError
from kubetrio.store.etcd.layout import Keys
from kubetrio.store.etcd.requests import Get, Ranged
from kubetrio.store.etcd.watching import WatchSettings
from kubetrio.store.model import (
    Event,
    EventType,
    KeyValue,
    Range,
    RangeResult,
    Reopen,
    Revision,
    Stamped,
)

PAGE_KEYS = 500
FIRST = 1
"""Revision of an empty etcd; 0 would mean the newest."""
EVENTS_MAX_S = 5.0
"""How long etcd has for the events before this replica's own history."""


class Reader(Protocol):
    """Reads values of etcd."""

    def from_etcd(self, key: str, data: bytes) -> Stamped:
        """The value for what etcd has."""
        ...


class Past:
    """Reads at revisions of the past.

    Args:
        client: of etcd.
        keys: maps keys.
        values: reads values.
        reopen: opens the hole of complete bytes, so that deletions are stamped.

    Attributes:
        compacted: newest revision that etcd is known to have compacted.
    """

    def __init__(self, client: Client, keys: Keys, values: Reader, reopen: Reopen) -> None:
        self._client = client
        self._keys = keys
        self._values = values
        self._reopen = reopen
        self.compacted: Revision = 0

    def _check(self, at: Revision) -> None:
        """Refuse what is known to be compacted.

        Raises:
            Compacted: it is.
        """
        if at < self.compacted:
            raise errors.Compacted(at, self.compacted)

    async def _range(self, get: Get) -> Ranged:
        self._check(get.revision)
        try:
            return await self._client.range(get)
        except etcd.Compacted as error:
            floor = max(error.revision, get.revision + 1)
            self.compacted = max(self.compacted, floor)
            raise errors.Compacted(get.revision, floor) from None
        except EtcdError as error:
            raise StoreUnavailable(str(error)) from error

    def _state(self, kv: requests.KeyValue) -> KeyValue | None:
        key = self._keys.from_etcd(kv.key)
        if key is None:
            return None
        value = self._values.from_etcd(key, kv.value).at(kv.revision)
        return KeyValue(key, value, kv.revision, kv.create_revision)

    async def get(self, key: str, at: Revision) -> KeyValue | None:
        """One key; raises as `Store.get`."""
        answer = await self._range(Get(key=self._keys.to_etcd(key), revision=max(at, FIRST)))
        return self._state(answer.kvs[0]) if answer.kvs else None

    async def range(self, keys: Range, at: Revision, limit: int, max_bytes: int) -> RangeResult:
        """Keys in order; raises as `Store.range`."""
        begin, end = self._keys.range_of(keys)
        items: list[KeyValue] = []
        size = 0
        while True:
            page = await self._range(
                Get(key=begin, end=end, limit=PAGE_KEYS, revision=max(at, FIRST))
            )
            for kv in page.kvs:
                state = self._state(kv)
                if state is None:
                    continue
                if (limit and len(items) == limit) or (max_bytes and size >= max_bytes):
                    return RangeResult(at, items, more=True)
                items.append(state)
                size += len(state.value)
            if not page.more or not page.kvs:
                return RangeResult(at, items, more=False)
            begin = page.kvs[-1].key + b"\0"

    async def count(self, keys: Range, at: Revision) -> int:
        """Number of keys; raises as `Store.count`."""
        begin, end = self._keys.range_of(keys)
        return (
            await self._range(Get(key=begin, end=end, revision=max(at, FIRST), count_only=True))
        ).total

    async def events(
        self, after: Revision, upto: Revision, keys: Range | None, max_bytes: int
    ) -> tuple[Sequence[Event], Revision]:
        """Events after a revision and up to another; raises as `Store.events`."""
        self._check(after)
        begin, end = self._keys.everything if keys is None else self._keys.range_of(keys)
        settings = WatchSettings(key=begin, end=end, start_revision=after + 1)
        chosen: list[Event] = []
        size = 0
        try:
            with trio.move_on_after(EVENTS_MAX_S):
                async with self._client.watch(settings) as watch:
                    watch.request_progress()
                    async for batch in watch:
                        for change in batch.events:
                            if change.kv.revision > upto:
                                return chosen, upto
                            if size >= max_bytes and change.kv.revision != chosen[-1].revision:
                                return chosen, chosen[-1].revision
                            event = self._event(change)
                            if event is not None:
                                chosen.append(event)
                                size += len(event.value)
                        if batch.progress and batch.revision >= upto:
                            return chosen, upto
        except etcd.Compacted as error:
            self.compacted = max(self.compacted, error.revision)
            raise errors.Compacted(after, max(error.revision, after + 1)) from None
        except EtcdError as error:
            raise StoreUnavailable(str(error)) from error
        raise StoreUnavailable("etcd does not tell its history in time")

    def _event(self, change: requests.Event) -> Event | None:
        key = self._keys.from_etcd(change.kv.key)
        if key is None:
            return None
        revision = change.kv.revision
        before = self._state(change.previous) if change.previous is not None else None
        previous = before.value if before is not None else None
        if change.deleted:
            if before is None:
                return None
            last = self._reopen(before.value).at(revision)
            return Event(revision, key, EventType.DELETED, last, previous)
        state = self._state(change.kv)
        if state is None:
            return None
        kind = EventType.CREATED if before is None else EventType.UPDATED
        return Event(revision, key, kind, state.value, previous)
