"""Group commit: writes share transactions, and go on while the disk syncs the ones before.

A write is a point, not a span.  Writers queue.  A batch of them is applied to one transaction and
committed, which puts it into the write-ahead log, and the sync of the log begins: the batch is *in
flight*.  When it lands, its events are announced in revision order, and only then are its writers
answered.  No reader sees what is in flight: a failure of the disk may still take it.

All of that runs on the event loop but the sync, and commits that take long for another reason.
Inserts only touch the page cache, and a commit writes a few pages into the system's: a thread would
lose the interpreter lock at each of them to a busy event loop.

Before a write is taken it may be cancelled; after that it is waited for, whatever happens: no
caller sees "cancelled, yet stored".
"""

from __future__ import annotations

import errno
import math
import os
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn, TypeVar, TypeVarTuple

import apsw
import outcome
import trio

from kubetrio.env import Env
from kubetrio.observe.logs import Log
from kubetrio.store import errors
from kubetrio.store.errors import StoreClosed, StoreError, StoreFull, StoreUnavailable
from kubetrio.store.model import Event
from kubetrio.store.sqlite.clock import Clock
from kubetrio.store.sqlite.errors import StoreBroken
from kubetrio.store.sqlite.flights import SYNC_ALL, Flight, Holding, Stage, State, Write
from kubetrio.store.sqlite.space import Space
from kubetrio.store.sqlite.sync import FileSync
from kubetrio.store.sqlite.writer import Writer, Wrote

MAX_BATCH = 32  # writes in one transaction: about a millisecond of inserts on the event loop
GATHERED = 16  # writes that share a commit well enough, where nothing is synced
TURNS_FROM = 6  # writers: to commit twice costs a few of them more than to wait for the disk
FORGETS = 1.02  # by that the quickest sync grows in memory with each one after it
PATIENCE = 8  # rounds without a write, after which those who stayed behind go alone
INLINE_BYTES = 256 * 1024  # of values in one transaction that is committed on the event loop
NO_MEMORY = "the server has no memory for this write, and nothing of it was kept"
PAUSE_S = 0.05  # in which memory may come back

Change = TypeVarTuple("Change")
LOG = Log("kubetrio.store")

T = TypeVar("T")


