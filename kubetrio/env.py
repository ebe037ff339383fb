"""Every source of non-determinism in one value.

Time inside a run is Trio's (`trio.current_time()`); everything else that differs from run to run,
wall clock, randomness, identities and blocking calls, comes from an `Env`.  A server built on a
seeded `Env` answers a given script with the same bytes every time, under a mock clock.
"""

from __future__ import annotations

import datetime as dt
import random  # noqa: TID251  (this is the one place)
import socket
import threading  # noqa: TID251  (this is the one place)
import time  # noqa: TID251  (this is the one place)
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar, TypeVarTuple

import outcome
import trio
import trio.from_thread
import trio.to_thread  # noqa: TID251  (this is the one place)

T = TypeVar("T")
Args = TypeVarTuple("Args")


class RunBlocking(Protocol):
    """Runs a blocking call without stalling the event loop."""

    async def __call__(self, fn: Callable[[*Args], T], *args: *Args) -> T:
        """Call `fn(*args)`; not cancellable once started, see `end_if_cancelled`."""
        ...


class RunApart(Protocol):
    """Makes a blocking call, here or in another process."""

    def __call__(self, call: Callable[[], T], /) -> T:
        """Return or raise what the call does."""
        ...


def _in_place(call: Callable[[], T], /) -> T:
    return call()


def _threaded(limit: int) -> RunBlocking:
    limiter: trio.CapacityLimiter | None = None

    async def run(fn: Callable[[*Args], T], *args: *Args) -> T:
        nonlocal limiter
        if limiter is None:
            limiter = trio.CapacityLimiter(limit)
        return await trio.to_thread.run_sync(fn, *args, limiter=limiter)  # noqa: TID251

    return run


def end_if_cancelled() -> None:
    """Raise `trio.Cancelled` in a thread whose caller is cancelled; elsewhere, do nothing.

    For long calls of `RunBlocking`, which cannot be cancelled from outside.
    """
    try:
        trio.from_thread.check_cancelled()
    except RuntimeError:
        return  # it runs in place


class Worker(Protocol):
    """Runs the blocking calls of one caller, one at a time."""

    def start(self, call: Callable[[], object]) -> None:
        """Begin a call; `wait` must follow."""
        ...

    async def wait(self) -> Any:
        """What the call returned, or raises what it raised; not cancellable."""
        ...


def _not_cancellable(_: object) -> trio.lowlevel.Abort:
    return trio.lowlevel.Abort.FAILED


class _ThreadWorker:
    """A thread; nothing is looked up, named or limited for a call."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Callable[[], object], trio.lowlevel.TrioToken] | None]
        self._jobs = SimpleQueue()
        self._done: outcome.Outcome[object] | None = None
        self._task: trio.lowlevel.Task | None = None
        self._thread = threading.Thread(target=self._work, name="kubetrio own thread", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            call, loop = job
            loop.run_sync_soon(self._finished, outcome.capture(call))

    def _finished(self, done: outcome.Outcome[object]) -> None:
        self._done = done
        if self._task is not None:
            trio.lowlevel.reschedule(self._task)
            self._task = None

    def start(self, call: Callable[[], object]) -> None:
        """See `Worker`."""
        self._done = None
        self._jobs.put((call, trio.lowlevel.current_trio_token()))

    async def wait(self) -> Any:
        """See `Worker`."""
        if self._done is None:
            self._task = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(_not_cancellable)
        if self._done is None:
            raise AssertionError("no other caller wakes the task")
        return self._done.unwrap()

    def end(self) -> None:
        """Let the thread end."""
        self._jobs.put(None)
        self._thread.join()


@contextmanager
def own_thread() -> Iterator[Worker]:
    """A thread for one caller, as long as the block lasts; it costs half of one from a pool."""
    worker = _ThreadWorker()
    try:
        yield worker
    finally:
        worker.end()


class _InlineWorker:
    """Has a call run when it is waited for."""

    def __init__(self, run: RunBlocking) -> None:
        self._run = run
        self._call: Callable[[], object] = bool

    def start(self, call: Callable[[], object]) -> None:
        """See `Worker`."""
        self._call = call

    async def wait(self) -> Any:
        """See `Worker`."""
        with trio.CancelScope(shield=True):
            return await self._run(self._call)


async def run_inline(fn: Callable[[*Args], T], *args: *Args) -> T:
    """Run a blocking call in place: for tests, where threads and mock clocks do not mix."""
    await trio.lowlevel.checkpoint()
    return fn(*args)


class SystemRandom(random.SystemRandom):
    """The system's randomness, taken in blocks: a system call costs more than a uid is worth."""

    BLOCK_BYTES = 4096

    def __init__(self) -> None:
        super().__init__()
        self._block = b""
        self._used = 0

    def randbytes(self, n: int) -> bytes:
        """So many random bytes."""
        begin = self._used
        end = begin + n
        if end > len(self._block):
            if n > self.BLOCK_BYTES:
                return super().randbytes(n)
            self._block, begin, end = super().randbytes(self.BLOCK_BYTES), 0, n
        self._used = end
        return self._block[begin:end]

    def getrandbits(self, k: int) -> int:
        """An integer of `k` random bits.

        Raises:
            ValueError: a negative number of bits.
        """
        if k < 0:
            raise ValueError("number of bits must be non-negative")
        size = (k + 7) // 8
        return int.from_bytes(self.randbytes(size), "big") >> (size * 8 - k)


