"""The process of an operator: started, killed and started again."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import trio

AGAIN_S = 0.2
"""Seconds until a process that ended by itself is started again."""
DRAIN_S = 0.2
"""Seconds for the last output of a process that has ended."""
MOST_CRASHES = 3
"""So often a program may end by itself before it is given up."""
TAIL_BYTES = 4096
LOCAL = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A command that runs an operator.

    Args:
        words: program and arguments.
        log: a file to which the output of all its processes is added; None for none.
    """

    words: Sequence[str]
    log: Path | None = None


def environment(environ: Mapping[str, str], kubeconfig: Path, temporary: str) -> dict[str, str]:
    """Environment of a process whose server is that of a kubeconfig.

    Args:
        environ: of this process.
        kubeconfig: the file.
        temporary: path of the directory for its temporary files, which a process that is killed
            does not remove.
    """
    inside = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
    variables = {name: value for name, value in environ.items() if name not in inside}
    for name in ("NO_PROXY", "no_proxy"):
        variables[name] = f"{variables[name]},{LOCAL}" if variables.get(name) else LOCAL
    return {**variables, "KUBECONFIG": str(kubeconfig), "TMPDIR": temporary}


class Processes:
    """Runs a program, kills it, and starts it again.

    Args:
        program: which.
        env: environment of its processes.

    Attributes:
        starts: how often it was started.
        alive: whether a process of it runs.
        over: whether it is given up.
        crashes: how it ended by itself, in words.
        downtime_s: seconds of all deaths that were asked for, which the clock is to be moved by.
    """

    def __init__(self, program: Program, env: Mapping[str, str]) -> None:
        self._program = program
        self._env = dict(env)
        self._process: trio.Process | None = None
        self._killed = False
        self._tail = b""
        self.starts = 0
        self.alive = False
        self.over = False
        self.crashes: list[str] = []
        self.downtime_s = 0.0

    def kill(self, down_s: float) -> None:
        """End it now, with all processes of its group.

        Args:
            down_s: seconds of the server's clock until it is started again.
        """
        if self._process is not None and not self._killed:
            self._killed = True
            self.downtime_s += down_s
            _kill(self._process)

    async def run(self) -> None:
        """Run it, again and again."""
        while len(self.crashes) < MOST_CRASHES:
            self._killed, self._tail = False, b""
            try:
                code = await self._live()
            except OSError as error:
                self.crashes.append(f"it cannot be started: {error.strerror or error}")
                break
            if not self._killed:
                self.crashes.append(f"it ended {_ending(code)}{self._last_line()}")
            await trio.sleep(AGAIN_S)
        self.over = True

    async def _live(self) -> int:
        """Run one process to its end, and return its exit code.

        Raises:
            OSError: it cannot be started.
        """
        process = await trio.lowlevel.open_process(
            list(self._program.words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._env,
            start_new_session=True,
        )
        self._process, self.alive = process, True
        self.starts += 1
        try:
            async with trio.open_nursery() as nursery:
                if process.stdout is not None:
                    nursery.start_soon(self._listen, process.stdout)
                code = await process.wait()
                nursery.cancel_scope.deadline = trio.current_time() + DRAIN_S
            return code
        finally:
            self.alive, self._process = False, None
            _kill(process)
            with trio.CancelScope(shield=True):  # SIGKILL is the bound
                await process.wait()

    async def _listen(self, output: trio.abc.ReceiveStream) -> None:
        """Keep the end of what it prints."""
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async for data in output:
                self._tail = (self._tail + data)[-TAIL_BYTES:]
                if self._program.log is not None:
                    with self._program.log.open("ab") as log:
                        log.write(data)

    def _last_line(self) -> str:
        lines = self._tail.decode(errors="replace").split("\n")
        spoken = [line.strip() for line in lines if line.strip()]
        return f"; it said: {spoken[-1]}" if spoken else ""


def _ending(code: int) -> str:
    """How a process ended, by its exit code."""
    if code >= 0:
        return f"with exit code {code}"
    try:
        return f"by {signal.Signals(-code).name}"
    except ValueError:
        return f"by signal {-code}"


def _kill(process: trio.Process) -> None:
    """Send SIGKILL to a process and its group, where they are there."""
    killpg = getattr(os, "killpg", None)
    with suppress(ProcessLookupError, PermissionError):
        if killpg is not None:
            killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
