"""What keeps the files of a store in order, beside its writes.

Compaction drops what is older than the history window, and more of it when the database reaches
its bound; checkpoints move the write-ahead log into the file, and flushes the journal into the
log; on a full disk room is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import inf
from pathlib import Path
from typing import NoReturn

import apsw
import trio

from kubetrio.env import Env
from kubetrio.observe.logs import Log
from kubetrio.store.errors import Compacted, StoreError, StoreUnavailable
from kubetrio.store.model import Revision
from kubetrio.store.sqlite.clock import Clock
from kubetrio.store.sqlite.compaction import compact
from kubetrio.store.sqlite.database import PAGE_BYTES
from kubetrio.store.sqlite.errors import StoreBroken
from kubetrio.store.sqlite.reader import Reader
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.store.sqlite.space import LOG_BYTES, Space
from kubetrio.store.sqlite.writer import Writer

LOG = Log("kubetrio.store")

WAL_KEPT_BYTES = 16 * 1024 * 1024  # a log file up to this size is used again while there are writes
SPARE = 0.25  # of the file may be free pages, where flash wears by giving them back
LONG_LOG_BYTES = 2 * LOG_BYTES
TRIM = 7 / 8  # of the quota from which history goes before its time
TRIMMED = 3 / 4  # of it down to which


class Maintenance:
    """Compaction, checkpoints and room of one store.

    Args:
        config: tunables.
        writer: the writing connection.
        slot: who may use it.
        reader: of the event loop; it may keep a snapshot that a checkpoint would wait for.
        copier: a connection for checkpoints.
        space: whether there is room.
        log_begins_anew: told that the next commit takes a sync more.
        env: threads.
        clock: dates revisions.
        log: the write-ahead log.
    """

    def __init__(
        self,
        config: StoreConfig,
        writer: Writer,
        slot: trio.Semaphore,
        reader: Reader,
        copier: apsw.Connection,
        space: Space,
        env: Env,
        clock: Clock,
        log: Path,
        *,
        log_begins_anew: Callable[[], None],
    ) -> None:
        self._config = config
        self._writer = writer
        self._slot = slot
        self._reader = reader
        self._copier = copier
        self._space = space
        self._env = env
        self._clock = clock
        self._log = log
        self._log_begins_anew = log_begins_anew
        self._journals = config.journal_bytes > 0
        self._quota = config.quota_bytes
        self._checkpoint_due = trio.Event()
        self._trim_due = trio.Event()
        self._checkpoints = 0  # under way
        self._rested_at: Revision | None = None  # newest revision of the last round of compaction
        self._pages_looked_at = 0  # length of the log at the last checkpoint

    @property
    def log_bytes(self) -> int:
        """Size of the write-ahead log."""
        return self._log.stat().st_size if self._log.exists() else 0

    def announced(self) -> None:
        """Look, behind a commit, whether there is something to do."""
        pages = self._writer.wal_pages
        if pages < self._pages_looked_at:
            self._pages_looked_at = 0  # the log began anew
        # On a full disk the next start has little room for what it finds in the journal.
        if (
            self._writer.flush_due
            or (self._journals and self._space.full)
            or pages >= self._pages_looked_at + self._config.checkpoint_pages
        ):
            self._checkpoint_due.set()
        if self._quota:
            used = self._used()
            if used > self._quota * TRIM:
                self._trim_due.set()
            if used > self._quota:
                self._space.exceeded(self._quota)

    def _used(self) -> int:
        """Bytes of the database that hold something."""
        return (self._writer.pages() - self._writer.free_pages()) * PAGE_BYTES

    async def trim_forever(self) -> NoReturn:
        """Drop history before its time, the oldest first, while the database nears its bound."""
        while True:
            await self._trim_due.wait()
            while True:
                async with self._slot:
                    floor, newest, used = (
                        self._writer.compacted, self._writer.revision, self._used()
                    )  # fmt: skip
                if floor >= newest or used <= self._quota * TRIMMED:
                    break
                try:
                    await self.compact((floor + newest + 1) // 2)
                except Compacted:
                    pass  # by age, meanwhile
                except StoreUnavailable as error:
                    LOG.error(error, "History could not be dropped")
                    break
            self._trim_due = trio.Event()
            await trio.lowlevel.checkpoint()

    async def _flush(self) -> None:
        """Bring the journal into the database, and the log into the file when it has grown."""
        try:
            if self._space.full:
                await self._checkpoint_for_room()
                return
            async with self._slot:
                await self._env.run_blocking(self._writer.flush)
                if self._writer.wal_pages >= self._config.checkpoint_pages:
                    mode = apsw.SQLITE_CHECKPOINT_RESTART
                    await self._env.run_blocking(partial(self._writer.checkpoint, mode, wait=False))
        except apsw.Error as error:
            self._space.failed(error)
            LOG.error(error, "The journal could not be flushed")  # tried again by the next commits

    async def compact(self, to: Revision) -> None:
        """Forget what is older than a revision, in short transactions; see `Store.compact`.

        Raises:
            StoreUnavailable: the disk does not take it.
        """
        try:
            await compact(
                self._writer,
                to,
                slot=self._slot,
                env=self._env,
                step_s=self._config.compact_step_s,
                spare=SPARE if self._journals else 0,
            )
        except (apsw.Error, OSError) as error:
            raise StoreUnavailable(str(error)) from error
        finally:
            self._reader.renew()  # it must see what is gone

    async def compact_forever(self) -> NoReturn:
        """Drop what is older than the window, again and again, until cancelled."""
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
        async with self._slot:
            target = self._writer.revision_before(cutoff_ms)
        if target > self._writer.compacted:
            await self.compact(target)
        if self._journals:
            return  # the log is empty between two flushes
        rests, self._rested_at = self._rested_at == self._writer.revision, self._writer.revision
        too_long = self.log_bytes > WAL_KEPT_BYTES
        if self._writer.wal_pages or too_long:
            empty = (rests or too_long) and not self._space.full  # its room would be lost
            mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if empty else apsw.SQLITE_CHECKPOINT_RESTART
            with self.nothing_kept():
                await self._begin_log_anew(mode, wait=False)

    async def checkpoint_forever(self) -> NoReturn:
        """Move the log into the file beside the writers; only a log over its limit stops them.

        With a journal, commit what it has first.
        """
        while True:
            await self._checkpoint_due.wait()
            if self._journals:
                await self._flush()
                self._checkpoint_due = trio.Event()
                continue
            # Long reads may keep the log from beginning anew: what counts is by how much it has
            # grown.
            self._pages_looked_at = self._writer.wal_pages
            try:
                with self.nothing_kept():
                    await self.checkpoint(self._copier)
            except apsw.BusyError:
                pass  # compaction is emptying the log
            except apsw.Error as error:
                if not self._space.failed(error):
                    LOG.error(error, "Checkpoint failed")  # tried again when the log has grown
            self._checkpoint_due = trio.Event()
            await trio.lowlevel.checkpoint()

    async def make_room(self) -> bool:
        """Free what can be freed; returns whether the store can be written again."""
        try:
            # First, so that the log is written over in place of growing.
            await self._checkpoint_for_room()
            floor = -1
            while floor < self._writer.compacted < self._writer.revision:
                floor = self._writer.compacted
                try:
                    await self.compact(self._writer.revision)
                except (Compacted, StoreUnavailable):
                    pass  # some of it, perhaps
                await self._checkpoint_for_room()
            async with self._slot:
                await self._env.run_blocking(self._try_to_write)
        except StoreBroken:
            raise
        except (StoreError, apsw.Error, OSError):
            return False
        return not self._quota or self._used() <= self._quota * TRIMMED

    def _try_to_write(self) -> None:
        self._writer.mark(clean=False)
        self._writer.flush()

    async def _checkpoint_for_room(self) -> None:
        with self.nothing_kept():
            async with self._slot:
                self._space.grow(self._writer.pages() * PAGE_BYTES, self._writer.open_bytes())
                await self._env.run_blocking(self._begin_log_for_room)
                self._log_begins_anew()

    def _begin_log_for_room(self) -> None:
        """Keep the log's room for the log, but where it is much, or the next start would have none.

        It is much behind the flush of a journal.  A reader beside it is waited for: before it ends
        there is no room in the log.
        """
        long = self._journals and self.log_bytes > LONG_LOG_BYTES
        if not self._space.low and not long:
            self._writer.checkpoint(apsw.SQLITE_CHECKPOINT_RESTART)
            return
        self._writer.checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self._space.refill()

    @contextmanager
    def nothing_kept(self) -> Iterator[None]:
        """Keep no snapshot that a checkpoint would have to wait for."""
        self._checkpoints += 1
        try:
            self._reader.keep(False)
            yield
        finally:
            self._checkpoints -= 1
            self._reader.keep(not self._checkpoints)

    async def checkpoint(self, copier: apsw.Connection) -> None:
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
        async with self._slot:
            await self._env.run_blocking(partial(self._writer.checkpoint, mode, wait=wait))
            self._log_begins_anew()
