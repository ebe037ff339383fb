"""Numbers of other processes from /proc (Linux), and starting and ending servers."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import tools
from benchmarks.clock import perf_counter, sleep
from benchmarks.errors import BenchError, Unavailable

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")


def family(pids: Sequence[int]) -> list[int]:
    """Processes and their descendants."""
    found = list(pids)
    for pid in found:
        for task in (PROC / str(pid) / "task").glob("*/children"):
            found.extend(int(child) for child in task.read_text().split())
    return found


def cpu_seconds(pids: Sequence[int]) -> float:
    """CPU time so far, user and system, of processes and their descendants (10 ms ticks).

    Raises:
        Unavailable: no process given, as for a server somewhere else.
    """
    return sum(
        sum(int(field) for field in _stat(pid).rsplit(")", 1)[1].split()[11:13])
        for pid in _some(pids)
    ) / float(TICKS)


def memory_mb(pids: Sequence[int], *, peak: bool = False) -> float:
    """Resident memory now or at its peak, in MB of 10^6 bytes, descendants included.

    Raises:
        Unavailable: no process given, as for a server somewhere else.
    """
    return _status_mb("VmHWM" if peak else "VmRSS", pids)


def anonymous_mb(pids: Sequence[int]) -> float:
    """Resident memory now without mapped files, in MB of 10^6 bytes, descendants included.

    Raises:
        Unavailable: no process given, as for a server somewhere else.
    """
    return _status_mb("RssAnon", pids)


def _status_mb(name: str, pids: Sequence[int]) -> float:
    """Sum of a size that the system tells of each process (proc_pid_status(5))."""
    total = 0
    for pid in _some(pids):
        status = (PROC / str(pid) / "status").read_text()
        found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
        total += int(found.group(1)) if found else 0
    return total * 1024 / 1e6


def written_bytes(pids: Sequence[int]) -> int:
    """Bytes that processes and their descendants have had sent to disks (proc_pid_io(5)).

    Raises:
        Unavailable: no process given, as for a server somewhere else.
    """
    total = 0
    for pid in _some(pids):
        lines = (PROC / str(pid) / "io").read_text().splitlines()
        counts = {name: int(value) for name, value in (line.split(": ") for line in lines)}
        total += counts["write_bytes"] - counts["cancelled_write_bytes"]
    return total


def descriptors(pids: Sequence[int]) -> int:
    """Open files of processes and their descendants.

    Raises:
        Unavailable: no process given, as for a server somewhere else.
    """
    return sum(len(os.listdir(PROC / str(pid) / "fd")) for pid in _some(pids))


def forget_peak(pids: Sequence[int]) -> None:
    """Start measuring the peak anew (proc(5), clear_refs).

    Raises:
        Unavailable: not ours to reset.
    """
    for pid in _some(pids):
        try:
            (PROC / str(pid) / "clear_refs").write_text("5")
        except OSError as error:
            raise Unavailable(f"cannot reset the peak memory of {pid}: {error}") from error


def _some(pids: Sequence[int]) -> list[int]:
    if not pids:
        raise Unavailable("needs --against-pid")
    return family(pids)


def _stat(pid: int) -> str:
    return (PROC / str(pid) / "stat").read_text()


def raise_file_limit() -> None:
    """Allow as many sockets as the system lets us; children inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Background:
    """A server started by us, its output in a file.

    Args:
        command: argv.
        log: file for stdout and stderr.
        environ: all of its variables; ours when None.
    """

    def __init__(
        self, command: Sequence[str], log: Path, environ: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        self.started = perf_counter()
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=tools.ROOT,
                env=environ,
            )
        self.pid = self._process.pid
        self._ready = False

    def wait_for(self, pattern: str, *, timeout_s: float = 30.0) -> str:
        """First group of a pattern as soon as the output has it.

        Raises:
            BenchError: the server ended first, or took too long.
        """
        while True:
            found = re.search(pattern, self.log.read_text(errors="replace"))
            if found:
                self._ready = True
                return found.group(1)
            if self._process.poll() is not None or perf_counter() > self.started + timeout_s:
                raise BenchError(f"the server did not start: {self.tail()}")
            sleep(0.002)

    def tail(self) -> str:
        """The end of the output and the exit code, for error messages."""
        lines = self.log.read_text(errors="replace").strip().splitlines()[-8:]
        return f"exit code {self._process.poll()}, output: " + " | ".join(lines)

    def stop(self, *, timeout_s: float = 15.0) -> None:
        """Ask the server to end, kill it when it does not; say so when it has ended already."""
        if self._process.poll() is not None and self._ready:
            sys.stderr.write(f"\nserver ended by itself: {self.tail()}\n")
        self._process.terminate()
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
