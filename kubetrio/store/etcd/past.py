"""What is older than a replica's own history, read from etcd while etcd has it."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from kubetrio.store import errors
from kubetrio.store.errors import EngineFailed
from kubetrio.store.etcd import errors as etcd
from kubetrio.store.etcd import requests
from kubetrio.store.etcd.client import Client
from kubetrio.store.etcd.mapping import Translation
from kubetrio.store.etcd.requests import Get, Ranged
from kubetrio.store.etcd.translating import translated
from kubetrio.store.etcd.unreadable import UnreadableState
from kubetrio.store.etcd.watching import WatchSettings
from kubetrio.store.model import (
    Event,
    KeyValue,
    Range,
    RangeResult,
    Revision,
)

PAGE_KEYS = 500
FIRST = 1
"""Revision of an empty etcd; 0 would mean the newest."""
EVENTS_MAX_S = 5.0
"""How long etcd has for the events before this replica's own history."""


class Past:
    """Reads at revisions of the past.

    Args:
        client: of etcd.
        translation: reads what etcd tells.

    Attributes:
        compacted: newest revision that etcd is known to have compacted.
    """

    def __init__(self, client: Client, translation: Translation) -> None:
        self._client = client
        self._translation = translation
        self._keys = translation.keys
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
        with translated():
            try:
                return await self._client.range(get)
            except etcd.Compacted as error:
                floor = max(error.revision, get.revision + 1)
                self.compacted = max(self.compacted, floor)
                raise errors.Compacted(get.revision, floor) from None

    async def _states(
        self, kvs: Sequence[requests.KeyValue], *, listed: bool = True
    ) -> list[KeyValue | None]:
        """Return states of keys.

        Raises:
            Unreadable: one cannot be read.
        """
        states: list[KeyValue | None] = []
        for state in await self._translation.states(kvs):
            if isinstance(state, UnreadableState):
                raise state.listed if listed else state.error
            states.append(state)
        return states

    async def get(self, key: str, at: Revision) -> KeyValue | None:
        """One key; raises as `Store.get`."""
        answer = await self._range(Get(key=self._keys.to_etcd(key), revision=max(at, FIRST)))
        states = await self._states(answer.kvs, listed=False)
        return states[0] if states else None

    async def range(self, keys: Range, at: Revision, limit: int, max_bytes: int) -> RangeResult:
        """Keys in order; raises as `Store.range`."""
        begin, end = self._keys.range_of(keys)
        items: list[KeyValue] = []
        size = 0
        while True:
            page = await self._range(
                Get(key=begin, end=end, limit=PAGE_KEYS, revision=max(at, FIRST))
            )
            for state in await self._states(page.kvs):
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
        self,
        after: Revision,
        upto: Revision,
        keys: Range | None,
        max_bytes: int,
        *,
        trusts_progress: bool,
    ) -> tuple[Sequence[Event], Revision]:
        """Events after a revision and up to another; raises as `Store.events`.

        Args:
            after: revision before the first of them.
            upto: last revision.
            keys: of which keys, None for all.
            max_bytes: as of `Store.events`.
            trusts_progress: whether etcd tells progress only after all changes before it; else
                the events end at one after `upto`, which must be there.
        """
        self._check(after)
        if keys is None or not trusts_progress:
            begin, end = self._keys.everything
        else:
            begin, end = self._keys.range_of(keys)
        settings = WatchSettings(key=begin, end=end, start_revision=after + 1)
        page = _Page(upto, max_bytes)
        with translated():
            try:
                with trio.move_on_after(EVENTS_MAX_S):
                    async with self._client.watch(settings) as watch:
                        watch.request_progress()
                        async for batch in watch:
                            await self._add(page, batch.events, keys)
                            if trusts_progress and batch.progress and batch.revision >= upto:
                                page.full = True
                            if page.full:
                                return page.events, page.upto
            except etcd.Compacted as error:
                self.compacted = max(self.compacted, error.revision)
                raise errors.Compacted(after, max(error.revision, after + 1)) from None
        text = "etcd does not tell its history in time"
        raise EngineFailed(text, timed_out=True, undecided=False)

    async def _add(
        self, page: _Page, changes: Sequence[requests.Event], keys: Range | None
    ) -> None:
        """Add what changes say of some keys, until the page is full.

        Raises:
            Unreadable: a state cannot be read.
        """
        for change in changes:
            if page.ends_before(change.kv.revision):
                return
            key = self._translation.key_of(change.kv)
            if key is None or (keys is not None and key not in keys):
                continue
            written = [] if change.deleted else [change.kv]
            before = [] if change.previous is None else [change.previous]
            states = await self._states([*written, *before])
            state = states[0] if written else None
            event = self._translation.event(change, state, states[-1] if before else None)
            if event is not None:
                page.add(event)


class _Page:
    """Events that are collected.

    Args:
        upto: last revision that is asked for.
        max_bytes: bytes of values after which the page ends, with a whole revision.

    Attributes:
        events: collected so far.
        upto: revision up to which they are complete, when the page is full.
        full: whether it is.
    """

    def __init__(self, upto: Revision, max_bytes: int) -> None:
        self.events: list[Event] = []
        self.upto = upto
        self.full = False
        self._left = max_bytes

    def ends_before(self, revision: Revision) -> bool:
        """Whether a revision is no part of the page, which is full then."""
        if revision > self.upto:
            self.full = True
        elif self._left <= 0 and self.events and revision != self.events[-1].revision:
            self.full, self.upto = True, self.events[-1].revision
        return self.full

    def add(self, event: Event) -> None:
        """Add one event."""
        self.events.append(event)
        self._left -= len(event.value)
