"""A server killed at any moment has every write it answered, whole, and goes on counting.

This file is also the process that is killed: ``python test_kill.py DIRECTORY SEED JOURNAL`` opens a
store, writes with several tasks while compacting, and prints each answered write as a line
``revision key verb`` before the next one.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

import pytest
import trio

from kubetrio.env import Env, seeded
from kubetrio.store.model import Event, EventType, Range, Stamped
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.revisions import SqliteStore
from kubetrio.store.sqlite.settings import StoreConfig

WRITERS = 6
KEYS_EACH = 20
KEPT = 300  # revisions that compaction leaves
ROUNDS = 30
LIFE_S = 0.15  # longest time from the opening of the store to the kill
ALL = Range.prefix("w")
ENOUGH = 1 << 40
JOURNALS = (0, 64 * 1024)  # bytes: none, and one that is flushed many times in a life


# ---------------------------------------------------------------------- the process that is killed


def stamped(key: str, size: int) -> Stamped:
    """A value that knows its key, its revision and its length."""
    before = b'{"key":"%b","size":%d,"revision":' % (key.encode(), size)
    return Stamped(before, b',"pad":"%b"}' % (b"x" * size))


def reopen(complete: bytes) -> Stamped:
    """The hole of such a value, once it is filled."""
    begin = complete.index(b'"revision":') + len(b'"revision":')
    return Stamped(complete[:begin], complete[complete.index(b",", begin) :])


async def write(store: SqliteStore, number: int, seed: int) -> None:
    """Create, update and delete keys of one writer for ever."""
    rng = seeded(seed * WRITERS + number).rng
    live = {kv.key: kv.revision for kv in (await store.range(Range.prefix(f"w{number}/"))).items}
    while True:
        key = f"w{number}/{rng.randrange(KEYS_EACH)}"
        value = stamped(key, rng.choice([0, 10, 1000, 9000]))
        if key not in live:
            verb, made = EventType.CREATED, (await store.create(key, value)).revision
        elif rng.random() < 0.3:
            verb, made = EventType.DELETED, await store.delete(key, expected=live[key])
        else:
            stored = await store.update(key, value, expected=live[key])
            verb, made = EventType.UPDATED, stored.revision
        os.write(1, b"%d %b %d\n" % (made, key.encode(), verb))
        if verb is EventType.DELETED:
            del live[key]
        else:
            live[key] = made


async def live(directory: Path, seed: int, journal: int) -> None:
    """Open the store, write and compact until killed."""
    os.write(1, b"begin\n")
    config = StoreConfig(checkpoint_pages=100, wal_limit_pages=400, journal_bytes=journal)
    async with (
        open_store(directory, config, Env(), reopen) as store,
        trio.open_nursery() as nursery,
    ):
        for number in range(WRITERS):
            nursery.start_soon(write, store, number, seed)
        while True:
            await trio.sleep(0.01)
            if store.revision - KEPT > store.compacted:
                await store.compact(store.revision - KEPT)


# ---------------------------------------------------------------------- the one that kills


class Leave(Exception):
    """Leaves `open_store` as a failure does."""


@dataclass(frozen=True)
class Answered:
    """A line of the killed process."""

    revision: int
    key: str
    verb: EventType


@dataclass
class Witness:
    """What was seen of a store over all its lives."""

    directory: Path
    head: int = 0
    answered: dict[str, Answered] = field(default_factory=dict)
    total: int = 0
    in_flight: int = 0

    def kill_one(self, seed: int, life_s: float, journal: int) -> list[Answered]:
        """Start a process, kill it after a while, and return what it was answered."""
        command = [sys.executable, __file__, str(self.directory), str(seed), str(journal)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begin\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=life_s)
            process.kill()
            lines = process.stdout.read().splitlines()
        fields = [line.split() for line in lines]
        return [Answered(int(a), b.decode(), EventType(int(c))) for a, b, c in fields]

    async def look(self, lines: list[Answered], clean: bool, journal: int) -> None:
        """Open the directory again and check everything."""
        config = StoreConfig(journal_bytes=journal)
        try:
            async with open_store(self.directory, config, seeded(1), reopen) as store:
                await self.check(store, lines)
                if not clean:
                    raise Leave
        except* Leave:
            pass

    async def check(self, store: SqliteStore, lines: list[Answered]) -> None:
        """Nothing answered is missing, nothing is half written, no revision is lost or reused."""
        for line in lines:
            assert line.revision > self.head, "a revision was given out again"
        self.answered.update({line.key: line for line in sorted(lines, key=attrgetter("revision"))})

        floor, head = store.compacted, store.revision
        events: list[Event] = []
        upto = floor
        while upto < head:
            found, upto = await store.events(after=upto, max_bytes=ENOUGH)
            events += found
        assert [event.revision for event in events] == list(range(floor + 1, head + 1))
        by_revision = {event.revision: event for event in events}
        for event in events:
            whole(event.key, event.value, event.revision)
        for line in lines:
            if line.revision > floor:
                event = by_revision[line.revision]
                assert (event.key, event.type) == (line.key, line.verb)

        unanswered = {*range(self.head + 1, head + 1)} - {line.revision for line in lines}
        assert len(unanswered) <= WRITERS, "more is stored than was under way"
        await self.check_state(store, events, {by_revision[r].key: r for r in unanswered})
        self.head = head
        self.total += len(lines)
        self.in_flight += len(unanswered)

    async def check_state(
        self, store: SqliteStore, events: list[Event], unanswered: Mapping[str, int]
    ) -> None:
        """The state is that of the floor and what came after it, and that of the answers."""
        state = {kv.key: kv.value for kv in (await store.range(ALL, at=store.compacted)).items}
        for event in events:
            if event.type is EventType.DELETED:
                assert state.pop(event.key) == event.previous
            else:
                assert state.get(event.key) == event.previous
                state[event.key] = event.value
        now = (await store.range(ALL)).items
        assert {kv.key: kv.value for kv in now} == state
        for kv in now:
            whole(kv.key, kv.value, kv.revision)
        current = {kv.key: kv.revision for kv in now}
        for line in self.answered.values():
            if line.key in unanswered:
                assert unanswered[line.key] > line.revision
            elif line.verb is EventType.DELETED:
                assert line.key not in current
            else:
                assert current[line.key] == line.revision
        for key, revision in unanswered.items():
            kind = EventType.UPDATED if key in current else EventType.DELETED
            self.answered[key] = Answered(revision, key, kind)


def whole(key: str, value: bytes, revision: int) -> None:
    """A stored value is complete, of its key, and carries its own revision."""
    parsed = json.loads(value)
    assert (parsed["key"], parsed["revision"]) == (key, revision)
    assert len(parsed["pad"]) == parsed["size"]


def kill_and_look(directory: Path, seed: int, rounds: int) -> Witness:
    """Kill processes on one directory, looking between, at times without an orderly stop."""
    rng = seeded(seed).rng
    witness = Witness(directory)
    for number in range(rounds):
        life_s = rng.uniform(0, LIFE_S)
        lines = witness.kill_one(seed * 100_000 + number, life_s, rng.choice(JOURNALS))
        trio.run(witness.look, lines, rng.random() < 0.5, rng.choice(JOURNALS))
    return witness


@pytest.mark.e2e
@pytest.mark.slow
def test_a_killed_server_keeps_what_it_answered(tmp_path: Path) -> None:
    """Whenever it is killed, however often, with a journal and without one by turns."""
    witness = kill_and_look(tmp_path, seed=1, rounds=ROUNDS)
    assert witness.total > ROUNDS, "the machine was too slow for the test to mean anything"


if __name__ == "__main__":
    trio.run(live, Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
