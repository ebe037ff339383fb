"""Lives of a store on a disk that fails, and what is seen of them.

A life opens the store, writes, compacts, has checkpoints made, and ends in order or as by a kill.
The next one goes on from there.  With and without a journal, syncs by io_uring and by a call: by
turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random  # noqa: TID251  (a type; the generator is seeded)

import trio

from fuzz.disk_ops import Disk
from kubetrio.env import Env, own_thread, seeded
from kubetrio.store.errors import Compacted, StoreClosed, StoreError, StoreUnavailable
from kubetrio.store.model import Event, EventType, KeyValue, Range, Revision, Stamped
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.revisions import SqliteStore
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.store.sqlite.space import LOOKS_EACH_S

KEYS = Range.prefix("k")
SIZES = (10, 300, 300, 1000, 5000)
BURST = 6
WRITES = 26  # of one life, and some more for keys that are not there
COMPACTS_EACH_S = 2.0
RECOVERED_S = LOOKS_EACH_S + 1
CONFIG = StoreConfig(
    history_window_s=1,
    compact_interval_s=COMPACTS_EACH_S,
    compact_step_s=3600,  # else steps are as long as the machine is busy
    checkpoint_pages=24,
    wal_limit_pages=48,
    reserve_bytes=1,  # the smallest that there is
)
JOURNAL_BYTES = 32 * 1024


class Leave(Exception):
    """Leaves a store as a kill does."""


class Broken(Exception):
    """An invariant does not hold."""


@dataclass(frozen=True)
class Life:
    """How one life goes.

    Args:
        seed: of the whole workload.
        number: of the life; says whether there is a journal and a ring, and how it ends.
    """

    seed: int
    number: int

    @property
    def config(self) -> StoreConfig:
        """Tunables."""
        return replace(CONFIG, journal_bytes=JOURNAL_BYTES) if self.number % 3 == 2 else CONFIG

    @property
    def ring(self) -> bool:
        """Whether syncs are begun by io_uring."""
        return self.number % 2 == 0

    @property
    def killed(self) -> bool:
        """Whether it ends without a word."""
        return self.number % 5 in (1, 2)

    def env(self, disk: Disk | None) -> Env:
        """Clocks; threads only in so far as they say that there is a ring, which a disk plays."""
        env = seeded(self.seed)
        return replace(env, own_thread=own_thread) if disk is not None and self.ring else env


@dataclass
class Witness:
    """What a store said.

    Attributes:
        before: state at the beginning, by key.
        revision: newest revision at the beginning.
        events: that were announced since, oldest first.
        heard: for each of them, how many operations the disk had carried out by then.
        answers: what writers were told, by kind.
        answered: revision of each answer, with operations carried out by then.
        started: whether the store was open.
        worked: operations by the end of its work, 0 if it did not come to that.
    """

    before: dict[str, KeyValue] = field(default_factory=dict)
    revision: Revision = 0
    events: list[Event] = field(default_factory=list)
    heard: list[int] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    answered: list[tuple[Revision, int]] = field(default_factory=list)
    started: bool = False
    worked: int = 0

    @property
    def newest(self) -> Revision:
        """Newest revision that was announced."""
        return self.revision + len(self.events)

    def state(self, at: Revision | None = None) -> dict[str, tuple[Revision, bytes]]:
        """Keys with revision and value, at a revision or at the newest one."""
        upto = len(self.events) if at is None else at - self.revision
        state = {key: (kv.revision, kv.value) for key, kv in self.before.items()}
        for event in self.events[:upto]:
            if event.type is EventType.DELETED:
                del state[event.key]
            else:
                state[event.key] = (event.revision, event.value)
        return state

    def next(self) -> Witness:
        """Of the life behind this one."""
        state = self.state()
        kept = {key: KeyValue(key, value, rev, rev) for key, (rev, value) in state.items()}
        return Witness(kept, self.newest)


def require(true: object, text: str) -> None:
    """See that an invariant holds.

    Raises:
        Broken: it does not.
    """
    if not true:
        raise Broken(text)


class Worker:
    """Writes to a store and looks at each answer.

    Args:
        store: which.
        witness: notes what is said.
        disk: below it.
        rng: chooses.
    """

    def __init__(self, store: SqliteStore, witness: Witness, disk: Disk, rng: Random) -> None:
        self._store, self._witness, self._disk, self._rng = store, witness, disk, rng
        self._live = {key: revision for key, (revision, _) in witness.state().items()}
        store.on_commit(self._announced)

    def _announced(self, events: Sequence[Event]) -> None:
        self._witness.events += events
        self._witness.heard += [len(self._disk.ops)] * len(events)
        for event in events:
            if event.type is EventType.DELETED:
                self._live.pop(event.key, None)
            else:
                self._live[event.key] = event.revision

    async def write(self, ask: Callable[[], Awaitable[KeyValue | Revision]]) -> bool:
        """Make a write; whether it was made."""
        witness = self._witness
        try:
            answer = await ask()
        except StoreClosed:
            witness.answers["closed"] += 1
            raise
        except StoreUnavailable as error:
            witness.answers["undecided" if error.undecided else type(error).__name__] += 1
            return False
        revision = answer.revision if isinstance(answer, KeyValue) else answer
        require(revision <= witness.newest, f"{revision} is answered and was not announced")
        witness.answers["made"] += 1
        witness.answered.append((revision, len(self._disk.ops)))
        return True

    def _value(self) -> Stamped:
        return Stamped(b"<", b">%b" % self._rng.randbytes(self._rng.choice(SIZES)))

    async def put(self, key: str, *, ttl_s: float = 0.0) -> bool:
        """Create a key, or replace it."""
        store, found, value = self._store, self._live.get(key), self._value()
        if found is None:
            return await self.write(lambda: store.create(key, value, ttl_s=ttl_s))
        return await self.write(lambda: store.update(key, value, expected=found, ttl_s=ttl_s))

    async def drop(self, key: str) -> bool:
        """Delete a key, or create it where it is not there."""
        found = self._live.get(key)
        if found is None:
            return await self.put(key)
        return await self.write(lambda: self._store.delete(key, expected=found))

    async def burst(self, keys: Sequence[str]) -> None:
        """Write several keys at once."""
        async with trio.open_nursery() as nursery:
            for key in keys:
                nursery.start_soon(self._try, key)

    async def _try(self, key: str) -> None:
        with suppress(StoreClosed):
            await self.put(key)

    async def look(self) -> None:
        """What is read is what was announced."""
        try:
            found = await self._store.range(KEYS)
        except StoreUnavailable:
            self._witness.answers["unread"] += 1
            return
        require(found.revision == self._witness.newest, "a read saw another revision")
        read = {item.key: (item.revision, item.value) for item in found.items}
        require(read == self._witness.state(), "a read saw another state")

    async def compact(self, to: Revision) -> None:
        """Compact; a disk that fails may refuse it."""
        with suppress(Compacted, StoreUnavailable):
            await self._store.compact(to)

    async def work(self) -> None:
        """Make the writes of a life."""
        rng = self._rng
        writes = 0
        while writes < WRITES:
            key = f"k/{rng.randrange(12)}"
            match rng.choice(("put", "put", "put", "drop", "burst", "ttl", "look", "compact")):
                case "put":
                    await self.put(key)
                case "drop":
                    await self.drop(key)
                case "burst":
                    await self.burst([f"k/{number}" for number in range(BURST)])
                    writes += BURST - 1
                case "ttl":
                    await self.put(f"k/ttl{rng.randrange(3)}", ttl_s=1.0)
                case "look":
                    await self.look()
                    continue
                case "compact":
                    await self.compact(max(0, self._store.revision - rng.randint(0, 20)))
                    continue
            writes += 1
        await trio.sleep(COMPACTS_EACH_S + 0.5)  # compaction by age, times to live, checkpoints
        await self.put("k/0")
        await trio.sleep(COMPACTS_EACH_S)
        await self.look()


@asynccontextmanager
async def opened(
    directory: Path, life: Life, disk: Disk | None, *, killed: bool
) -> AsyncIterator[SqliteStore]:
    """A store, left as by a kill or in order."""
    try:
        async with open_store(directory, life.config, life.env(disk)) as store:
            yield store
            if killed:
                raise Leave
    except* Leave:
        pass


async def live(directory: Path, life: Life, witness: Witness, disk: Disk) -> None:
    """Live a life.

    Raises:
        StoreError: the store does not start, or ends because a sync failed.
        OSError: it does not start.
        Broken: an invariant does not hold.
    """
    rng = seeded(life.seed * 1000 + life.number).rng
    async with opened(directory, life, disk, killed=life.killed) as store:
        witness.started = True
        worker = Worker(store, witness, disk, rng)
        await worker.work()
        if disk.fired:
            await trio.sleep(RECOVERED_S)
            require(await worker.put("k/late"), "it takes no writes again")
            await worker.look()
        witness.worked = len(disk.ops)


async def check(directory: Path, life: Life, witness: Witness, head: range) -> Revision:
    """Open a store and see that it has what was announced, whole; returns its newest revision.

    Args:
        directory: of the store.
        life: how it is opened.
        witness: what was announced.
        head: newest revisions that it may have.

    Raises:
        Broken: it has not.
    """
    try:
        async with opened(directory, life, None, killed=True) as store:
            newest, floor = store.revision, store.compacted
            require(newest in head, f"revision {newest} is not among {head}")
            if newest <= witness.newest:
                found = (await store.range(KEYS, at=max(newest, floor))).items
                read = {item.key: (item.revision, item.value) for item in found}
                require(read == witness.state(newest), "another state is stored")
                await _check_events(store, witness, floor, newest)
            stored = await store.create("z/next", Stamped(b"", b"x"))
            require(stored.revision == newest + 1, "a revision was left out")
            return newest
    except* (StoreError, OSError) as group:
        raise Broken(f"it does not open: {group.exceptions}") from group
    raise AssertionError("unreachable")


async def _check_events(
    store: SqliteStore, witness: Witness, floor: Revision, newest: Revision
) -> None:
    kept: list[Event] = []
    upto = floor
    while upto < newest:
        some, upto = await store.events(after=upto, max_bytes=1 << 40)
        kept += some
    told = [event for event in witness.events if floor < event.revision <= newest]
    require([e.revision for e in kept] == list(range(floor + 1, newest + 1)), "revisions lack")
    require(
        [each[:4] for each in kept if each.revision > witness.revision]
        == [each[:4] for each in told],
        "other events are stored than were announced",
    )
