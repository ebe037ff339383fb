"""Making a file's bytes durable beside the event loop.

What is written is in the hands of the system; it is on the disk after a *sync*.  One is begun and
waited for apart, so that the event loop goes on in between.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from kubetrio.env import Env, Worker
from kubetrio.runtime.files import sync_directory
from kubetrio.store.sqlite.uring import open_ring

fdatasync = getattr(os, "fdatasync", os.fsync)


class FileSync(Protocol):
    """Syncs one file, one time after the other."""

    def start(self) -> None:
        """Begin a sync of all that was written; `wait` must follow."""
        ...

    async def wait(self) -> None:
        """Wait for the end of the sync; not cancellable.

        Raises:
            OSError: what was written may not be on the disk.
        """
        ...


class WorkerSync:
    """Syncs that a worker, as a rule a thread, waits for.

    Args:
        fd: the file.
        worker: runs no other calls.
    """

    def __init__(self, fd: int, worker: Worker) -> None:
        self._sync = partial(fdatasync, fd)
        self._worker = worker

    def start(self) -> None:
        """See `FileSync`."""
        self._worker.start(self._sync)

    async def wait(self) -> None:
        """See `FileSync`."""
        await self._worker.wait()


@contextmanager
def open_sync(path: Path, env: Env) -> Iterator[FileSync]:
    """Syncs of a file, as long as the block lasts; what it holds now is synced first.

    Args:
        path: the file, which exists.
        env: says whether there are threads.

    Raises:
        OSError: the file cannot be opened or synced.
    """
    with ExitStack() as stack:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        stack.callback(os.close, fd)
        fdatasync(fd)
        sync_directory(path.parent)  # the file may be a new one
        ring: FileSync | None = None
        if env.own_thread is not None:
            with suppress(OSError):
                ring = stack.enter_context(open_ring(fd))
        yield ring or WorkerSync(fd, stack.enter_context(env.for_one_caller()))
