"""A server in a process of its own, and copies of it, for programs of any kind.

The program may have threads, sockets and any event loop, for it talks to the process by lines of
JSON, and all that is sent are steps of scripts.  The process does the steps that lead to the point
where copies begin, once; then it copies itself for each example and waits.

    {"format": "kubetrio-script/1", ...}   the steps that lead there  {"script": ...}
    {"fork": true}                         a copy takes the place  {"forked": true}
    {"do": {"do": "request", ...}}         one more step  {"answer": ...}
    {"finish": true}                       all that was done  {"script": ..., "digest": ""}
    {"end": true}                          the copy ends  {"ended": 0}
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, NoReturn

from kubetrio.harness.forking import ForkError, check_forkable
from kubetrio.harness.opening import Harness, run
from kubetrio.harness.reply import Reply
from kubetrio.harness.script import Script, ScriptError, Step, step_as_dict, step_of
from kubetrio.harness.session import Session, record
from kubetrio.harness.setup import SetupError
from kubetrio.server import StartError

ENDS_S = 10.0
Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Lines:
    """Messages in lines of JSON.

    Args:
        incoming: where they are read.
        outgoing: where they are written.
    """

    incoming: IO[bytes]
    outgoing: IO[bytes]

    def read(self) -> Message:
        """Wait for a message; blocking.  An empty one is the end."""
        line = self.incoming.readline()
        message: Message = json.loads(line) if line else {}
        return message

    def write(self, message: Message) -> None:
        """Send a message; blocking."""
        self.outgoing.write(json.dumps(message).encode() + b"\n")
        self.outgoing.flush()

    def ask(self, message: Message) -> Message:
        """Send a message and wait for what comes back.

        Raises:
            ForkError: the process has ended, or says what went wrong.
        """
        try:
            self.write(message)
            answer = self.read()
        except OSError as error:
            raise ForkError(f"the server's process has ended: {error.strerror}") from error
        if not answer:
            raise ForkError("the server's process has ended")
        if "error" in answer:
            raise ForkError(answer["error"])
        return answer


class Copy:
    """A copy of a server; made by `Origin.fork`.

    Args:
        lines: to its process.
        steps: how many were done before it was made.
    """

    def __init__(self, lines: _Lines, steps: int) -> None:
        self._lines = lines
        self._steps = steps

    def do(self, step: Step) -> Reply:
        """Do a step and return what was answered; of a watch, how it began.

        Args:
            step: which; references count the steps of the origin too.

        Raises:
            ForkError: the copy has ended.
            ScriptError: no script can have the step.
        """
        shown = step_as_dict(step)
        step_of(shown, self._steps + 1)
        self._steps += 1
        return Reply.of(self._lines.ask({"do": shown}).get("answer", {}))

    def finish(self) -> tuple[Script, str]:
        """Return what was done in all, with that of the origin, and a digest of what is stored.

        The script does the same from the start, byte for byte.

        Raises:
            ForkError: the copy has ended.
        """
        told = self._lines.ask({"finish": True})
        return Script.of(told["script"]), str(told["digest"])


class Origin:
    """A server that copies are made of, in a process of its own; made by `open_origin`.

    Args:
        lines: to that process.
        script: what was done with it, and what was answered.

    Attributes:
        script: the same.
    """

    def __init__(self, lines: _Lines, script: Script) -> None:
        self._lines = lines
        self.script = script

    @contextmanager
    def fork(self) -> Iterator[Copy]:
        """Make a copy for as long as a block lasts; one at a time.

        Raises:
            ForkError: the process has ended.
        """
        self._lines.ask({"fork": True})
        try:
            yield Copy(self._lines, len(self.script.steps))
        finally:
            self._lines.ask({"end": True})


@contextmanager
def open_origin(script: Script | None = None) -> Iterator[Origin]:
    """Start a server in a process of its own for as long as the block lasts.

    Args:
        script: how the server is made, and the steps that lead to where copies begin; a server in
            memory without any when None.

    Raises:
        ForkError: the server cannot be copied or does not start.
    """
    script = script or Script()
    process = subprocess.Popen(  # noqa: S603  (this interpreter)
        [sys.executable, "-c", f"from {__spec__.name} import main; main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    if process.stdin is None or process.stdout is None:
        raise AssertionError("they are pipes")
    lines = _Lines(process.stdout, process.stdin)
    try:
        told = lines.ask(script.unanswered().as_dict())
        yield Origin(lines, Script.of(told["script"]))
    finally:
        process.stdin.close()  # which ends it
        try:
            process.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


# ------------------------------------------------------------------- in the process


async def _serve(script: Script, lines: _Lines, server: Harness) -> None:
    """Do the steps, and make copies until the program has enough."""
    async with record(server) as session:
        for step in script.steps:
            await session.do(step)
        lines.write({"script": (await session.finished()).as_dict()})
        while lines.read().get("fork"):
            pid = os.fork()
            if pid == 0:
                await _copy(session, server, lines)
            _, status = os.waitpid(pid, 0)  # noqa: ASYNC222  (nothing may run meanwhile)
            code = os.waitstatus_to_exitcode(status)
            lines.write({"ended": code} if code == 0 else {"error": f"the copy ended with {code}"})


async def _copy(session: Session, server: Harness, lines: _Lines) -> NoReturn:
    """Do steps in a copy of the process, which ends here."""
    code = 1
    gc.freeze()  # so that the collector does not write to what is shared
    try:
        lines.write({"forked": True})
        while (message := lines.read()) and not message.get("end"):
            if "do" in message:
                reply = await session.do(step_of(message["do"], 1))
                lines.write({"answer": reply.as_dict()})
            else:
                done = await session.finished()
                lines.write({"script": done.as_dict(), "digest": await server.digest()})
        code = 0
    finally:
        os._exit(code)


def main() -> None:
    """Run the process: the first line is a script."""
    lines = _Lines(sys.stdin.buffer, sys.stdout.buffer)
    try:
        script = Script.of(lines.read())
        check_forkable(script.setup)
        run(partial(_serve, script, lines), script.setup)
    except (ForkError, ScriptError, SetupError, StartError) as error:
        lines.write({"error": str(error)})
