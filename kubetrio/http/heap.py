"""Holes in the heap of the C library go back to the system.

A flood of connections leaves holes all over the heap of the C library, which gives back only what
is free at its very end: 70 MB of 3,000 half-open TLS handshakes stayed for as long as the process
lived.  So where memory has grown the library is told every few seconds to give back the holes, and
less often while there are none.  The heap is locked meanwhile, some 8 ms for 80 MB, so that little
and often is better than much at once.

Source: malloc_trim(3), proc_pid_statm(5).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from io import FileIO
from pathlib import Path
from typing import NoReturn

import trio

from kubetrio.env import RunBlocking

STATM = Path("/proc/self/statm")
INTERVAL_S = 5.0
MOST_INTERVAL_S = 30.0
GROWN_BYTES = 16_000_000


def opened() -> FileIO:
    """`STATM`, to be read again and again without a new descriptor.

    Raises:
        OSError: not on this system.
    """
    return STATM.open("rb", buffering=0)


def resident_bytes(statm: int) -> int:
    """Resident memory of this process, without the pages of files that it has mapped.

    Args:
        statm: descriptor of what was `opened`.
    """
    _, resident, shared, *_ = map(int, os.pread(statm, 256, 0).split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def trimmer() -> Callable[[], object] | None:
    """What gives free memory back to the system; None where the C library has no such thing."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return None if trim is None or not STATM.exists() else partial(trim, 0)


@dataclass(slots=True)
class Heap:
    """Gives memory back.

    Args:
        resident: how much the process has, in bytes.
        trim: gives back what is free.
        thread: runs a blocking call without stalling the event loop.
    """

    resident: Callable[[], int]
    trim: Callable[[], object]
    thread: RunBlocking

    async def run(self) -> NoReturn:
        """Look every few seconds, until cancelled."""
        least = self.resident()
        pause_s = INTERVAL_S
        while True:
            await trio.sleep(pause_s)
            before = self.resident()
            least = min(least, before)
            if before < least + GROWN_BYTES:
                pause_s = INTERVAL_S
                continue
            await self.thread(self.trim)
            given = before - self.resident()
            pause_s = INTERVAL_S if given > GROWN_BYTES else min(2 * pause_s, MOST_INTERVAL_S)


async def trim_heap(thread: RunBlocking) -> NoReturn:
    """Give memory back until cancelled, where that can be.

    Args:
        thread: runs a blocking call without stalling the event loop.
    """
    trim = trimmer()
    if trim is None:
        await trio.sleep_forever()
    with opened() as file:
        await Heap(partial(resident_bytes, file.fileno()), trim, thread).run()
