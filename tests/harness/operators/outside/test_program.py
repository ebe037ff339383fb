"""Operators are processes: what they are given, and how they end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from kubetrio.harness.operators.outside.program import (
    MOST_CRASHES,
    Processes,
    Program,
    environment,
)


def test_environment() -> None:
    """The kubeconfig, no proxy for it, a place for files, and nothing of the cluster around."""
    given = {"PATH": "/bin", "KUBERNETES_SERVICE_HOST": "10.0.0.1", "NO_PROXY": "a.example"}
    made = environment(given, Path("/tmp/k"), "/tmp/t")
    assert made == {
        "PATH": "/bin",
        "NO_PROXY": "a.example,127.0.0.1",
        "no_proxy": "127.0.0.1",
        "KUBECONFIG": "/tmp/k",
        "TMPDIR": "/tmp/t",
    }


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what a process does, which no event tells of."""
    while not condition():  # noqa: ASYNC110
        await trio.sleep(0.01)


def children(beat: Path) -> list[str]:
    """States of the processes that are named in a file; empty for one that has gone."""
    states = [Path(f"/proc/{pid}/stat") for pid in beat.read_text().split()]
    return [one.read_text().split()[2] if one.exists() else "" for one in states]


@pytest.mark.e2e
async def test_a_program_that_ends_is_started_again_and_given_up(tmp_path: Path) -> None:
    """How it ended is told with its last line; all that it prints is in the log."""
    log = tmp_path / "log"
    code = "import sys; print('no luck'); sys.exit(3)"
    processes = Processes(Program(words=(sys.executable, "-c", code), log=log), {})
    await processes.run()
    assert processes.crashes == ["it ended with exit code 3; it said: no luck"] * MOST_CRASHES
    assert (processes.over, processes.alive, processes.starts) == (True, False, MOST_CRASHES)
    assert log.read_text() == "no luck\n" * MOST_CRASHES


@pytest.mark.e2e
async def test_a_program_that_is_killed_is_started_again(tmp_path: Path) -> None:
    """With what it has started itself; that is no crash."""
    beat = tmp_path / "beat"
    script = f"sleep 1000 & echo $! >> {beat}; echo; wait"
    log = tmp_path / "log"
    processes = Processes(Program(words=("sh", "-c", script), log=log), {"PATH": "/usr/bin:/bin"})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(processes.run)
        for number in (1, 2):
            await until(lambda number=number: log.exists() and log.stat().st_size == number)
            processes.kill(7.0)
            await until(lambda number=number: processes.starts > number)
        nursery.cancel_scope.cancel()
    assert (processes.crashes, processes.downtime_s) == ([], 14.0)
    assert len(children(beat)) >= 2
    assert all(state in ("", "Z") for state in children(beat))


async def test_a_program_that_is_not_there() -> None:
    """It is given up at once."""
    processes = Processes(Program(words=("/nonexistent/operator",)), {})
    await processes.run()
    assert processes.crashes == ["it cannot be started: No such file or directory"]
    assert processes.over
