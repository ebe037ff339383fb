"""``serve --detach``: the server in a process of its own, the command until it is ready.

The process is forked before anything is begun: it has the same code, arguments and parts of an
embedder's.  Until the server is ready, what it prints is in a file without a name, so that a start
that fails for a bad flag leaves nothing behind.

Source: setsid(2) and daemon(7), "New-Style Daemons"; what systemd runs needs none of it.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, NoReturn

from kubetrio.store.lock import holder

Ready = Callable[[str], None]
"""Tells that the server is ready, with what there is to say of it."""


def detached(
    work: Callable[[Ready], int], data_dir: Path, log: Path, wait_s: float, name: str = ""
) -> int:
    """Run a server in the background; returns the exit code of the command when it is ready.

    Args:
        work: runs the server until it ends; returns its exit code.
        data_dir: its data directory.
        log: file that its output goes to, once the data directory is there.
        wait_s: how long to wait until it is ready.
        name: of its cluster, empty where it was started by its directory.
    """
    if not hasattr(os, "fork"):
        print("kubetrio: --detach: this system has no fork; use its services", file=sys.stderr)
        return 1
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as output, os.fdopen(reading, "rb") as answer:
        pid = os.fork()
        if not pid:
            answer.close()
            _child(work, output, log, writing)
        os.close(writing)
        try:
            ready, _, _ = select.select([answer], (), (), wait_s)
        except KeyboardInterrupt:
            ready = []
        screen = answer.read().decode() if ready else ""
        if screen:
            stop = f"kubetrio stop {_which(data_dir, name)}"
            with contextlib.suppress(OSError):  # who reads has seen enough; it runs all the same
                print(f"{screen}\n{stop}  # ends it; log: {log}", flush=True)
            return 0
        if not ready:
            status = f"kubetrio status {_which(data_dir, name)} --wait"
            print(f"kubetrio: process {pid} is still starting; see {status}", file=sys.stderr)
            return 1
        _, status_code = os.waitpid(pid, 0)
        output.seek(0)
        _tell_failure(output.read(), status_code, data_dir, log)
        return 1


def _which(data_dir: Path, name: str) -> str:
    """Arguments by which commands find the server."""
    return name or f"--data-dir {shlex.quote(os.fspath(data_dir))}"


def _child(work: Callable[[Ready], int], output: IO[bytes], log: Path, writing: int) -> NoReturn:
    """Be the server, in a session of its own; ends the process."""
    code = 1
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        for fd in (1, 2):
            os.dup2(output.fileno(), fd)

        def ready(screen: str) -> None:
            """Go on with the log, and let the command return."""
            _go_on(output, log)
            with contextlib.suppress(OSError):  # it does not wait any more
                os.write(writing, screen.encode())
            os.close(writing)

        code = work(ready)
    except BaseException:
        import traceback

        traceback.print_exc()
        raise
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _go_on(output: IO[bytes], log: Path) -> None:
    """Print into the log from now on, behind what was printed before."""
    sys.stdout.flush()
    sys.stderr.flush()
    fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    output.seek(0)
    os.write(fd, output.read())
    for standard in (1, 2):
        os.dup2(fd, standard)
    os.close(fd)


def _tell_failure(said: bytes, status: int, data_dir: Path, log: Path) -> None:
    """Why the server is not ready, in a line; all it said goes into the log, if that may be."""
    place = ""
    if data_dir.is_dir() and holder(data_dir) is None:  # else the log is another server's
        with contextlib.suppress(OSError), log.open("ab") as file:
            file.write(said)
            place = f" (log: {log})"
    lines = said.decode(errors="replace").splitlines()
    told = [line for line in lines if line.startswith("kubetrio: ")]
    if not told:
        code = os.waitstatus_to_exitcode(status)
        how = f"ended with code {code}" if code >= 0 else f"was ended by {_signal(-code)}"
        if not place:
            sys.stderr.write(said.decode(errors="replace"))
        told = [f"kubetrio: the server {how} before it was ready"]
    print(f"{told[-1]}{place}", file=sys.stderr)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
