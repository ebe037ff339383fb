"""The SQLite store: reads, writes, the commit stream.

What is read on the event loop is what was announced: the reader keeps its snapshot while a commit
is in flight (`store.sqlite.commits`).  Reads elsewhere, which may have seen more, wait until that
landed.  With a journal, readers use the writing connection (`store.sqlite.journaling`), one after
the other, and wait for a commit that is in flight before they read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path
from typing import NoReturn, Self, TypeVar, TypeVarTuple

import apsw
import trio

from kubetrio.env import Env
from kubetrio.observe.logs import Log
from kubetrio.runtime.supervise import run_forever_with_backoff
from kubetrio.store.announcing import CommitHooks
from kubetrio.store.arrivals import Arrivals, SoleWriter
from kubetrio.store.errors import StoreClosed, StoreError, StoreUnavailable
from kubetrio.store.model import (
    Change,
    CommitHook,
    Event,
    JoinResult,
    KeyValue,
    ProgressHook,
    Range,
    RangeResult,
    Revision,
    Stamped,
    Updating,
)
from kubetrio.store.past import Past
from kubetrio.store.sqlite import database
from kubetrio.store.sqlite.checksums import Damage
from kubetrio.store.sqlite.clock import Clock
from kubetrio.store.sqlite.commits import Commits
from kubetrio.store.sqlite.errors import StoreBroken
from kubetrio.store.sqlite.flights import Holding
from kubetrio.store.sqlite.freeing import FreeingWrites
from kubetrio.store.sqlite.head import Head, note_stop
from kubetrio.store.sqlite.leases import Leases
from kubetrio.store.sqlite.maintenance import Maintenance
from kubetrio.store.sqlite.prober import Prober
from kubetrio.store.sqlite.reader import Reader
from kubetrio.store.sqlite.recent import Recent
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.store.sqlite.space import Space
from kubetrio.store.sqlite.sync import FileSync
from kubetrio.store.sqlite.writer import Writer
from kubetrio.store.statistics import CacheFill, Gauge, StoreStatistics

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

LOG = Log("kubetrio.store")

INLINE_KEYS = 150  # a page of so many values is read on the event loop
INLINE_READ_BYTES = 768 * 1024  # if they are no larger: a value of a megabyte takes 2 ms and more
COUNTED_INLINE = 2000  # keys that are counted there: 0.1 ms
EVENT_BYTES_INLINE = 256 * 1024
FULL = "the disk is full: only deletions are taken"
PROBED_KEY = "/registry/health"  # what kube-apiserver asks etcd for; never written
EXPIRED_BYTES = 128 * 1024  # of values that go in one transaction
UNREADABLE = (apsw.Error, UnicodeDecodeError)  # the latter of keys whose bytes are damaged
READERS = 2  # threads that read long ranges at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteStatistics(StoreStatistics):
    """Numbers of this engine.

    Args:
        commits: transactions committed since start.
        largest_batch: most writes that shared one transaction.
    """

    commits: int
    largest_batch: int


class SqliteStore(SoleWriter):
    """The embedded store; made by `open_store`.  Follows `store.model.Store`."""

    def __init__(
        self,
        directory: Path,
        config: StoreConfig,
        env: Env,
        writer: Writer,
        readers: Sequence[Reader],
        copier: apsw.Connection,
        sync: FileSync | None,
        space: Space,
        head: Head,
        damage: Damage,
    ) -> None:
        self._path = directory / database.FILE_NAME
        self._env = env
        self._writer = writer
        # The last one is of its own: a health check waits for no long read.
        self._reader, *self._long_readers, self._probing = readers
        self._reader.keep(True)
        self._shared = self._reader.shared
        self._copier = copier
        self._long_slots = trio.Semaphore(READERS, max_value=READERS)
        self._prober = Prober(self._read_and_settle)
        self.arrivals = Arrivals(writer.revision)
        self._clock = Clock(writer.newest_ms, int(env.now() * 1000))
        # Of the connection; no lock, since who takes it need not be who gives it back.
        self._writer_slot = trio.Semaphore(1, max_value=1)
        self._commits = Commits(
            writer,
            env,
            self._writer_slot,
            sync,
            space,
            self._clock,
            before_commit=self._reader.hold,
            announce=self._announce,
            holding=Holding(config.held_back, config.held_back_s),
        )
        self._maintenance = Maintenance(
            config,
            writer,
            self._writer_slot,
            self._reader,
            copier,
            space,
            env,
            self._clock,
            self._path.with_name(self._path.name + "-wal"),
            log_begins_anew=self._commits.begin_log_anew,
        )
        self._space = space
        self._head = head
        self._damage = damage
        self._broken: StoreBroken | None = None
        self._broke = trio.Event()
        self._recent = Recent(config.recent_bytes)
        self._hooks = CommitHooks()
        self._leases = Leases(self._clock, writer.next_lease(), self._next_lease, self._expire)
        self._freeing_writes = FreeingWrites(self._commits, space, self._leases)

    @property
    def compacted(self) -> Revision:
        """Newest compacted revision."""
        return self._writer.compacted

    def on_commit(self, hook: CommitHook) -> None:
        """Add a listener of the commit stream."""
        self._hooks.add(hook)

    def on_progress(self, hook: ProgressHook) -> None:
        """Nothing to tell: each revision of this engine is on the commit stream."""

    def statistics(self) -> SqliteStatistics:
        """A snapshot of numbers."""
        commits, logged = self._commits, self._maintenance.log_bytes
        return SqliteStatistics(
            revision=self.revision,
            compacted=self._writer.compacted,
            commits=commits.commits,
            writes=commits.writes,
            largest_batch=commits.largest_batch,
            size_bytes=self._path.stat().st_size,
            queued=commits.queued,
            refusing=FULL if self._space.full else "",
            failed_listeners=self._hooks.failures,
            caches=(CacheFill("store/sqlite/recent", len(self._recent), self._recent.bytes),),
            own=(
                Gauge("kubetrio_storage_commits", "Transactions since start.", commits.commits),
                Gauge("kubetrio_storage_full", "1 while the disk is full.", self._space.full),
                Gauge(
                    "kubetrio_storage_damaged_values",
                    "Stored values that were found damaged since start.",
                    self._damage.values,
                ),
                Gauge("kubetrio_storage_wal_bytes", "Bytes of the write-ahead log.", logged),
            ),
        )

    # ------------------------------------------------------------------ reads

    async def probe(self, limit_s: float) -> None:
        """Ask the disk; see `Store.probe`."""
        await self._prober.answer(limit_s)

    async def _read_and_settle(self) -> None:
        """Read a row of the file, and have the write that is in flight land, if there is one."""
        if self._shared:
            await self._long_read(lambda reader: reader.reread(PROBED_KEY))
            return
        try:
            await self._env.run_blocking(self._probing.reread, PROBED_KEY)
        except UNREADABLE as error:
            raise self._unreadable(error) from error
        await self._commits.settled()

    async def _turn(self) -> None:
        """Where readers share the writing connection, wait until it is free; then do not wait."""
        if not self._shared:
            return
        if not self._writer_slot.value:
            async with self._writer_slot:
                pass
        if self._commits.broken:
            raise StoreClosed

    async def get(self, key: str, *, at: Revision | None = None) -> KeyValue | None:
        """One key; see `Store.get`.  Not a checkpoint: a row takes microseconds."""
        if at is not None:
            return await self._here(lambda reader: reader.get(key, at))
        known = self._recent.get(key)
        if known is None:
            if not self._reader.apart or self._commits.broken:
                return await self._here(lambda reader: reader.get(key, None))
            try:
                known = self._reader.get(key, None)
            except UNREADABLE as error:
                raise self._unreadable(error) from error
            if known is not None:
                self._recent.keep(known)
        return known

    async def range(
        self, keys: Range, *, at: Revision | None = None, limit: int = 0, max_bytes: int = 0
    ) -> RangeResult:
        """Keys in order; see `Store.range`."""
        await self._turn()
        read = self._here if self._is_quick(keys, limit, max_bytes) else self._long_read
        return await read(lambda reader: reader.range(keys, at, limit, max_bytes))

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
        await self._turn()
        read = self._here if self._is_quick(keys, limit, max_bytes) else self._long_read
        return await read(lambda reader: reader.join(keys, skip, separator, at, limit, max_bytes))

    async def count(self, keys: Range, *, at: Revision | None = None) -> int:
        """Number of keys; see `Store.count`."""
        await self._turn()
        some = self._look(lambda reader: reader.count_some(keys, COUNTED_INLINE + 1))
        if some <= COUNTED_INLINE:
            if at is not None:
                return await self._here(lambda reader: reader.count(keys, at))
            if self._commits.broken or not (self._reader.apart or self._shared):
                await self._commits.settled()
            return some
        return await self._long_read(lambda reader: reader.count(keys, at))

    async def events(
        self, *, after: Revision, keys: Range | None = None, max_bytes: int
    ) -> tuple[Sequence[Event], Revision]:
        """Events after a revision; see `Store.events`."""
        return await self._here(
            lambda reader: reader.events(after, keys, min(max_bytes, EVENT_BYTES_INLINE))
        )

    async def revisions_of(self, key: str) -> Sequence[Past]:
        """Retained revisions of a key; see `store.past.Retained`."""
        return await self._here(lambda reader: reader.revisions_of(key))

    async def dates(self, revisions: Sequence[Revision]) -> Mapping[Revision, int]:
        """When revisions were made; see `store.past.Retained`."""
        return await self._here(lambda reader: reader.dates(revisions))

    def _is_quick(self, keys: Range, limit: int, max_bytes: int) -> bool:
        """Whether values are few and small enough to be read on the event loop."""
        most = min(limit or INLINE_KEYS + 1, INLINE_KEYS + 1)
        count, largest, size = self._look(lambda reader: reader.sizes(keys, most))
        read = min(size, max_bytes + largest) if max_bytes else size
        return count <= INLINE_KEYS and read <= INLINE_READ_BYTES

    def _look(self, look: Callable[[Reader], T]) -> T:
        """Read something small that may be changing meanwhile."""
        try:
            return look(self._reader)
        except UNREADABLE as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: apsw.Error | UnicodeDecodeError) -> StoreError:
        """What an error of the engine means to those who read."""
        if isinstance(error, apsw.CorruptError | apsw.NotADBError | UnicodeDecodeError):
            return database.damaged(self._path, error)
        return StoreUnavailable(str(error))

    async def _here(self, read: Callable[[Reader], T]) -> T:
        """Read on the event loop; not a checkpoint but where that could see what is in flight."""
        await self._turn()
        try:
            result = read(self._reader)
        except UNREADABLE as error:
            raise self._unreadable(error) from error
        # After a failed sync a new snapshot sees what no disk may have.
        if self._commits.broken or not (self._reader.apart or self._shared):
            await self._commits.settled()
        return result

    async def _long_read(self, read: Callable[[Reader], T]) -> T:
        if self._shared:
            async with self._writer_slot:
                if self._commits.broken:
                    raise StoreClosed
                try:
                    with trio.CancelScope(shield=True):  # the thread has the connection
                        return await self._env.run_blocking(read, self._reader)
                except UNREADABLE as error:
                    raise self._unreadable(error) from error
        async with self._long_slots:
            reader = self._long_readers.pop()
            try:
                result = await self._env.run_blocking(read, reader)
            except UNREADABLE as error:
                raise self._unreadable(error) from error
            finally:
                self._long_readers.append(reader)
        await self._commits.settled()
        return result

    # ------------------------------------------------------------------ writes

    async def create(self, key: str, value: Stamped, *, ttl_s: float = 0.0) -> KeyValue:
        """Write a new key; see `Store.create`."""
        if not ttl_s:
            return await self._commits.submit(Writer.create, (key, value), _size_of(value))
        ttl_ms = ceil(ttl_s * 1000)
        stored = await self._commits.submit(Writer.create, (key, value, ttl_ms), _size_of(value))
        self._leases.written(ttl_ms)
        return stored

    async def update(
        self, key: str, value: Stamped, *, expected: Revision, ttl_s: float = 0.0
    ) -> KeyValue:
        """Replace a key; see `Store.update`."""
        size = _size_of(value)
        if not ttl_s:
            return await self._commits.submit(Writer.update, (key, value, expected), size)
        ttl_ms = ceil(ttl_s * 1000)
        arguments = (key, value, expected, ttl_ms)
        stored = await self._commits.submit(Writer.update, arguments, size)
        self._leases.written(ttl_ms)
        return stored

    @property
    def freeing(self) -> Updating:
        """Updates that a full disk takes; see `Store.freeing`."""
        return self._freeing_writes

    async def delete(self, key: str, *, expected: Revision) -> Revision:
        """Delete a key; see `Store.delete`."""
        return await self._freeing_writes.submit(Writer.delete, (key, expected), self._size(key))

    def _size(self, key: str) -> int:
        """Bytes of the newest value of a key; 0 without one."""
        known = self._recent.get(key)
        if known is not None:
            return len(known.value)
        try:
            return self._reader.size(key)
        except UNREADABLE as error:
            raise self._unreadable(error) from error

    @property
    def rewinding(self) -> Self:
        """Writing of several keys at once: in one transaction."""
        return self

    async def write_all(self, changes: Sequence[Change]) -> None:
        """Make several changes at once; see `Rewinding.write_all`."""
        if not changes:
            return
        size = sum(_size_of(change.value) for change in changes if change.value is not None)
        await self._commits.submit(Writer.write_all, (changes,), size)
        for change in changes:
            if change.ttl_s:
                self._leases.written(ceil(change.ttl_s * 1000))

    async def _expire(self, most: int) -> bool:
        """Delete some of what has lived out its time; whether there may be more."""
        arguments = (self._clock.now_ms(), most, EXPIRED_BYTES)
        return await self._freeing_writes.submit(Writer.expire, arguments, EXPIRED_BYTES)

    async def _next_lease(self) -> int | None:
        """When the first time to live is over."""
        async with self._writer_slot:
            try:
                return self._writer.next_lease()
            except UNREADABLE as error:
                raise self._unreadable(error) from error

    def _announce(self, events: Sequence[Event]) -> None:
        newest = events[-1].revision
        try:
            self._see(events, newest)
        except MemoryError:  # each step may be made again
            self._recent.clear()
            self._see((), newest)
        try:
            self._hooks.tell(events)
        except MemoryError:  # before the first listener; what listeners raise is caught
            self._hooks.tell(events)
        with suppress(MemoryError):  # the next commit looks, too
            self._maintenance.announced()

    def _see(self, events: Sequence[Event], newest: Revision) -> None:
        """Have reads see what is durable now."""
        self._head.note(newest)
        self._reader.renew()
        self._recent.announced(events)
        self.arrivals.announce(newest)

    # ------------------------------------------------------------------ maintenance

    async def compact(self, to: Revision) -> None:
        """Forget what is older than a revision, in short transactions; see `Store.compact`."""
        await self._maintenance.compact(to)

    async def run(self) -> NoReturn:
        """Write, compact and checkpoint until cancelled.

        Raises:
            StoreBroken: the disk failed, and what is on it is unknown.
        """
        maintenance = self._maintenance
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._commits.run, name="store writer")
            for run, name in (
                (maintenance.compact_forever, "store compaction"),
                (maintenance.checkpoint_forever, "store checkpoints"),
                (maintenance.trim_forever, "store quota"),
                (self._leases.run, "store leases"),
                (self._prober.run, "store probe"),
                (partial(self._space.keep, maintenance.make_room), "store space"),
            ):
                nursery.start_soon(
                    run_forever_with_backoff, partial(self._unless_broken, run), name, name=name
                )
            await self._broke.wait()
            if self._broken is not None:
                raise self._broken
        raise AssertionError("store tasks never return")

    async def _unless_broken(self, run: Callable[[], Awaitable[NoReturn]]) -> NoReturn:
        """Run a task that may begin anew, but not where the store has to end."""
        try:
            await run()
        except StoreBroken as error:
            self._broken = error
            self._broke.set()
            await trio.sleep_forever()

    def close(self, *, clean: bool) -> None:
        """Answer what still waits with `StoreClosed` and close the file.

        Args:
            clean: empty the log and note an orderly stop; else leave things as a crash would.
        """
        self._commits.close()
        for reader in (self._reader, *self._long_readers, self._probing):
            reader.close()
        self._copier.close()
        if clean:
            try:
                if self._space.full:
                    file_bytes = self._writer.pages() * database.PAGE_BYTES
                    self._space.grow(file_bytes, self._writer.open_bytes())
                self._writer.close()
            except (apsw.Error, StoreBroken) as error:
                # What was acknowledged is in the log all the same.
                LOG.error(error, "Stopped as by a crash; the next start checks the database")
                clean = False
        if not clean:
            self._writer.abandon()
        self._space.closed()
        self._head.close(clean=clean)
        if clean:
            note_stop(self._path.parent, self.revision)


def _size_of(value: Stamped) -> int:
    return len(value.before) + len(value.after)