@dataclass(frozen=True, slots=True, kw_only=True)
class Env:
    """What a server takes from outside.

    Args:
        now: wall clock, seconds since the epoch.
        rng: source of randomness; `SystemRandom` in production.
        run_blocking: runs blocking calls of the server itself (key generation, compression).
        storage: runs those of the store, which wait for no other calls; None: `run_blocking`.
        foreign: runs those over bytes that are not the server's own (pages of pods), which may
            keep only each other waiting; None: `run_blocking`.
        bodies: runs those over large bodies of requests, one at a time; None: `run_blocking`.
        run_apart: makes a call whose imports need not stay in memory; in place unless it is
            `kubetrio.runtime.apart.in_child`.
        own_thread: makes what runs the blocking calls of one caller that has many (syncs); None:
            that is `run_blocking`, and nothing else waits for the system beside the event loop.
        clients_now: wall clock of clients, where it is another; certificates are made by it.
        judges_now: wall clock by which clients' certificates are judged; None: `clients_now`, or
            `now` where that is None.
        hostname: name of the machine, by which a server names its own Lease.
    """

    now: Callable[[], float] = time.time
    rng: random.Random = field(default_factory=SystemRandom)
    run_blocking: RunBlocking = field(default_factory=lambda: _threaded(16))
    storage: RunBlocking | None = field(default_factory=lambda: _threaded(16))
    foreign: RunBlocking | None = field(default_factory=lambda: _threaded(4))
    bodies: RunBlocking | None = field(default_factory=lambda: _threaded(1))
    run_apart: RunApart = _in_place
    own_thread: Callable[[], AbstractContextManager[Worker]] | None = own_thread
    clients_now: Callable[[], float] | None = None
    judges_now: Callable[[], float] | None = None
    hostname: Callable[[], str] = socket.gethostname

    def for_storage(self) -> Env:
        """Return a copy with the store's threads for blocking calls."""
        return replace(self, run_blocking=self.storage or self.run_blocking)

    @property
    def run_foreign(self) -> RunBlocking:
        """See `foreign`."""
        return self.foreign or self.run_blocking

    @property
    def run_bodies(self) -> RunBlocking:
        """See `bodies`."""
        return self.bodies or self.run_blocking

    def for_one_caller(self) -> AbstractContextManager[Worker]:
        """See `own_thread`."""
        if self.own_thread is None:
            return nullcontext(_InlineWorker(self.run_blocking))
        return self.own_thread()

    @property
    def certificates_now(self) -> Callable[[], float]:
        """See `judges_now`."""
        return self.judges_now or self.clients_now or self.now

    def new_uid(self) -> str:
        """A version 4 UUID (RFC 9562) in canonical text."""
        x = self.rng.randbytes(16).hex()
        return f"{x[:8]}-{x[8:12]}-4{x[13:16]}-{_VARIANT[x[16]]}{x[17:20]}-{x[20:]}"

    def utcnow(self) -> dt.datetime:
        """The time by the clocks of clients, which check certificates with them."""
        return dt.datetime.fromtimestamp((self.clients_now or self.now)(), dt.UTC)


# The digit that tells the variant has two random bits (RFC 9562, 4.1).
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))


STARTED = 1_700_000_000.0
"""Wall clock at the first look of a seeded `Env`, unless said otherwise."""
SEEDED_HOST = "kubetrio"
"""Name of the machine in a seeded `Env`, whichever that is."""


def seeded(seed: int, *, start: float | None = None) -> Env:
    """An Env for reproducible runs: seeded randomness, wall clock tied to Trio's clock.

    The same script gets the same bytes from a server in memory under `trio.testing.MockClock`.
    Under Trio's own clock the times in the answers are those that pass; names, uids and the order
    of everything else stay the same as long as requests come one after another.  A server with
    sockets also makes keys and certificates, by the system's randomness.

    Args:
        seed: seed of the random generator.
        start: wall clock at the first look, seconds since the epoch.  None: `STARTED`, but the
            real clock for certificates, because clients check them by theirs.
    """
    origin: list[float] = []
    begin = STARTED if start is None else start

    def now() -> float:
        try:
            current = trio.current_time()
        except RuntimeError:
            return begin  # outside Trio, while a server is being built
        if not origin:
            origin.append(current)
        return begin + current - origin[0]

    rng = random.Random(seed)  # noqa: S311
    return Env(
        now=now,
        rng=rng,
        run_blocking=run_inline,
        storage=None,
        foreign=None,
        bodies=None,
        own_thread=None,
        clients_now=time.time if start is None else None,
        hostname=lambda: SEEDED_HOST,
    )


def running_threads() -> int:
    """Number of Python's threads that run in this process."""
    return threading.active_count()


def monotonic() -> float:
    """Seconds of a monotonic clock for measuring work outside Trio."""
    return time.perf_counter()
