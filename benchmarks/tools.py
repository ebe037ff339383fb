"""Runs the generator's programs as separate processes: JSON in on stdin, JSON out on stdout."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.errors import BenchError

ROOT = Path(__file__).resolve().parent.parent


class Tool:
    """A running program of this package.

    Args:
        module: name in `benchmarks`.
        spec: what it reads as JSON on its first line of input.
    """

    def __init__(self, module: str, spec: object) -> None:
        self._module = module
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"benchmarks.{module}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        self.tell(spec)

    def tell(self, value: object) -> None:
        """Send one more line of JSON.

        Raises:
            BenchError: the program has ended.
        """
        if self._process.stdin is None:
            raise BenchError(f"{self._module}: no input")
        try:
            self._process.stdin.write(json.dumps(value) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise BenchError(f"{self._module} ended early") from error

    def answer(self) -> dict[str, Any]:
        """The next line it printed.

        Raises:
            BenchError: it ended, or reports an error under `error`.
        """
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise BenchError(f"{self._module} ended with code {self._process.wait(10)}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise BenchError(f"{self._module}: {answer['error']}")
        return answer

    def said(self) -> bool:
        """Whether there is something to read for `answer`, if only that it has ended."""
        output = self._process.stdout
        return output is not None and bool(select.select([output], [], [], 0)[0])

    def close(self) -> None:
        """End the program: closing its input is the request, killing it the last resort."""
        with contextlib.suppress(BrokenPipeError):
            if self._process.stdin:
                self._process.stdin.close()
        try:
            self._process.wait(3)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()


@contextlib.contextmanager
def running(module: str, spec: object) -> Iterator[Tool]:
    """A tool that is ended with the block."""
    tool = Tool(module, spec)
    try:
        yield tool
    finally:
        tool.close()


def run(module: str, spec: object) -> dict[str, Any]:
    """Run a tool for its one answer.

    Raises:
        BenchError: it ended, or reports an error.
    """
    with running(module, spec) as tool:
        return tool.answer()


def spec() -> dict[str, Any]:
    """The first line of stdin, not buffering what follows it, so that stdin can be polled."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece:
            sys.exit(1)
        line += piece
    read: dict[str, Any] = json.loads(line)
    return read


def report(value: object) -> None:
    """Print one answer; used by the programs themselves."""
    print(json.dumps(value), flush=True)
