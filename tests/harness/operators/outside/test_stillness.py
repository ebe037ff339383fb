"""An operator is at rest when it has asked for nothing new: which requests are new."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import trio

from kubetrio.clock import MovableClock
from kubetrio.harness.operators.calls import OPERATOR, Call, Place
from kubetrio.harness.operators.outside.program import Processes, Program
from kubetrio.harness.operators.outside.stillness import SAME_READS, Stillness, move

A = Place("", "configmaps", "default", "a")
READ = Call(at=1.0, user=OPERATOR.name, verb="get", place=A)
WRITE = replace(READ, verb="update")


class Recorded:
    """What of a recorder is looked at."""

    def __init__(self) -> None:
        self.calls: list[Call] = []


def asked(still: Stillness, recorded: Any, *calls: Call) -> bool:
    """Whether requests are new."""
    recorded.calls += calls
    return still._asked()


@pytest.fixture
def recorded() -> Recorded:
    """A recorder."""
    return Recorded()


@pytest.fixture
def still(recorded: Any) -> Stillness:
    """Looks at it."""
    return Stillness(recorded, Processes(Program(words=("true",)), {}))


def test_reads_that_are_made_again_are_not_new(still: Stillness, recorded: Recorded) -> None:
    """Until something is written."""
    assert [asked(still, recorded, READ) for _ in range(SAME_READS + 1)] == [True, True, False]
    other = replace(READ, place=A._replace(name="b"))
    assert asked(still, recorded, other)
    assert not asked(still, recorded, READ)
    assert asked(still, recorded, WRITE)
    assert asked(still, recorded, READ)


def test_what_does_not_count(still: Stillness, recorded: Recorded) -> None:
    """Requests of users, Leases and Events."""
    assert not asked(still, recorded, replace(WRITE, user="kubernetes-admin"))
    lease = Place("coordination.k8s.io", "leases", "default", "a")
    assert not asked(still, recorded, replace(WRITE, place=lease))
    assert not asked(still, recorded, replace(WRITE, place=A._replace(resource="events")))
    assert not asked(still, recorded)


def test_a_process_that_starts_is_waited_for(still: Stillness, recorded: Recorded) -> None:
    """Until it asks for something, or is given up."""
    processes = still._processes
    assert still._starting(still._started)
    processes.starts, processes.alive = 1, True
    assert still._starting(still._started)
    recorded.calls.append(READ)
    assert not still._starting(still._started)
    processes.alive = False
    assert still._starting(still._started)
    processes.over = True
    assert not still._starting(still._started)
    assert not still.silent


def test_a_process_that_asks_for_nothing_is_silent(still: Stillness) -> None:
    """After a while it is waited for no more."""
    still._processes.alive, still._processes.starts = True, 1
    assert still._starting(still._started)
    assert not still._starting(still._started + 1000)
    assert still.silent


def test_the_clock_of_a_run_is_moved() -> None:
    """Another one cannot be."""

    async def moved() -> bool:
        before = trio.current_time()
        move(500.0)
        return trio.current_time() >= before + 500

    assert trio.run(moved, clock=MovableClock())
    with pytest.raises(RuntimeError, match="MovableClock"):
        trio.run(moved)
