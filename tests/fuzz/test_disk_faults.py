"""Every sort of operation of a store fails once, and power is lost behind some of them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz.disk_faults import Counts, Recorded, every_fault, fail, lose_power, record
from fuzz.disk_ops import Fault, Kind
from kubetrio.store.sqlite import uring
from kubetrio.store.sqlite.commits import Commits

SEED = 1
LIVES = 3  # the log and a ring; the log and a kill; the journal, a ring and a kill
CRASHES = 6  # of each life

pytestmark = pytest.mark.skipif(not hasattr(uring.os, "eventfd"), reason="plays a ring of Linux")


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Iterator[None]:
    """The store logs what it meets."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[Recorded]:
    return record(tmp_path_factory.mktemp("recorded"), SEED, LIVES)


def representatives(given: Recorded) -> list[tuple[int, Fault]]:
    """The middle operation of each sort, with each fault where it matters most."""
    found: dict[tuple[object, ...], list[tuple[int, Fault]]] = {}
    for number, fault in every_fault(given):
        op = given.points[number]
        if fault is Fault.EIO or op.name in {"kubetrio.db-wal", "kubetrio.journal"}:
            found.setdefault((op.kind, op.name, op.by, fault), []).append((number, fault))
    return [points[len(points) // 2] for points in found.values()]


def test_each_sort_of_operation_fails_once(tmp_path: Path, recorded: list[Recorded]) -> None:
    """Nothing that was answered is lost, and the store takes writes again."""
    counts = Counts()
    for given in recorded:
        for number, fault in representatives(given):
            fail(tmp_path, given, number, fault, counts)
    assert counts.problems == []
    assert {op.kind for given in recorded for op in given.points} >= {*Kind} - {Kind.FAILED_SYNC}
    assert {op.by for given in recorded for op in given.points} == {"SQLite", "Python", "ring"}
    assert counts.numbers["faults: stores that ended at a failed sync"] > 2
    assert counts.numbers["faults: answers undecided"] > 0
    assert counts.numbers["faults: answers StoreUnavailable"] > 0


def test_no_read_sees_what_a_failed_sync_of_the_journal_left(
    tmp_path: Path, recorded: list[Recorded]
) -> None:
    """Readers share the connection there, and one that waited for it saw the write."""
    counts = Counts()
    given = recorded[2]
    syncs = [number for number, op in enumerate(given.points) if op.by == "ring"]
    for number in syncs[:8]:
        fail(tmp_path, given, number, Fault.EIO, counts)
    assert counts.problems == []
    assert counts.numbers["faults: stores that ended at a failed sync"] == 8


def test_power_is_lost(tmp_path: Path, recorded: list[Recorded]) -> None:
    """What was announced is there, in whole transactions."""
    counts = Counts()
    for given in recorded:
        step = len(given.ops) // CRASHES
        lose_power(tmp_path, given, counts, frozenset(range(step // 2, len(given.ops), step)))
    assert counts.problems == []
    assert counts.numbers["crashes: announced writes that are there"] > 100


def test_a_ring_whose_failures_are_not_seen_is_found(
    tmp_path: Path, recorded: list[Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sync that failed counts as one that did not; then power is lost."""
    former = uring.Ring.wait

    async def wait(self: uring.Ring) -> None:
        try:
            await former(self)
        except OSError:
            pass

    monkeypatch.setattr(uring.Ring, "wait", wait)
    counts = Counts()
    given = recorded[2]  # with a journal, whose frames no checkpoint writes again
    syncs = [number for number, op in enumerate(given.points) if op.by == "ring"]
    for number in syncs[-4:]:
        fail(tmp_path, given, number, Fault.EIO, counts)
    assert counts.problems


def test_an_answer_before_the_sync_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Power that is lost right behind it takes what was answered."""
    monkeypatch.setattr(Commits, "_committed", lambda *_: None)
    (given,) = record(tmp_path, SEED, 1)
    counts = Counts()
    step = len(given.ops) // CRASHES
    lose_power(tmp_path, given, counts, frozenset(range(step, len(given.ops), step)))
    assert counts.problems
