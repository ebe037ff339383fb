"""``kubetrio stop``: end the server of a data directory in order, and wait until it has ended."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from kubetrio.cli.arguments import add_cluster, add_data_dir, duration
from kubetrio.cli.running import Found, State, until
from kubetrio.flags import parser as flags
from kubetrio.store.lock import holder

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call

TIMEOUT_S = 60.0


def add(parser: flags.Parser) -> None:
    """Its arguments."""
    parser.description = (
        "End the server of a data directory with SIGTERM, and wait until it has ended."
    )
    parser.epilog = """\
examples:
  kubetrio stop
  kubetrio stop dev                           the cluster that kubetrio create dev has made
  kubetrio stop --data-dir /var/lib/kubetrio --timeout 30s

exit codes: 0 no server runs any more, 1 it runs still
"""
    add_cluster(parser)
    add_data_dir(parser)
    parser.add_argument(
        "--timeout", type=duration, metavar="DURATION", default=TIMEOUT_S,
        help="how long to wait until it has ended (default: 60s)",
    )  # fmt: skip


class Told(Enum):
    """What became of a signal."""

    TOLD = "told"
    GONE = "gone"
    HIDDEN = "hidden"
    """The process that has the data directory is not visible to this one."""


def run(call: Call) -> int:
    """Tell the server to end; exit code 0 if none runs any more."""
    call.refuse_rest()
    return end(call.options.data_dir, call.options.timeout)


def end(directory: Path, timeout_s: float) -> int:
    """End the server of a data directory and wait; returns 0 if none runs any more.

    Args:
        directory: the data directory.
        timeout_s: how long to wait.
    """
    try:
        pid = holder(directory)
        if pid is None:
            print(f"kubetrio is not running on {directory}")
            return 0
        told = tell(pid, partial(holder, directory))
        if told is Told.HIDDEN:
            print(
                f"kubetrio: data directory {directory} is in use by "
                f"{f'process {pid}' if pid else 'a process'} that cannot be seen from here: "
                "stop it where it runs, such as in its container",
                file=sys.stderr,
            )
            return 1
        looking = partial(_look, directory, pid)
        status = trio.run(until, looking, State.STOPPED, timeout_s)
    except OSError as error:
        why = "is not there" if error.errno == errno.ENOENT else str(error.strerror)
        print(f"kubetrio: data directory {directory}: {why}", file=sys.stderr)
        return 1
    if status.state is State.STOPPED:
        print(f"stopped: process {pid}")
        return 0
    print(
        f"kubetrio: process {pid} was told to end and runs still after {timeout_s:g}s; "
        f"kill -9 {pid} ends it at once, and what it acknowledged is on the disk",
        file=sys.stderr,
    )
    return 1


def _look(directory: Path, pid: int) -> Found:
    """Whether a process has a data directory still; another one is none of this command's."""
    has = holder(directory) == pid
    return Found(state=State.UNKNOWN, pid=pid) if has else Found(state=State.STOPPED)


def tell(pid: int, held_by: Callable[[], int | None]) -> Told:
    """Tell a process that has a data directory to end, and no other that has got its pid since.

    Where the system has descriptors of processes, one is opened first: if the process has the data
    directory still, the descriptor is of it, whatever becomes of the number.

    Args:
        pid: of the process; 0 if it is not known.
        held_by: says who has the data directory.

    Raises:
        PermissionError: it is another user's.
    """
    if not pid:
        return Told.HIDDEN
    fd = -1
    try:
        if hasattr(os, "pidfd_open"):
            fd = os.pidfd_open(pid)
        now = held_by()
        if now != pid:
            return Told.GONE
        if fd >= 0:
            signal.pidfd_send_signal(fd, signal.SIGTERM)
        else:
            os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return Told.HIDDEN if held_by() == pid else Told.GONE
    finally:
        if fd >= 0:
            os.close(fd)
    return Told.TOLD
