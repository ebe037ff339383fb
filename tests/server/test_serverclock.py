"""The clock of a server under Trio."""

from __future__ import annotations

import subprocess
import sys

import pytest
import trio
from trio.testing import MockClock

from kubetrio.clock import MovableClock
from kubetrio.server.serverclock import TrioClock


def ticks(clock: trio.abc.Clock | None) -> list[str]:
    """What is done when a clock is moved by a minute, in order."""
    done: list[str] = []

    async def settled() -> None:
        await trio.lowlevel.checkpoint()
        done.append("settled")

    async def due() -> None:
        await trio.sleep(59)
        done.append("due")

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(due)
            await trio.testing.wait_all_tasks_blocked()
            await TrioClock(settled).move(seconds=60)
            nursery.cancel_scope.cancel()

    trio.run(main, clock=clock)
    return done


@pytest.mark.parametrize("clock", [MovableClock(), MockClock()])
def test_what_became_due_is_done(clock: trio.abc.Clock) -> None:
    """Before the call returns, and what the server does of it too."""
    assert ticks(clock) == ["due", "settled"]


def test_the_real_clock_cannot_be_moved() -> None:
    """The way to one that can is told."""
    with pytest.RaisesGroup(pytest.RaisesExc(RuntimeError, match="MovableClock")):
        ticks(None)


def test_a_server_does_not_load_what_tests_need() -> None:
    """`trio.testing` loads pytest where that is installed, seven megabytes for each server."""
    code = (
        "import sys, kubetrio.cli.serve, kubetrio.server, kubetrio.threads, kubetrio.embedding; "
        "print(sorted({'pytest', 'trio.testing'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
