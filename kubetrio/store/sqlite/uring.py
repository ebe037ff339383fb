"""Syncing a file by io_uring (Linux 5.6 and newer): the kernel's own threads wait for the disk.

A thread of Python has to take the interpreter lock back after each call, and an event loop that is
busy pays for that with every system call it makes meanwhile.  Here one system call begins the sync,
and an eventfd tells the event loop of its end.

Where io_uring is not to be had (another system, an old kernel, a container that forbids it),
opening a ring raises `OSError`.

Source: io_uring(7), io_uring_setup(2), io_uring_enter(2), io_uring_register(2).
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import trio

ENTRIES = 2  # one sync at a time; the kernel wants a power of two
SETUP, ENTER, REGISTER = 425, 426, 427  # the same numbers on all machines since 5.1
REGISTER_EVENTFD = 4
RINGS_AT, ENTRIES_AT = 0, 0x10000000  # where in the ring's file they are mapped
SINGLE_MAP = 1  # a feature: both rings are in one mapping
OP_FSYNC, DATA_ONLY = 3, 1
COUNT = struct.Struct("=I")
# Parameters of the set-up: sizes and features, then where the parts of the two rings are.
SIZES, OFFSETS = struct.Struct("=II12xI"), struct.Struct("=8I")
SUBMITTED_AT, COMPLETED_AT, PARAMETERS_BYTES = 40, 80, 120
# An entry: operation, file, what is synced, what comes back with its completion.
ENTRY, ENTRY_BYTES = struct.Struct("=BBHiQQIIQ24x"), 64
COMPLETION = struct.Struct("=QiI")
EVENT_BYTES = 8


class Ring:
    """A ring that syncs one file; made by `open_ring`.

    Args:
        ring: file descriptor of the ring.
        event: eventfd that counts completions.
        fd: the file.
        parameters: as the kernel filled them in.
    """

    def __init__(self, ring: int, event: int, fd: int, parameters: bytes) -> None:
        entries, completions, features = SIZES.unpack_from(parameters)
        if not features & SINGLE_MAP:
            raise OSError("this io_uring is too old")
        _, self._tail_at, _, _, _, _, array_at, _ = OFFSETS.unpack_from(parameters, SUBMITTED_AT)
        self._head_at, _, mask_at, _, _, self._completions_at, _, _ = OFFSETS.unpack_from(
            parameters, COMPLETED_AT
        )
        size = max(
            array_at + entries * COUNT.size, self._completions_at + completions * COMPLETION.size
        )
        self._rings = mmap.mmap(ring, size, offset=RINGS_AT)
        self._entries = mmap.mmap(ring, entries * ENTRY_BYTES, offset=ENTRIES_AT)
        self._mask: int = COUNT.unpack_from(self._rings, mask_at)[0]
        for index in range(entries):  # all alike, and never changed
            at = index * ENTRY_BYTES
            ENTRY.pack_into(self._entries, at, OP_FSYNC, 0, 0, fd, 0, 0, 0, DATA_ONLY, 0)
            COUNT.pack_into(self._rings, array_at + index * COUNT.size, index)
        self._event = event
        self._fd = fd
        self._begun = self._ended = 0
        self._call = _system_call()
        self._enter = (
            ctypes.c_long(ENTER),
            *map(ctypes.c_uint, (ring, 1, 0, 0)),
            None,
            ctypes.c_size_t(0),
        )

    def start(self) -> None:
        """Begin a sync of all that was written; `wait` must follow."""
        self._begun += 1
        COUNT.pack_into(self._rings, self._tail_at, self._begun & 0xFFFFFFFF)
        if self._call(*self._enter) != 1:
            # Out of memory for a moment, say: the kernel has not seen the entry.
            self._begun -= 1
            COUNT.pack_into(self._rings, self._tail_at, self._begun & 0xFFFFFFFF)

    async def wait(self) -> None:
        """Wait for the end of the sync.

        Raises:
            OSError: what was written may not be on the disk.
        """
        if self._begun == self._ended:  # it could not begin
            os.fdatasync(self._fd)
            return
        await trio.lowlevel.wait_readable(self._event)
        os.read(self._event, EVENT_BYTES)
        at = self._completions_at + (self._ended & self._mask) * COMPLETION.size
        result: int = COMPLETION.unpack_from(self._rings, at)[1]
        self._ended += 1
        COUNT.pack_into(self._rings, self._head_at, self._ended & 0xFFFFFFFF)
        if result < 0:
            raise OSError(-result, os.strerror(-result))

    def close(self) -> None:
        """Give the memory back."""
        self._rings.close()
        self._entries.close()


def _system_call() -> Callable[..., int]:
    # One that keeps the interpreter lock: what is called returns at once.
    call = ctypes.PyDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    function: Callable[..., int] = call
    return function


@contextmanager
def open_ring(fd: int) -> Iterator[Ring]:
    """A ring for the syncs of one file, as long as the block lasts.

    Args:
        fd: file descriptor, which stays open as long.

    Raises:
        OSError: there is no io_uring here.
    """
    if sys.platform != "linux" or not hasattr(os, "eventfd"):
        raise OSError("io_uring is of Linux")
    call = _system_call()
    parameters = ctypes.create_string_buffer(PARAMETERS_BYTES)
    ring = call(ctypes.c_long(SETUP), ctypes.c_uint(ENTRIES), parameters)
    if ring < 0:
        raise _last_error()
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, ring)
        event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        stack.callback(os.close, event)
        event_at = ctypes.byref(ctypes.c_int(event))
        numbers = map(ctypes.c_uint, (ring, REGISTER_EVENTFD))
        if call(ctypes.c_long(REGISTER), *numbers, event_at, ctypes.c_uint(1)) < 0:
            raise _last_error()
        opened = Ring(ring, event, fd, parameters.raw)
        stack.callback(opened.close)
        yield opened


def _last_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
