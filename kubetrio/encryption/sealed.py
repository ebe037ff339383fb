"""A store that encrypts on the way to another one, and decrypts on the way back.

It stands in front of an engine, which sees bytes as before: it fills the hole of a value with the
revision by calling `Stamped.at`, and that is where the value is encrypted, complete.  So what is in
memory above the engine (events, the window of watches, answers) is plain, and what the engine has
(the file, its log, its cache of recent objects) is encrypted.

Collections that the configuration does not name go straight through, joins inside SQLite included.
In which collections there were ever encrypted values is noted in the store itself
(`encryption.note`), so that a server which has lost its configuration refuses them instead of
answering with gibberish.

Source: k8s.io/apiserver/pkg/storage/etcd3/store.go, which calls its transformer at these places.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Self

import trio

from kubetrio.encryption.decrypting import INLINE_BYTES, Decrypter
from kubetrio.encryption.folders import Folders
from kubetrio.encryption.note import NOTE, folders_in, note_of
from kubetrio.encryption.sealing import Sealed, SealedTogether, SealedUpdates, answered
from kubetrio.encryption.transformers import (
    Identity,
    KeyWanted,
    Prefixed,
    Providers,
    TransformError,
)
from kubetrio.env import Env
from kubetrio.gotext.text import quote
from kubetrio.machinery.names import GroupResource
from kubetrio.observe.logs import Log
from kubetrio.store.announcing import CommitHooks
from kubetrio.store.cipher import ENCRYPTED, UNREADABLE, Plain, StoredValue
from kubetrio.store.errors import LostCompareAndSwap
from kubetrio.store.model import (
    CommitHook,
    Event,
    EventType,
    Gap,
    GapHook,
    JoinResult,
    KeyValue,
    ProgressHook,
    Range,
    RangeResult,
    Reopen,
    Revision,
    Rewinding,
    Stale,
    Stamped,
    Store,
    Updating,
)
from kubetrio.store.statistics import StoreStatistics

LOG = Log("kubetrio.encryption")

REMEMBERED_BYTES = 4 * 1024 * 1024  # of plain values, for the events that are about them
Resolve = Callable[[GroupResource], Providers | None]
"""What stores a resource; None for what is stored as it is."""


class _Remembered:
    """Plain values by what they are stored as, bounded in bytes; the oldest go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._values: OrderedDict[tuple[str, bytes], bytes] = OrderedDict()

    def put(self, key: str, stored: bytes, plain: bytes) -> None:
        if (key, stored) in self._values:
            return
        self._values[key, stored] = plain
        self._size += len(stored) + len(plain)
        while self._size > self._most:
            (_, old), value = self._values.popitem(last=False)
            self._size -= len(old) + len(value)

    def get(self, key: str, stored: bytes) -> bytes | None:
        return self._values.get((key, stored))

    def clear(self) -> None:
        self._values.clear()
        self._size = 0


