"""The SQLite store: group commit, reads, the commit stream, compaction and checkpoints.

What is read on the event loop is what was announced: the reader keeps its snapshot while a commit
is in flight (`store.sqlite.commits`).  Reads elsewhere, which may have seen more, wait until that
landed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import ceil, inf
from pathlib import Path
from typing import NoReturn, TypeVar, TypeVarTuple

import apsw
import trio

from kubetrio.env import Env
from kubetrio.logs import Log
from kubetrio.store.errors import Compacted, StoreError, StoreFull, StoreUnavailable
from kubetrio.store.model import (
    Change,
    CommitHook,
    Event,
    Gauge,
    JoinResult,
    KeyValue,
    ProgressHook,
    Range,
    RangeResult,
    Revision,
    Stamped,
    StoreStatistics,
)
from kubetrio.store.sqlite import database
from kubetrio.store.sqlite.clock import Clock
from kubetrio.store.sqlite.commits import Commits
from kubetrio.store.sqlite.compaction import compact
from kubetrio.store.sqlite.head import Head
from kubetrio.store.sqlite.leases import Leases
from kubetrio.store.sqlite.prober import Prober
from kubetrio.store.sqlite.reader import Reader
from kubetrio.store.sqlite.recent import Recent
from kubetrio.store.sqlite.space import Space
from kubetrio.store.sqlite.sync import FileSync
from kubetrio.supervise import persevere

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

LOG = Log("kubetrio.store")

INLINE_KEYS = 150  # a page of so many values is read on the event loop
COUNTED_INLINE = 2000  # keys that are counted there: 0.1 ms
EVENT_BYTES_INLINE = 256 * 1024
WAL_KEPT_BYTES = 16 * 1024 * 1024  # a log file up to this size is used again while there are writes
PROBED_KEY = "/registry/health"  # what kube-apiserver asks etcd for; nobody writes it
EXPIRED_BYTES = 128 * 1024  # of values that go in one transaction
READERS = 2  # threads that read long ranges at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """Tunables of the SQLite store.

    Args:
        durability: ``full`` survives power loss; ``normal`` survives a killed process, and power
            loss may take the newest writes (never consistency).
        history_window_s: how long superseded revisions are kept, seconds.
        compact_interval_s: seconds between compactions, 0 for none.
        compact_step_s: time one compaction transaction should take, seconds; writers wait for it.
        checkpoint_pages: pages of write-ahead log that start a checkpoint.
        wal_limit_pages: pages of write-ahead log at which writers wait for a checkpoint.
        recent_bytes: bound of the objects kept in memory because they were read lately.
        reserve_bytes: room kept on the disk for deletions and an orderly stop; less on a small
            file system, 0 for none.
        accept_data_loss: open a store that lacks revisions that were answered.
    """

    durability: str = "full"
    history_window_s: float = 300.0
    compact_interval_s: float = 60.0
    compact_step_s: float = 0.004
    checkpoint_pages: int = 2000
    wal_limit_pages: int = 16000
    recent_bytes: int = 8 * 1024 * 1024
    reserve_bytes: int = 16 * 1024 * 1024
    accept_data_loss: bool = False


class SqliteStore:
    """The embedded store; made by `open_store`.  Follows `store.model.Store`."""

    def __init__(
        self,
        directory: Path,
        config: StoreConfig,
        env: Env,
        writer: database.Writer,
        readers: Sequence[Reader],
        copier: apsw.Connection,
        sync: FileSync | None,
        space: Space,
        head: Head,
    ) -> None:
        path = directory / database.FILE_NAME
        self._path = path
        self._config = config
        self._env = env
        self._writer = writer
        # The last one is of its own: a health check waits for no long read.
        self._reader, *self._long_readers, self._probing = readers
        self._reader.keep(True)
        self._copier = copier
        self._long_slots = trio.Semaphore(READERS, max_value=READERS)
        self._prober = Prober(self._read_and_settle)
        self._revision = writer.revision
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
        )
        self._space = space
        self._head = head
        self._checkpoint_due = trio.Event()
        self._checkpoints = 0  # under way
        self._rested_at: Revision | None = None  # newest revision of the last round of compaction
        self._pages_looked_at = 0  # length of the log at the last checkpoint
        self._recent = Recent(config.recent_bytes)
        self._hooks: list[CommitHook] = []
        self._leases = Leases(self._clock, writer.next_lease(), self._next_lease, self._expire)

    # ------------------------------------------------------------------ state

    @property
    def revision(self) -> Revision:
        """Newest revision announced."""
        return self._revision

    @property
    def compacted(self) -> Revision:
        """Newest compacted revision."""
        return self._writer.compacted

    def on_commit(self, hook: CommitHook) -> None:
        """Add a listener of the commit stream."""
        self._hooks.append(hook)

    def on_progress(self, hook: ProgressHook) -> None:
        """Nothing to tell: each revision of this engine is on the commit stream."""

    @property
    def wal_bytes(self) -> int:
        """Size of the write-ahead log."""
        wal = self._path.with_name(self._path.name + "-wal")
        return wal.stat().st_size if wal.exists() else 0

    def statistics(self) -> StoreStatistics:
        """A snapshot of numbers."""
        return StoreStatistics(
            revision=self._revision,
            compacted=self._writer.compacted,
            commits=self._commits.commits,
            writes=self._commits.writes,
            largest_batch=self._commits.largest_batch,
            size_bytes=self._path.stat().st_size,
            queued=self._commits.queued,
            full=self._space.full,
            recent=len(self._recent),
            recent_bytes=self._recent.bytes,
            own=(
                Gauge(
                    "kubetrio_storage_wal_bytes", "Bytes of the write-ahead log.", self.wal_bytes
                ),
            ),
        )

    # ------------------------------------------------------------------ reads

    async def probe(self, limit_s: float) -> None:
        """Ask the disk; see `Store.probe`."""
        await self._prober.answer(limit_s)

    async def _read_and_settle(self) -> None:
        """Read a row of the file, and have the write that is in flight land, if there is one."""
        try:
            await self._env.run_blocking(self._probing.reread, PROBED_KEY)
        except apsw.Error as error:
            raise self._unreadable(error) from error
        await self._commits.settled()

    async def get(self, key: str, *, at: Revision | None = None) -> KeyValue | None:
        """One key; see `Store.get`.  Not a checkpoint: a row takes microseconds."""
        if at is not None:
            return await self._here(lambda reader: reader.get(key, at))
        known = self._recent.get(key)
        if known is None:
            if not self._reader.apart:
                return await self._here(lambda reader: reader.get(key, None))
            try:
                known = self._reader.get(key, None)
            except apsw.Error as error:
                raise self._unreadable(error) from error
            if known is not None:
                self._recent.keep(known)
        return known

    async def range(
        self, keys: Range, *, at: Revision | None = None, limit: int = 0, max_bytes: int = 0
    ) -> RangeResult:
        """Keys in order; see `Store.range`."""
        if (limit and limit <= INLINE_KEYS) or self._few(keys):
            return await self._here(lambda reader: reader.range(keys, at, limit, max_bytes))
        return await self._long_read(lambda reader: reader.range(keys, at, limit, max_bytes))

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
        if (limit and limit <= INLINE_KEYS) or self._few(keys):
            return await self._here(
                lambda reader: reader.join(keys, skip, separator, at, limit, max_bytes)
            )
        return await self._long_read(
            lambda reader: reader.join(keys, skip, separator, at, limit, max_bytes)
        )

    async def count(self, keys: Range, *, at: Revision | None = None) -> int:
        """Number of keys; see `Store.count`."""
        some = self._count_some(keys, COUNTED_INLINE + 1)
        if some <= COUNTED_INLINE:
            if at is not None:
                return await self._here(lambda reader: reader.count(keys, at))
            if not self._reader.apart:
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

    def _few(self, keys: Range) -> bool:
        return self._count_some(keys, INLINE_KEYS + 1) <= INLINE_KEYS

    def _count_some(self, keys: Range, most: int) -> int:
        try:
            return self._reader.count_some(keys, most)
        except apsw.Error as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: apsw.Error) -> StoreError:
        """What an error of the engine means to those who read."""
        if isinstance(error, apsw.CorruptError | apsw.NotADBError):
            return database.damaged(self._path, error)
        return StoreUnavailable(str(error))

    async def _here(self, read: Callable[[Reader], T]) -> T:
        """Read on the event loop; not a checkpoint but where that could see what is in flight."""
        try:
            result = read(self._reader)
        except apsw.Error as error:
            raise self._unreadable(error) from error
        if not self._reader.apart:
            await self._commits.settled()
        return result

    async def _long_read(self, read: Callable[[Reader], T]) -> T:
        async with self._long_slots:
            reader = self._long_readers.pop()
            try:
                result = await self._env.run_blocking(read, reader)
            except apsw.Error as error:
                raise self._unreadable(error) from error
            finally:
                self._long_readers.append(reader)
        await self._commits.settled()
        return result

    # ------------------------------------------------------------------ writes

    async def create(self, key: str, value: Stamped, *, ttl_s: float = 0.0) -> KeyValue:
        """Write a new key; see `Store.create`."""
        if not ttl_s:
            return await self._commits.submit(database.Writer.create, (key, value), _size_of(value))
        ttl_ms = ceil(ttl_s * 1000)
        stored = await self._commits.submit(
            database.Writer.create, (key, value, ttl_ms), _size_of(value)
        )
        self._leases.written(ttl_ms)
        return stored

    async def update(
        self,
        key: str,
        value: Stamped,
        *,
        expected: Revision,
        ttl_s: float = 0.0,
        frees: bool = False,
    ) -> KeyValue:
        """Replace a key; see `Store.update`."""
        submit = self._free if frees else self._commits.submit
        if not ttl_s:
            return await submit(database.Writer.update, (key, value, expected), _size_of(value))
        ttl_ms = ceil(ttl_s * 1000)
        arguments = (key, value, expected, ttl_ms)
        stored = await submit(database.Writer.update, arguments, _size_of(value))
        self._leases.written(ttl_ms)
        return stored

    async def delete(self, key: str, last: Stamped, *, expected: Revision) -> KeyValue:
        """Delete a key; see `Store.delete`."""
        return await self._free(database.Writer.delete, (key, last, expected), _size_of(last))

    async def write_all(self, changes: Sequence[Change]) -> None:
        """Make several changes at once; see `Store.write_all`."""
        if not changes:
            return
        size = sum(_size_of(change.value) for change in changes)
        await self._commits.submit(database.Writer.write_all, (changes,), size)
        for change in changes:
            if change.ttl_s:
                self._leases.written(ceil(change.ttl_s * 1000))

    async def _free(
        self,
        apply: Callable[[database.Writer, *Arguments], database.Wrote[T]],
        arguments: tuple[*Arguments],
        size: int,
    ) -> T:
        """Submit a write that room comes of: where there is none for it, room is made first."""
        try:
            return await self._commits.submit(apply, arguments, size, frees=True)
        except StoreFull:
            if not self._space.full:
                raise
        await self._space.looked()
        return await self._commits.submit(apply, arguments, size, frees=True)

    async def _expire(self, most: int) -> bool:
        """Delete some of what has lived out its time; whether there may be more."""
        arguments = (self._clock.now_ms(), most, EXPIRED_BYTES)
        return await self._free(database.Writer.expire, arguments, EXPIRED_BYTES)

    async def _next_lease(self) -> int | None:
        """When the first time to live is over."""
        async with self._writer_slot:
            try:
                return self._writer.next_lease()
            except apsw.Error as error:
                raise self._unreadable(error) from error

    def _announce(self, events: Sequence[Event]) -> None:
        self._revision = events[-1].revision
        self._head.note(self._revision)
        self._reader.renew()
        self._recent.announced(events)
        for hook in self._hooks:
            hook(events)
        pages = self._writer.wal_pages
        if pages < self._pages_looked_at:
            self._pages_looked_at = 0  # the log began anew
        if pages >= self._pages_looked_at + self._config.checkpoint_pages:
            self._checkpoint_due.set()

    # ------------------------------------------------------------------ upkeep

    async def compact(self, to: Revision) -> None:
        """Forget what is older than a revision, in short transactions; see `Store.compact`."""
        try:
            await compact(
                self._writer,
                to,
                slot=self._writer_slot,
                env=self._env,
                step_s=self._config.compact_step_s,
            )
        except apsw.Error as error:
            raise StoreUnavailable(str(error)) from error
        finally:
            self._reader.renew()  # it must see what is gone

    async def _compact_forever(self) -> NoReturn:
        while True:
            await trio.sleep(self._config.compact_interval_s or inf)
            try:
                await self._compact_by_age()
            except Compacted:
                pass  # someone else went further meanwhile
            except (StoreUnavailable, apsw.Error) as error:
                # A full disk refuses writes, it does not stop the server; the next round resumes.
                LOG.error(error, "Compaction failed")

    async def _compact_by_age(self) -> None:
        cutoff_ms = self._clock.now_ms() - int(self._config.history_window_s * 1000)
        async with self._writer_slot:
            target = self._writer.revision_before(cutoff_ms)
        if target > self._writer.compacted:
            await self.compact(target)
        rests, self._rested_at = self._rested_at == self._revision, self._revision
        too_long = self.wal_bytes > WAL_KEPT_BYTES
        if self._writer.wal_pages or too_long:
            empty = (rests or too_long) and not self._space.full  # its room would be lost
            mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if empty else apsw.SQLITE_CHECKPOINT_RESTART
            with self._nothing_kept():
                await self._begin_log_anew(mode, wait=False)

    async def _checkpoint_forever(self) -> NoReturn:
        """Move the log into the file beside the writers; only a log over its limit stops them."""
        while True:
            await self._checkpoint_due.wait()
            # Long reads may keep the log from beginning anew: what counts is by how much it has
            # grown.
            self._pages_looked_at = self._writer.wal_pages
            try:
                with self._nothing_kept():
                    await self._checkpoint(self._copier)
            except apsw.BusyError:
                pass  # compaction is emptying the log
            except apsw.Error as error:
                LOG.error(error, "Checkpoint failed")  # tried again when the log has grown
            self._checkpoint_due = trio.Event()
            await trio.lowlevel.checkpoint()

    async def _make_room(self) -> bool:
        """Free what can be freed on a full disk; returns whether the store can be written."""
        try:
            # First, so that the log is written over in place of growing.
            await self._checkpoint_for_room()
            floor = -1
            while floor < self.compacted < self._revision:
                floor = self.compacted
                try:
                    await self.compact(self._revision)
                except (Compacted, StoreUnavailable):
                    pass  # some of it, perhaps
                await self._checkpoint_for_room()
            async with self._writer_slot:
                await self._env.run_blocking(partial(self._writer.mark, clean=False))
        except (StoreError, apsw.Error, OSError):
            return False
        return True

    async def _checkpoint_for_room(self) -> None:
        with self._nothing_kept():
            async with self._writer_slot:
                self._space.grow(self._writer.pages() * database.PAGE_BYTES)
                await self._env.run_blocking(self._begin_log_for_room)
                self._commits.log_anew = True

    def _begin_log_for_room(self) -> None:
        """Keep the log's room for the log, but where the reserve has none for the next start."""
        if not self._space.low:
            self._writer.checkpoint(apsw.SQLITE_CHECKPOINT_RESTART, wait=False)
            return
        self._writer.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE, wait=False)
        self._space.refill()

    @contextmanager
    def _nothing_kept(self) -> Iterator[None]:
        """Keep no snapshot that a checkpoint would have to wait for."""
        self._checkpoints += 1
        try:
            self._reader.keep(False)
            yield
        finally:
            self._checkpoints -= 1
            self._reader.keep(not self._checkpoints)

    async def _checkpoint(self, copier: apsw.Connection) -> None:
        """Copy the log, nearly all of it beside the writers, and have it begin anew.

        A sync of a log that is written over takes less than half of one that grows: the file
        system has nothing to note.
        """
        await self._env.run_blocking(
            partial(copier.wal_checkpoint, mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        )
        wait = self._writer.wal_pages >= self._config.wal_limit_pages
        await self._begin_log_anew(apsw.SQLITE_CHECKPOINT_RESTART, wait=wait)

    async def _begin_log_anew(self, mode: int, *, wait: bool) -> None:
        """Copy the rest of the log between two batches; no snapshot may be kept."""
        async with self._writer_slot:
            await self._env.run_blocking(partial(self._writer.checkpoint, mode, wait=wait))
            self._commits.log_anew = True

    async def run(self) -> NoReturn:
        """Write, compact and checkpoint until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._commits.run, name="store writer")
            for run, name in (
                (self._compact_forever, "store compaction"),
                (self._checkpoint_forever, "store checkpoints"),
                (self._leases.run, "store leases"),
                (self._prober.run, "store probe"),
                (partial(self._space.keep, self._make_room), "store space"),
            ):
                nursery.start_soon(persevere, run, name, name=name)
        raise AssertionError("store tasks never return")

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
                    self._space.grow(self._writer.pages() * database.PAGE_BYTES)
                self._writer.close()
            except apsw.Error as error:  # what was acknowledged is in the log all the same
                LOG.error(error, "Stopped as by a crash; the next start checks the database")
                clean = False
        if not clean:
            self._writer.abandon()
        self._space.closed()
        self._head.close(clean=clean)


def _size_of(value: Stamped) -> int:
    return len(value.before) + len(value.after)
