"""A store whose writer gets no memory: nothing is half written, and the next write is made."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import outcome
import pytest
import trio
from trio.testing import MockClock

import kubetrio
from kubetrio.env import seeded
from kubetrio.store.errors import StoreUnavailable
from kubetrio.store.model import Event, KeyValue, Range, Stamped
from kubetrio.store.sqlite.errors import StoreBroken
from kubetrio.store.sqlite.flights import Flight, Write
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.revisions import SqliteStore
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.store.sqlite.writer import Writer

CONFIG = StoreConfig(compact_interval_s=0, reserve_bytes=0)
KEYS = Range.prefix("k")
WRITERS = 4
OURS = str(Path(kubetrio.__file__).parent / "store")
APART = ("sync.py", "uring.py")
"""Where a lack of memory counts as a failed sync, which ends the store."""


FIRST = 10  # offset in the code of a function where it begins


class NoMemory:
    """Has the n-th call of the store's code raise, while it is armed.

    Args:
        number: of the call, from 1.
    """

    def __init__(self, number: int) -> None:
        self.left = number
        self.where = ""

    def __call__(self, frame: types.FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(OURS) or name.endswith(APART):
            return
        if frame.f_lasti > FIRST:  # a coroutine that goes on needs no frame
            return
        self.left -= 1
        if not self.left:
            self.where = f"{Path(name).name}:{frame.f_code.co_name}"
            sys.setprofile(None)
            raise MemoryError


async def write(store: SqliteStore, number: int, answers: dict[str, object]) -> None:
    """Create a key and note what is answered."""
    key = f"k{number}"
    try:
        answers[key] = await store.create(key, Stamped(b"<", b">"))
    except (MemoryError, StoreUnavailable) as error:
        answers[key] = error


async def refused(folder: Path, number: int, told: list[Event]) -> str:
    """Write keys at once, without memory for the n-th call; return where that was."""
    answers: dict[str, object] = {}
    refusing = NoMemory(number)
    async with open_store(folder, CONFIG, seeded(1)) as store:
        store.on_commit(told.extend)
        await store.create("first", Stamped(b"", b"x"))
        sys.setprofile(refusing)
        try:
            with trio.fail_after(60):
                async with trio.open_nursery() as nursery:
                    for each in range(WRITERS):
                        nursery.start_soon(write, store, each, answers)
        finally:
            sys.setprofile(None)
        await trio.sleep(1)
        last = await store.create("last", Stamped(b"", b"x"))
        items = (await store.range(KEYS)).items
        assert items == [answer for _, answer in sorted(answers.items())
                         if isinstance(answer, KeyValue)], refusing.where  # fmt: skip
        assert [event.revision for event in told] == list(range(1, last.revision + 1))
        assert len(told) == 2 + len(items)
    async with open_store(folder, CONFIG, seeded(1)) as store:
        assert (await store.range(KEYS)).items == items
        assert store.revision == last.revision
    return refusing.where


async def test_a_lack_of_memory_costs_the_writes_that_it_meets(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """At each call in turn: a write is there and was answered, or is not and was refused."""
    places: set[str] = set()
    for number in range(1, 1000):
        where = await refused(tmp_path / str(number), number, [])
        if not where:
            break
        places.add(where)
    assert {"commits.py:_apply", "flights.py:__init__", "writer.py:commit",
            "writer.py:create", "reader.py:hold", "announcing.py:tell"} <= places  # fmt: skip


async def test_without_memory_for_a_sync_the_store_ends(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the disk has the write is not known, as behind a sync that fails."""

    def start(*_: object) -> None:
        raise MemoryError

    async def lives() -> None:
        async with open_store(tmp_path, CONFIG, seeded(1)) as store:
            monkeypatch.setattr("kubetrio.store.sqlite.sync.WorkerSync.start", start)
            with pytest.raises(StoreUnavailable, match="next start tells") as told:
                await store.create("k", Stamped(b"", b"x"))
            assert told.value.undecided

    with pytest.raises(ExceptionGroup) as group:
        await lives()
    assert group.group_contains(StoreBroken)


async def test_answers_go_on_where_they_failed() -> None:
    """Each writer is answered once."""
    answers: list[object] = []
    flight = Flight(0)
    waiting: list[Callable[[], object]] = []

    async def wait(number: int) -> None:
        flight.batch.append(Write(Writer.create, (), 1, frees=False))
        waiting.append(lambda: None)
        answer = await trio.lowlevel.wait_task_rescheduled(lambda _: trio.lowlevel.Abort.FAILED)
        answers.append((number, answer))

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(wait, number)
        while len(waiting) < 3:
            await trio.lowlevel.checkpoint()
        flight.answers = [outcome.Value(number) for number in range(3)]
        flight.answer()
        flight.answer()
    assert len(answers) == 3
