"""A store whose file operations fail, each in turn: at the start, at work, at the end."""

import shutil
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from kubetrio.env import seeded
from kubetrio.runtime.groups import leaves
from kubetrio.runtime.supervise import FIRST_PAUSE_S
from kubetrio.store.errors import StoreClosed, StoreUnavailable
from kubetrio.store.model import Event, KeyValue, Range, Revision, Stamped
from kubetrio.store.sqlite.errors import DatabaseUnusable, StoreBroken
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.revisions import SqliteStore
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.store.sqlite.space import LOOKS_EACH_S
from kubetrio.testing.faults import ENOUGH, Faults, Lack

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="replaces Linux's system calls")

KEYS = Range.prefix("k")
VALUE = Stamped(b"", b"x" * 1000)
COMPACTS_EACH_S = 2.0
# A checkpoint behind a few writes, all history gone with each compaction.
CONFIG = StoreConfig(
    history_window_s=1,
    compact_interval_s=COMPACTS_EACH_S,
    checkpoint_pages=4,
    wal_limit_pages=8,
    reserve_bytes=1,  # the smallest that there is
)
JOURNAL = replace(CONFIG, journal_bytes=32 * 1024)
RECOVERED_S = LOOKS_EACH_S + 2 * FIRST_PAUSE_S
OLD = "k/old"
SAID = {
    Lack.DESCRIPTORS: ("Too many open files",),
    # SQLite forgets why a file could not be made, since it tries once more to read it.
    Lack.ROOM: ("No space left on device", "full", "unable to open database file"),
    Lack.SYNCS: ("Disk quota exceeded", "the disk fails"),
}


@dataclass
class Witness:
    """What a store said.

    Attributes:
        state: of each key that was answered, its revision.
        events: that were announced.
        started: whether it did.
        unharmed: whether nothing had failed by then.
        before: newest revision of the life before.
    """

    state: dict[str, Revision] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    started: bool = False
    unharmed: bool = False
    before: Revision = 0

    def announced(self, events: Sequence[Event]) -> None:
        self.events.extend(events)

    async def write(self, key: str, ask: Callable[[], Awaitable[KeyValue | Revision]]) -> bool:
        """Note the answer to a write; False for a refusal."""
        try:
            answer = await ask()
            self.state[key] = answer.revision if isinstance(answer, KeyValue) else answer
        except StoreClosed:
            raise
        except StoreUnavailable:
            return False
        return True

    async def put(self, store: SqliteStore, key: str) -> bool:
        found = self.state.get(key)
        if found is None:
            return await self.write(key, lambda: store.create(key, VALUE))
        return await self.write(key, lambda: store.update(key, VALUE, expected=found))

    async def drop(self, store: SqliteStore, key: str) -> None:
        found = self.state.get(key)
        if found and await self.write(key, lambda: store.delete(key, expected=found)):
            del self.state[key]

    async def live(self, directory: Path, faults: Faults, config: StoreConfig) -> None:
        """A life of a store: start, work, checkpoints, compactions, end."""
        async with open_store(directory, config, seeded(1)) as store:
            self.started, self.unharmed = True, not faults.fired
            store.on_commit(self.announced)
            for key in ("k/a", "k/b", "k/a"):
                await self.put(store, key)
            await self.drop(store, "k/b")
            await trio.sleep(COMPACTS_EACH_S + 0.5)
            await self.put(store, "k/a")
            await trio.sleep(COMPACTS_EACH_S)
            if faults.fired:
                faults.clear()
                await trio.sleep(RECOVERED_S)
                assert await self.put(store, "k/late"), "it takes writes again"

    async def check(self, directory: Path, config: StoreConfig, *, broken: bool) -> None:
        """The next start finds what was answered and announced, and no more."""
        newest = self.before + len(self.events)
        assert [each.revision for each in self.events] == list(range(self.before + 1, newest + 1))
        async with open_store(directory, config, seeded(1)) as store:
            head, floor = store.revision, store.compacted
            assert head == newest or (broken and head == newest + 1)  # it met the failed sync
            found = (await store.range(KEYS, at=newest)).items if newest >= floor else ()
            if newest >= floor:
                assert {item.key: item.revision for item in found} == self.state
            kept, upto = [], floor
            while upto < head:
                some, upto = await store.events(after=upto, max_bytes=ENOUGH)
                kept += [each[:4] for each in some]
            assert [each[0] for each in kept] == list(range(floor + 1, head + 1))
            announced = [each[:4] for each in self.events if each.revision > floor]
            assert (
                kept[len(kept) - len(announced) - (head - newest) :][: len(announced)] == announced
            )
            await store.create("k/next", VALUE)


async def template(directory: Path, begin: str, config: StoreConfig) -> Witness:
    """What a life begins with: nothing, a store that was closed, or one that was killed."""
    witness = Witness()
    if begin != "new":
        async with open_store(directory, config, seeded(1)) as store:
            await witness.put(store, OLD)
            if begin == "killed":
                shutil.copytree(directory, killed := directory.with_name("killed"))
        if begin == "killed":
            shutil.rmtree(directory)
            killed.rename(directory)
    witness.before = len(witness.state)
    return witness


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("begin", ["new", pytest.param("closed", marks=pytest.mark.slow), "killed"])
@pytest.mark.parametrize("times", [1, ENOUGH], ids=["once", "from then on"])
@pytest.mark.parametrize("lack", Lack)
@pytest.mark.parametrize("config", [CONFIG, JOURNAL], ids=["log", "journal"])
async def test_a_store_outlives_whatever_fails(
    tmp_path: Path,
    autojump_clock: MockClock,
    config: StoreConfig,
    lack: Lack,
    times: int,
    begin: str,
) -> None:
    """Each operation in turn fails, once or with all that follow until there is enough again.

    A start ends with an error that is told in a line, and leaves nothing open.  A store that has
    started refuses writes at most, takes them again by itself, and ends in order; but a failed
    sync of the log ends it.  What was answered is there afterwards, what was announced too, each
    event once.
    """
    begun = await template(tmp_path / "template", begin, config)
    number = 0
    with Faults(tmp_path) as faults:
        while True:
            directory = tmp_path / str(number)
            if begin != "new":
                shutil.copytree(tmp_path / "template", directory)
            witness = Witness(dict(begun.state), before=begun.before)
            before = open_files()
            faults.fail(lack, number, times)
            raised: list[BaseException] = []
            try:
                await witness.live(directory, faults, config)
            except* (OSError, DatabaseUnusable, StoreBroken, StoreClosed) as group:
                raised = list(leaves(group))
            fired = faults.fired
            faults.clear()
            assert open_files() == before
            broken = any(isinstance(error, StoreBroken) for error in raised)
            if not witness.started:
                assert all(str(error).count("\n") == 0 for error in raised)
                assert str(directory) in str(raised[0])
                if times == ENOUGH:
                    assert any(words in str(raised[0]) for words in SAID[lack])
            elif not broken:
                assert not raised
            else:
                assert lack is Lack.SYNCS
            await witness.check(directory, config, broken=broken)
            shutil.rmtree(directory)
            if not fired or (witness.unharmed and begin != "killed"):
                break  # what comes behind a start is the same for all
            number += 1
    assert number > 2