class EncryptingStore:
    """Another store, with some of its values encrypted.  Follows `store.model.Store`.

    Args:
        store: where values are kept.
        folders: which resource a key is of.
        resolve: what stores a resource.
        reopen: complete plain bytes with the hole for the revision open again.
        env: randomness and threads.
        noted: folders that have had encrypted values, as `noted_folders` found them.
    """

    def __init__(
        self,
        store: Store,
        folders: Folders,
        resolve: Resolve,
        reopen: Reopen,
        env: Env,
        noted: frozenset[str] = frozenset(),
    ) -> None:
        self._store = store
        self._folders = folders
        self._resolve = resolve
        self._reopen = reopen
        self._env = env
        self._noted = noted
        self._noting = trio.Lock()
        self._known: dict[str, Providers | None] = {}
        self._plain = _Remembered(REMEMBERED_BYTES)
        self._hooks = CommitHooks()
        self._progress_hooks: list[ProgressHook] = []
        self._decrypter = Decrypter(self._providers, env)
        self._updates = SealedUpdates(store, self._sealed)
        store.on_commit(self._committed)
        store.on_gap(self._skipped)

    def use(self, resolve: Resolve) -> None:
        """Store by another configuration from now on."""
        self._resolve = resolve
        self._known.clear()
        self._plain.clear()

    # ------------------------------------------------------------------ what is encrypted

    def _providers(self, key: str) -> Providers | None:
        folder = self._folders.folder_of(key)
        try:
            return self._known[folder]
        except KeyError:
            pass
        resource = self._folders.resource_of(folder)
        providers = self._resolve(resource) if resource is not None else None
        if providers is None and folder in self._noted:
            providers = Providers([Prefixed(b"", Identity())], UNREADABLE)
        if len(self._known) > 4096:  # clients can name folders that are not there
            self._known.clear()
        self._known[folder] = providers
        return providers

    def _clear(self, keys: Range) -> bool:
        """Whether all of a range is in one collection that is stored as it is."""
        folder = self._folders.folder_of(keys.start)
        if not folder or keys.end > folder[:-1] + "0":
            return False
        return self._providers(keys.start) is None

    async def _note(self, key: str) -> None:
        """Have the store say that the folder of a key has encrypted values."""
        folder = self._folders.folder_of(key)
        if folder in self._noted:
            return
        async with self._noting:
            while folder not in self._noted:
                item = await self._store.get(NOTE)
                noted = folders_in(item) | {folder}
                value = note_of(noted)
                try:
                    if item is None:
                        await self._store.create(NOTE, value)
                    else:
                        await self._store.update(NOTE, value, expected=item.revision)
                except LostCompareAndSwap as lost:
                    await self._store.caught_up(lost.winner)
                    continue
                self._noted = noted

    async def _sealed(self, key: str, value: Stamped) -> Stamped:
        """A value as the engine is to store it.

        Raises:
            TransformError: nothing can be encrypted now.
        """
        providers = self._providers(key)
        if providers is None or providers.writes_plain:
            return value
        await self._note(key)
        nonce = self._env.rng.randbytes(providers.nonce_bytes)
        size = len(value.before) + len(value.after)
        path = key.encode()
        if size > INLINE_BYTES:
            seal = await self._env.run_blocking(providers.seal, path, nonce, size)
        else:
            seal = providers.seal(path, nonce, size)

        def seal_and_remember(data: bytes) -> bytes:
            stored = seal(data)
            self._plain.put(key, stored, data)
            return stored

        return Sealed.of(value, seal_and_remember)

    async def _opened(self, rows: Sequence[tuple[str, bytes]]) -> list[Plain | TransformError]:
        """What stored values mean, or why that cannot be told."""
        return await self._decrypter.open_all(
            [StoredValue(key, key.encode(), stored) for key, stored in rows]
        )

    # ------------------------------------------------------------------ reads

    async def get(self, key: str, *, at: Revision | None = None) -> KeyValue | None:
        """One key; see `Store.get`."""
        item = await self._store.get(key, at=at)
        if item is None or self._providers(key) is None:
            return item
        (plain,) = await self._opened([(key, item.value)])
        if isinstance(plain, TransformError):
            raise plain
        if at is None and plain.data is not item.value:
            self._plain.put(key, item.value, plain.data)
        return _shown(item, plain)

    async def _items(self, items: Sequence[KeyValue]) -> Sequence[KeyValue]:
        opened = await self._opened([(item.key, item.value) for item in items])
        shown: list[KeyValue] = []
        for item, plain in zip(items, opened, strict=True):
            if isinstance(plain, TransformError):
                raise _of_key(item.key, plain)
            shown.append(_shown(item, plain))
        return shown

    async def range(
        self, keys: Range, *, at: Revision | None = None, limit: int = 0, max_bytes: int = 0
    ) -> RangeResult:
        """Keys in order; see `Store.range`."""
        page = await self._store.range(keys, at=at, limit=limit, max_bytes=max_bytes)
        if self._clear(keys) or not page.items:
            return page
        items = list(await self._items(page.items))
        # The bound is one of plain bytes, and these are fewer than what is stored.
        while page.more and max_bytes and not 0 < limit <= len(items):
            left = max_bytes - sum(len(item.value) for item in items)
            if left <= 0:
                break
            page = await self._store.range(
                keys.after(items[-1].key),
                at=page.revision,
                limit=limit and limit - len(items),
                max_bytes=left,
            )
            items += await self._items(page.items)
        return RangeResult(page.revision, items, page.more)

    async def join(
        self,
        keys: Range,
        *,
        skip: int,
        separator: bytes,
        at: Revision | None = None,
        limit: int = 0,
        max_bytes: int,
    ) -> JoinResult:
        """Values as one piece of bytes; see `Store.join`."""
        if self._clear(keys):
            return await self._store.join(
                keys, skip=skip, separator=separator, at=at, limit=limit, max_bytes=max_bytes
            )
        page = await self.range(keys, at=at, limit=limit, max_bytes=max_bytes)
        sizes = itertools.accumulate(len(item.value) for item in page.items)
        fit = max(1, sum(size <= max_bytes for size in sizes))
        items = page.items[:fit]
        return JoinResult(
            page.revision,
            separator.join(item.value[skip:] for item in items),
            len(items),
            items[-1].key if items else "",
            page.more or len(items) < len(page.items),
        )

    async def count(self, keys: Range, *, at: Revision | None = None) -> int:
        """Number of keys; see `Store.count`."""
        return await self._store.count(keys, at=at)

    async def events(
        self, *, after: Revision, keys: Range | None = None, max_bytes: int
    ) -> tuple[Sequence[Event], Revision]:
        """Events after a revision; see `Store.events`."""
        events, upto = await self._store.events(after=after, keys=keys, max_bytes=max_bytes)
        if not events or (keys is not None and self._clear(keys)):
            return events, upto
        rows = [
            (event.key, stored)
            for event in events
            for stored in (event.value, event.previous)
            if stored is not None
        ]
        opened = iter(await self._opened(rows))
        shown: list[Event] = []
        for event in events:
            plain = next(opened)
            before = next(opened) if event.previous is not None else None
            for one in (plain, before):
                if isinstance(one, TransformError):
                    raise _of_key(event.key, one)
            if isinstance(plain, Plain) and not isinstance(before, TransformError):
                shown.append(self._event(event, plain.data, before and before.data))
        return shown, upto

    def _event(self, event: Event, value: bytes, previous: bytes | None) -> Event:
        """An event with plain bytes."""
        if event.type is EventType.DELETED and value is not event.value:
            # What is deleted stays as it was encrypted, the old revision inside.
            value = self._reopen(value).at(event.revision)
        return event._replace(value=value, previous=previous)

    # ------------------------------------------------------------------ writes

    async def create(self, key: str, value: Stamped, *, ttl_s: float = 0.0) -> KeyValue:
        """Write a new key; see `Store.create`."""
        sealed = await self._sealed(key, value)
        return answered(value, await self._store.create(key, sealed, ttl_s=ttl_s))

    async def update(
        self, key: str, value: Stamped, *, expected: Revision, ttl_s: float = 0.0
    ) -> KeyValue:
        """Replace a key; see `Store.update`."""
        return await self._updates.update(key, value, expected=expected, ttl_s=ttl_s)

    async def delete(self, key: str, *, expected: Revision) -> Revision:
        """Delete a key; see `Store.delete`.  Its last state stays as it was encrypted."""
        return await self._store.delete(key, expected=expected)

    @property
    def freeing(self) -> Updating:
        """Updates that lead to a deletion; see `Store.freeing`."""
        return SealedUpdates(self._store.freeing, self._sealed)

    @property
    def rewinding(self) -> Rewinding | None:
        """Writing of several keys at once; see `Store.rewinding`."""
        several = self._store.rewinding
        return several and SealedTogether(several, self._sealed)

    # ------------------------------------------------------------------ what happens

    def on_commit(self, hook: CommitHook) -> None:
        """Add a listener of the commit stream; it hears of plain values."""
        self._hooks.add(hook)

    def on_progress(self, hook: ProgressHook) -> None:
        """Add a listener of progress; see `Store.on_progress`."""
        self._progress_hooks.append(hook)
        self._store.on_progress(hook)

    def on_gap(self, hook: GapHook) -> None:
        """Add a listener of gaps in history; it hears of plain values."""
        self._hooks.add_gap(hook)

    def _skipped(self, gap: Gap) -> None:
        changes = [plain for each in gap.changes if (plain := self._announced(each)) is not None]
        self._hooks.tell_gap(gap._replace(changes=changes))

    def _committed(self, events: Sequence[Event]) -> None:
        shown = events
        if any(self._providers(event.key) is not None for event in events):
            shown = [plain for event in events if (plain := self._announced(event)) is not None]
        if shown:
            self._hooks.tell(shown)
        if not shown or shown[-1].revision != events[-1].revision:
            for progress in self._progress_hooks:
                progress(events[-1].revision)

    def _announced(self, event: Event) -> Event | None:
        """An event with plain bytes; None, and a word in the log, if it cannot be read.

        A writer has read what was there, so only a value whose time to live is over can be
        unreadable here, and then it was unreadable to its readers.
        """
        if self._providers(event.key) is None:
            return event
        try:
            value = self._known_plain(event.key, event.value)
            previous = event.previous and self._known_plain(event.key, event.previous)
            return self._event(event, value, previous)
        except (TransformError, KeyWanted) as error:
            LOG.error(error, "A change cannot be told to watchers", key=event.key)
            return None
        except Exception as error:  # noqa: BLE001  (logged; others of the commit are told)
            LOG.error(error, "A change cannot be told to watchers", stack=True, key=event.key)
            return None

    def _known_plain(self, key: str, stored: bytes) -> bytes:
        if not stored.startswith(ENCRYPTED):
            return stored
        if (known := self._plain.get(key, stored)) is not None:
            return known
        done: list[Plain | TransformError] = []
        self._decrypter.open_some([StoredValue(key, key.encode(), stored)], done, {})
        if isinstance(done[0], TransformError):
            raise done[0]
        return done[0].data

    # ------------------------------------------------------------------ the rest

    @property
    def revision(self) -> Revision:
        """Newest revision announced."""
        return self._store.revision

    @property
    def compacted(self) -> Revision:
        """Newest compacted revision."""
        return self._store.compacted

    @property
    def engine(self) -> Store:
        """Where values are kept."""
        return self._store

    @property
    def shared(self) -> bool:
        """Whether others write to the engine; see `Store.shared`."""
        return self._store.shared

    @property
    def cached(self) -> Self:
        """Local state, decrypted: nothing here asks how old it is."""
        return self

    async def newest(self) -> Revision:
        """Newest revision; see `Store.newest`."""
        return await self._store.newest()

    async def caught_up(self, revision: Revision) -> None:
        """Wait for a revision; see `Store.caught_up`."""
        await self._store.caught_up(revision)

    async def probe(self, limit_s: float) -> None:
        """Ask the engine; see `Store.probe`."""
        await self._store.probe(limit_s)

    async def compact(self, to: Revision) -> None:
        """Forget what is older than a revision; see `Store.compact`."""
        await self._store.compact(to)

    def statistics(self) -> StoreStatistics:
        """Numbers of the engine, and of the listeners that are told here."""
        engine = self._store.statistics()
        failed = engine.failed_listeners + self._hooks.failures
        return dataclasses.replace(engine, failed_listeners=failed)


def _shown(item: KeyValue, plain: Plain) -> KeyValue:
    if plain.stale:
        return Stale(item.key, plain.data, item.revision, item.create_revision)
    return item if plain.data is item.value else item._replace(value=plain.data)


def _of_key(key: str, error: TransformError) -> TransformError:
    return TransformError(f"unable to transform key {quote(key)}: {error}", error.code)