class Commits:
    """The writes of one store.

    Args:
        writer: the writing connection.
        env: threads.
        clock: dates revisions.
        slot: who may use the connection: a batch, a step of compaction, a checkpoint.
        sync: of the write-ahead log; None not to wait for the disk.
        space: whether there is room for what frees none.
        before_commit: called when what readers keep would change.
        announce: called with what was committed, in revision order.
        holding: which writes need not be synced before they are answered.

    Attributes:
        log_anew: whether the next commit may begin the log anew, which takes a sync of its own.
        broken: whether a sync failed, so that what was written last may not be read.
        commits, writes, largest_batch: numbers of what was committed.
    """

    def __init__(
        self,
        writer: Writer,
        env: Env,
        slot: trio.Semaphore,
        sync: FileSync | None,
        space: Space,
        clock: Clock,
        *,
        before_commit: Callable[[], None],
        announce: Callable[[Sequence[Event]], None],
        holding: Holding = SYNC_ALL,
    ) -> None:
        self._writer = writer
        self._env = env
        self._slot = slot
        self._sync = sync
        self._space = space
        self._clock = clock
        self._before_commit = before_commit
        self._announce = announce
        self._queue: deque[Write] = deque()
        self._parked: trio.lowlevel.Task | None = None
        self._flight: Flight | None = None
        self._wanted = GATHERED
        self._quickest = math.inf  # of the last syncs, seconds
        self._behind = 0  # of those seen, how many a batch does without
        self._joined = 0.0  # when the queue last grew during a flight
        self._landed = 0.0  # when the last flight did
        self._closed = False
        self.log_anew = self.broken = False
        self.commits = 0
        self.writes = 0
        self.largest_batch = 0

        self._holding = holding
        self._sync_at = math.inf  # when what was answered without a sync has to have one

    @property
    def queued(self) -> int:
        """Writes that no batch has taken."""
        return len(self._queue)

    async def submit(
        self,
        apply: Callable[[Writer, *Change], Wrote[T]],
        arguments: tuple[*Change],
        size: int,
        *,
        frees: bool = False,
    ) -> T:
        """Queue a write and wait until it is durable; cancellable until it is taken.

        Args:
            apply: makes the change in the open transaction; may raise a `StoreError`.
            arguments: for it, behind the writer.
            size: bytes of the value.
            frees: whether room comes of it in the end, so that it is taken on a full disk too.

        Raises:
            StoreError: of `apply`, or the store is closed or could not commit.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._closed:
            raise StoreClosed
        if self._space.full and not frees:
            raise StoreFull
        write = Write(apply, arguments, size, frees=frees)
        self._queue.append(write)
        try:
            self._submitted()
        except MemoryError:
            if write.state is State.WAITING:
                self._queue.remove(write)
                raise StoreUnavailable(NO_MEMORY) from None

        def abort(_: object) -> trio.lowlevel.Abort:
            if write.state is State.TAKEN:
                return trio.lowlevel.Abort.FAILED
            self._queue.remove(write)
            return trio.lowlevel.Abort.SUCCEEDED

        result: T = await trio.lowlevel.wait_task_rescheduled(abort)
        return result

    def _submitted(self) -> None:
        """Begin a batch if there are enough writes for one, and have the writer look.

        Raises:
            MemoryError: what was submitted waits, or was taken.
        """
        queue = self._queue
        if self._flight is not None:
            self._joined = trio.current_time()
        elif self._sync is not None and len(queue) >= self._wanted and self._may_begin():
            self._slot.acquire_nowait()
            try:
                self._commit(self._apply())
            except MemoryError:
                if self._flight is None:
                    self._slot.release()
                raise
        if self._parked is not None:
            trio.lowlevel.reschedule(self._parked)
            self._parked = None

    def begin_log_anew(self) -> None:
        """Note that the next commit may begin the log anew."""
        self.log_anew = True

    def _may_begin(self) -> bool:
        """Whether a batch may be committed here and now."""
        return self._slot.value > 0 and self._takes_microseconds(self._queue[0].size)

    def _takes_microseconds(self, size: int) -> bool:
        """Whether so many bytes of values can be committed on the event loop."""
        return size <= INLINE_BYTES and not self.log_anew and self._writer.quick

    async def settled(self) -> None:
        """Wait until what can be read is durable: the flight that there is has landed.

        Raises:
            StoreClosed: it never will be, for a sync failed.
        """
        if self._flight is not None:
            await self._flight.wait()
        if self.broken:
            raise StoreClosed

    async def run(self) -> NoReturn:
        """Commit what is submitted until cancelled; then nothing more is taken."""
        try:
            while True:
                try:
                    await self._round()
                except MemoryError as error:  # its writers were told
                    self._parked = None
                    LOG.error(error, "The writer of the store has no memory")
                    await trio.sleep(PAUSE_S)
        finally:
            if self._flight is not None:  # a writer began it just before
                await self._land()
            self.close()

    async def _round(self) -> None:
        """Land the batch in flight, or bring one on its way; wait where there is none."""
        if self._flight is None:
            if trio.current_time() >= self._sync_at:
                await self._sync_held()
                return
            if not self._queue:
                if self._sync_at == math.inf:  # nothing is held back
                    await self._park()
                    return
                with trio.move_on_at(self._sync_at):
                    await self._park()
                return
            await self._gather()
        if self._flight is None:
            await self._begin()
        await self._land()

    async def _sync_held(self) -> None:
        """Sync what was answered without it.

        Raises:
            StoreBroken: the disk failed, and what is on it is unknown.
        """
        if self._sync is None:
            raise AssertionError("only writes that are synced are held back")
        async with self._slot:
            if self._flight is not None or math.isinf(self._sync_at):
                return  # a batch took it along
            self._sync_at = math.inf
            self._sync.start()
            try:
                with trio.CancelScope(shield=True):  # as long as the disk takes
                    await self._sync.wait()
            except OSError as error:
                self._closed = True
                raise StoreBroken(error) from error

    async def _park(self) -> None:
        self._parked = trio.lowlevel.current_task()

        def abort(_: object) -> trio.lowlevel.Abort:
            self._parked = None
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)

    async def _gather(self) -> None:
        """Wait while rounds of the event loop bring more writes, a few rounds at most."""
        patience = rounds = PATIENCE if self._behind else 1
        waiting = len(self._queue)
        while self._flight is None and waiting < self._wanted and rounds:
            await trio.lowlevel.checkpoint()
            rounds = rounds - 1 if len(self._queue) == waiting else patience
            waiting = len(self._queue)

    async def _begin(self) -> None:
        """Bring a batch on its way as soon as the connection is free."""
        if self._slot.value:
            self._slot.acquire_nowait()
        else:
            await self._slot.acquire()
        if not self._queue:  # cancelled meanwhile
            self._slot.release()
            return
        try:
            flight = self._apply()
        except MemoryError:
            if self._flight is None:
                self._slot.release()
            raise
        if self._takes_microseconds(flight.size):
            self._commit(flight)
            return
        self.log_anew = False
        if flight.stage is not Stage.OPEN:
            return
        try:
            self._before_commit()
            with trio.CancelScope(shield=True):  # bounded by the busy time-out of SQLite
                await self._env.run_blocking(self._writer.commit)
        except BaseException as error:  # noqa: BLE001  (raised behind the answers)
            self._not_committed(flight, error)
        else:
            self._committed(flight)

    def _take(self, flight: Flight) -> None:
        """Take some of the writers, so that the others go on while they are in flight."""
        queue = self._queue
        most = self._wanted if self._sync is not None else max(GATHERED, len(queue) // 2)
        room = INLINE_BYTES
        batch = flight.batch
        while queue and len(batch) < min(most, MAX_BATCH):
            write = queue[0]
            room -= write.size
            if batch and room < 0:
                break
            batch.append(write)
            write.state = State.TAKEN
            flight.size += write.size
            queue.popleft()

    def _apply(self) -> Flight:
        """Apply the next batch to a transaction; needs the slot.

        Raises:
            MemoryError: nothing was taken, if there is no flight.
        """
        writer = self._writer
        flight = self._flight = Flight(writer.revision)
        answers, events = flight.answers, flight.events
        try:
            self._take(flight)
            writer.begin(self._clock.now_ms(), int(self._env.now() * 1000))
            for write in flight.batch:
                if self._space.full and not write.frees:  # it was queued before
                    answers.append(outcome.Error(StoreFull()))
                    continue
                try:
                    answer, changes = write.apply(writer, *write.arguments)
                except StoreError as error:
                    answers.append(outcome.Error(error))
                else:
                    answers.append(outcome.Value(answer))
                    events += changes
        except BaseException as error:  # noqa: BLE001  (raised behind the answers)
            self._roll_back(flight, error)
        return flight

    def _commit(self, flight: Flight) -> None:
        """Commit here and now what takes microseconds."""
        if flight.stage is not Stage.OPEN:
            return
        try:
            self._before_commit()
            self._writer.commit()
        except BaseException as error:  # noqa: BLE001  (raised behind the answers)
            self._not_committed(flight, error)
        else:
            self._committed(flight)

    def _committed(self, flight: Flight) -> None:
        flight.stage = Stage.COMMITTED
        try:
            self._begin_sync(flight)
        except MemoryError as error:
            if flight.syncing:  # whether the kernel was asked is not known
                flight.failure = OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
                flight.stage = Stage.DECIDED
                LOG.error(error, "The log could not be synced")

    def _begin_sync(self, flight: Flight) -> None:
        """Have the disk take a batch, now or later."""
        if flight.events and self._sync is not None:
            if self._holding.takes(flight.events):
                self._sync_at = min(self._sync_at, trio.current_time() + self._holding.seconds)
            else:
                self._sync_at = math.inf  # this sync is of all that was written
                flight.syncing = True
                self._sync.start()
                flight.began = trio.current_time()
        flight.stage = Stage.DECIDED

    def _not_committed(self, flight: Flight, error: BaseException) -> None:
        """Go on behind a commit that raised, which may be there all the same without memory."""
        if isinstance(error, MemoryError):
            try:
                if self._writer.has_committed():
                    self._committed(flight)
                    return
            except (MemoryError, apsw.Error):
                flight.bug = error  # nothing is known
        self._roll_back(flight, error)

    def _roll_back(self, flight: Flight, error: BaseException) -> None:
        flight.stage = Stage.DECIDED
        try:
            self._writer.rollback(flight.before)
        except MemoryError:  # it may be small, and has to be done
            self._writer.rollback(flight.before)
        if isinstance(error, apsw.Error | OSError):
            full = self._space.failed(error)
            flight.fail(StoreFull if full else partial(StoreUnavailable, str(error)))
        elif isinstance(error, MemoryError) and flight.bug is None:
            flight.fail(partial(StoreUnavailable, NO_MEMORY))
        else:
            flight.bug = error
            flight.answers.clear()
            flight.events.clear()

    async def _land(self) -> None:
        """Wait until the batch in flight is durable, announce and answer it.

        Raises:
            StoreBroken: the disk failed, and what is on it is unknown.
        """
        flight = self._flight
        if flight is None:
            return  # the queue was empty when its turn came
        if flight.stage is Stage.OPEN:  # there was no memory to go on
            self._not_committed(flight, MemoryError(NO_MEMORY))
        elif flight.stage is Stage.COMMITTED:
            self._committed(flight)
        failure = flight.failure
        if failure is not None:
            pass
        elif flight.syncing and self._sync is not None:
            try:
                with trio.CancelScope(shield=True):  # as long as the disk takes
                    await self._sync.wait()
            except (OSError, MemoryError) as error:
                failure = error if isinstance(error, OSError) else OSError(errno.ENOMEM, str(error))
        else:  # a long queue must not keep the event loop
            await trio.lowlevel.cancel_shielded_checkpoint()
        if failure is not None:
            flight.fail(partial(errors.StoreUndecided, str(failure)))  # the log has it
            self._closed = self.broken = True
        try:
            if flight.events:
                self.commits += 1
                self.writes += len(flight.events)
                self.largest_batch = max(self.largest_batch, len(flight.events))
                try:
                    self._announce(flight.events)
                except MemoryError:  # before any of it
                    self._announce(flight.events)
        finally:
            self._flight = None
            try:
                flight.answer()
            except MemoryError:
                flight.answer()
            self._slot.release()
            self._aim(flight)
        if failure is not None:
            raise StoreBroken(failure) from failure
        if flight.bug is not None:
            raise flight.bug

    def _aim(self, flight: Flight) -> None:
        """Decide how many writes the next batch waits for.

        With a quick disk some of the writers stay behind: as many as are made ready while the
        others are synced, so that none waits for the disk, and not more, so that many share a
        sync.  With a disk that takes longer than all of them do, all go together.
        """
        now = trio.current_time()
        between, self._landed = now - self._landed, now
        if not flight.syncing:
            return
        wrote = len(flight.batch)
        seen = wrote + len(self._queue)
        took = now - flight.began  # and what the event loop did before it looked
        self._quickest = min(took, self._quickest * FORGETS)
        idle = now - max(self._joined, flight.began)
        if seen < TURNS_FROM or took > seen * (between - idle) / wrote:
            self._behind = 0
        else:
            meanwhile = math.ceil(self._quickest * wrote / between) if between else 0
            self._behind = max(1, min(meanwhile, seen // 2))
        self._wanted = min(seen - self._behind, MAX_BATCH)

    def close(self) -> None:
        """Answer what still waits with `StoreClosed`, and take no more."""
        self._closed = True
        while self._queue:
            trio.lowlevel.reschedule(self._queue.popleft().task, outcome.Error(StoreClosed()))
