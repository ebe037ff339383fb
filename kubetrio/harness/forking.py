"""Copies of a server that go on from where it is, and leave no trace in it.

The process is copied with all that is in it: what is stored, caches, informers, queues, timers, the
clocks and the state of all randomness.  So a copy answers byte for byte as the server itself would,
and each copy as the one before.  Bringing a running server back in place cannot do that: timers
count on a clock that does not go back, and what a controller remembers of its tries is not stored.

The system copies pages when they are first written to, so a copy costs some milliseconds.
Source: fork(2); docs of SQLite, "How To Corrupt An SQLite Database File", 2.6.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NoReturn, TypeVar

from kubetrio.env import monotonic, running_threads
from kubetrio.harness.setup import DISK, Setup

T = TypeVar("T")
LIMIT_S = 600.0
READ_BYTES = 65536


class ForkError(RuntimeError):
    """A server cannot be copied, or a copy did not end in order; the text says why."""


def check_forkable(setup: Setup) -> None:
    """See that a server can be copied with its process.

    Raises:
        ForkError: it cannot.
    """
    if not hasattr(os, "fork"):
        raise ForkError("this system cannot copy a process")
    if setup.storage == DISK:
        raise ForkError("a database on a disk cannot be used by two processes: keep it in memory")
    if setup.listen:
        raise ForkError("a copy would answer on the same socket: do not listen")
    if (number := running_threads()) > 1:
        raise ForkError(f"{number} threads run in this process, and a copy would have one")


async def forked(setup: Setup, do: Callable[[], Awaitable[T]], *, limit_s: float = LIMIT_S) -> T:
    """Call a function in a copy of this process, and return what it returns.

    The event loop of this process stands still meanwhile.  Result and exception are pickled.

    Args:
        setup: of the server that is copied.
        do: awaited in the copy.
        limit_s: seconds, of the real clock, after which the copy is ended.

    Raises:
        ForkError: the server cannot be copied, the copy ended early, or what it returned or raised
            cannot be pickled.
    """
    check_forkable(setup)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        await _in_copy(do, writing)
    os.close(writing)
    try:
        data = _read(reading, limit_s)
    finally:
        os.close(reading)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)  # it has told what there is to tell
        os.waitpid(pid, 0)  # noqa: ASYNC222  (nothing may run meanwhile)
    if not data:
        raise ForkError("the copy ended without a result")
    error, value = pickle.loads(data)  # noqa: S301  (written by a copy of this process)
    if error is not None:
        raise error
    result: T = value
    return result


async def _in_copy(do: Callable[[], Awaitable[object]], writing: int) -> NoReturn:
    """Call the function, write what comes of it, and end the process at once."""
    gc.freeze()  # so that the collector does not write to what is shared
    try:
        try:
            outcome: tuple[BaseException | None, object] = (None, await do())
        except BaseException as error:  # noqa: BLE001  (raised in the process that waits)
            outcome = (error, None)
        _write(writing, _pickled(outcome))
    finally:
        os._exit(0)


def _pickled(outcome: tuple[BaseException | None, object]) -> bytes:
    try:
        data = pickle.dumps(outcome)
        pickle.loads(data)  # noqa: S301  (exceptions may fail here only)
    except Exception as problem:  # noqa: BLE001  (told, with what cannot be pickled)
        error, value = outcome
        lines = traceback.format_exception(error) if error else [repr(value)]
        told = ForkError(f"cannot be pickled ({problem}): {''.join(lines)}")
        return pickle.dumps((told, None))
    return data


def _write(writing: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(writing, view) :]


def _read(reading: int, limit_s: float) -> bytes:
    """Bytes up to the end of a pipe.

    Raises:
        ForkError: it takes longer than the limit, in seconds.
    """
    end, parts = monotonic() + limit_s, bytearray()
    while True:
        readable, _, _ = select.select([reading], [], [], max(0.0, end - monotonic()))
        if not readable:
            raise ForkError(f"the copy did not end within {limit_s:g} seconds")
        data = os.read(reading, READ_BYTES)
        if not data:
            return bytes(parts)
        parts += data
