"""``kubetrio status``: whether a server runs on a data directory, and how it is.

Exit codes are those of the Linux Standard Base for ``status``: 0 runs, 3 does not run, 4 cannot be
told; a server that runs and is not ready is 1.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from kubetrio.cli.arguments import add_cluster, add_data_dir, duration
from kubetrio.cli.running import Found, State, look, until
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call

NOT_RUNNING, CANNOT_TELL = 3, 4
CODES = {State.READY: 0, State.STOPPED: NOT_RUNNING}


def add(parser: flags.Parser) -> None:
    """Its arguments."""
    parser.description = "Say whether a server runs on a data directory, and whether it is ready."
    parser.epilog = """\
examples:
  kubetrio status
  kubetrio status --wait 10s --data-dir /var/lib/kubetrio
  kubetrio status dev -o json                 the cluster that kubetrio create dev has made

exit codes: 0 ready, 1 running and not ready, 3 not running, 4 cannot be told
"""
    add_cluster(parser)
    add_data_dir(parser)
    parser.add_argument(
        "--wait", type=duration, metavar="DURATION", nargs="?", const=60.0, default=0.0,
        help="wait until the server is ready, at most so long (60s if nothing follows)",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="form (default: text)"
    )


def run(call: Call) -> int:
    """Look, for as long as was asked, and print."""
    call.refuse_rest()
    options = call.options
    directory: Path = options.data_dir
    asked = partial(_look, directory, missing=not options.wait)
    try:
        status = trio.run(until, asked, State.READY, options.wait)
    except OSError as error:
        why = "is not there" if error.errno == errno.ENOENT else str(error.strerror)
        print(f"kubetrio: data directory {directory} {why}", file=sys.stderr)
        return CANNOT_TELL
    print(as_json(directory, status) if options.output == "json" else as_text(directory, status))
    return CODES.get(status.state, 1)


def _look(directory: Path, *, missing: bool) -> Found:
    """As `look`; a data directory that is waited for need not be there yet."""
    if not missing and not directory.exists():
        return Found(state=State.STOPPED)
    return look(directory)


def as_text(directory: Path, found: Found) -> str:
    """One line."""
    if found.state is State.STOPPED:
        return f"kubetrio is not running on {directory}"
    process = f"process {found.pid}" if found.pid else "a process that is not known"
    record = found.record
    if record is None:
        return (
            f"kubetrio is running on {directory}: {process}, which has not said where it listens: "
            "it is starting, or is part of another program"
        )
    where = f"{process} at {record.url} since {record.since}"
    if found.state is State.READY:
        return f"kubetrio is ready: {where}"
    if found.state is State.NOT_READY:
        return f"kubetrio is not ready: {where}: {', '.join(found.failing)}"
    return f"kubetrio does not answer: {where}: {found.reason}"


def as_json(directory: Path, found: Found) -> str:
    """An object with what is known; nothing is left out."""
    record = found.record
    value = {
        "state": found.state.value,
        "ready": found.state is State.READY,
        "running": found.state is not State.STOPPED,
        "pid": found.pid or None,
        "address": record.url if record else None,
        "since": record.since if record else None,
        "log": (record.log or None) if record else None,
        "failing": list(found.failing),
        "reason": found.reason or None,
        "dataDirectory": os.fspath(directory.absolute()),
    }
    return json.dumps(value, indent=2)
