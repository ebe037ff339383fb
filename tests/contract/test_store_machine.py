"""The stores and the model are given the same steps and must give the same answers.

Steps are data: a failure prints a list that can be pasted into a test.  What depends on the state
(an expected revision, a revision to read at) is told relative to the newest revision, so that most
steps of a random list mean something.
"""

import enum
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import trio
from examples import shortened
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.store.errors import StoreError
from kubetrio.store.memory import InMemoryStore, Retention, open_memory
from kubetrio.store.model import Event, Range, RangeResult, Stamped, Store
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.revisions import SqliteStore
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.testing.environment import Gate, Hold, gated
from kubetrio.testing.store_model import MemoryStore

T = TypeVar("T")

CONFIG = StoreConfig(compact_interval_s=0)  # the model compacts when it is told to
JOURNAL = StoreConfig(compact_interval_s=0, journal_bytes=16 * 1024)  # a flush now and then
KEYS = ("a", "a/b", "a/b/c", "a/c", "b/", "b/é", "b0")
RANGES = (
    Range("\x01", "\U0010ffff"),
    Range.prefix("a/"),
    Range.prefix("b/"),
    Range.single("a/b"),
    Range("a/b/c", "b/"),
    Range("z", "a"),
)


class Verb(enum.Enum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True)
class Write:
    """One write; it expects the key's revision plus `off`."""

    verb: Verb
    key: str
    size: int = 0
    off: int = 0
    ttl_s: int = 0


@dataclass(frozen=True)
class Together:
    """Writes that wait at the same time, and so share a transaction."""

    writes: tuple[Write, ...]


@dataclass(frozen=True)
class Get:
    """One key, `back` revisions before the newest; None reads the newest state."""

    key: str
    back: int | None = None


@dataclass(frozen=True)
class ReadRange:
    """A range, its count and its bytes."""

    keys: Range
    back: int | None = None
    limit: int = 0
    max_bytes: int = 1 << 20


@dataclass(frozen=True)
class Events:
    """Events behind a revision."""

    back: int
    keys: Range | None = None
    max_bytes: int = 1 << 20


@dataclass(frozen=True)
class Compact:
    """Compact up to `back` revisions before the newest."""

    back: int


@dataclass(frozen=True)
class Pass:
    """Let some time go by: more than the shorter time to live, and half of the longer one."""


@dataclass(frozen=True)
class Restart:
    """Stop in order or as a crash would, and open the same directory again."""

    clean: bool


Step = Write | Together | Get | ReadRange | Events | Compact | Pass | Restart


TTLS_S = (5, 20)
PASSES_S = (10.5, 1.0, 1.0)


class Crash(Exception):
    """Leaves `open_store` as a failure does."""


async def outcome(answer: Awaitable[T]) -> T | tuple[object, ...]:
    """What was answered: the value, or the error as type and fields."""
    try:
        return await answer
    except StoreError as error:
        return (type(error), *sorted(vars(error).items()))


class Pair:
    """A store beside its model; without a gate no two writes wait at a time."""

    def __init__(
        self, sqlite: SqliteStore | InMemoryStore, model: MemoryStore, gate: Gate | None
    ) -> None:
        self.sqlite = sqlite
        self.model = model
        self.gate = gate
        self.announced: list[Event] = []
        self.begun = model.revision
        sqlite.on_commit(self.announced.extend)
        assert (sqlite.revision, sqlite.compacted) == (model.revision, model.compacted)

    async def same(self, ask: Callable[[Store], Awaitable[T]]) -> None:
        """Both give the same answer."""
        got, wanted = await outcome(ask(self.sqlite)), await outcome(ask(self.model))
        assert got == wanted

    def at(self, back: int | None) -> int | None:
        return None if back is None else self.model.revision - back

    def write(self, step: Write) -> Callable[[Store], Awaitable[object]]:
        """The write of a step, with what it expects fixed now, as a client would have read it."""
        current = self.model.state().get(step.key)
        expected = (current.revision if current else 0) + step.off
        value = Stamped(b'{"rev":', b"}" + b"x" * step.size)

        def ask(store: Store) -> Awaitable[object]:
            if step.verb is Verb.CREATE:
                return store.create(step.key, value, ttl_s=step.ttl_s)
            if step.verb is Verb.UPDATE:
                return store.update(step.key, value, expected=expected, ttl_s=step.ttl_s)
            return store.delete(step.key, expected=expected)

        return ask

    async def together(self, step: Together) -> None:
        """One write is held in its commit; those behind it wait and are taken together."""
        asks = [self.write(write) for write in step.writes]
        if self.gate is None:
            for ask in asks:
                await self.same(ask)
            return
        got: list[object] = [None] * len(asks)

        async def submit(index: int) -> None:
            got[index] = await outcome(asks[index](self.sqlite))

        self.gate.hold(Hold.BEFORE)
        async with trio.open_nursery() as nursery:
            for index in range(len(asks)):
                nursery.start_soon(submit, index)
                await wait_all_tasks_blocked()  # writes queue in the order of the step
            self.gate.open()
        assert got == [await outcome(ask(self.model)) for ask in asks]

    async def read(self, step: ReadRange) -> None:
        """Range and count are the same; the joined bytes are those of some page that fits."""
        at = self.at(step.back)
        for most in (0, step.max_bytes):
            await self.same(
                lambda store, most=most: store.range(  # type: ignore[misc]
                    step.keys, at=at, limit=step.limit, max_bytes=most
                )
            )
        await self.same(lambda store: store.count(step.keys, at=at))

        def join(store: Store, limit: int) -> Awaitable[object]:
            return outcome(
                store.join(
                    step.keys,
                    skip=7,
                    separator=b",",
                    at=at,
                    limit=limit,
                    max_bytes=step.max_bytes,
                )
            )

        got, wanted = await join(self.sqlite, step.limit), await join(self.model, step.limit)
        # An engine may make a page shorter than it could be, but never empty.
        shorter = getattr(got, "count", 0)
        if got != wanted and 0 < shorter < getattr(wanted, "count", 0):
            wanted = await join(self.model, shorter)
        assert got == wanted

    async def passes(self) -> None:
        """Values that have lived out their time go, in the same order, at the same time."""
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, MockClock)
        for seconds in PASSES_S:
            clock.jump(seconds)
            await wait_all_tasks_blocked()
            await self.model.expire()

    async def take(self, step: Step) -> None:
        """Do a step on both."""
        match step:
            case Write():
                await self.same(self.write(step))
            case Together():
                await self.together(step)
            case Get():
                await self.same(lambda store: store.get(step.key, at=self.at(step.back)))
            case ReadRange():
                await self.read(step)
            case Events():
                after = self.model.revision - step.back
                await self.same(
                    lambda store: store.events(
                        after=after, keys=step.keys, max_bytes=step.max_bytes
                    )
                )
            case Compact():
                to = self.model.revision - step.back
                await self.same(lambda store: store.compact(to))
            case Pass():
                await self.passes()
            case Restart():
                raise AssertionError("the caller restarts")
        self.check()

    def check(self) -> None:
        """Numbers and announcements agree."""
        assert (self.sqlite.revision, self.sqlite.compacted) == (
            self.model.revision,
            self.model.compacted,
        )
        assert self.announced == [logged.event for logged in self.model.log[self.begun :]]

    async def check_everything(self) -> None:
        """Every state that may be asked for, and every event."""
        for at in range(self.model.compacted, self.model.revision + 1):
            state: RangeResult = await self.sqlite.range(RANGES[0], at=at)
            assert list(state.items) == list(self.model.state(at).values())
        await self.same(lambda store: store.events(after=store.compacted, max_bytes=1 << 20))


def reopen(complete: bytes) -> Stamped:
    """The hole of the values here, once it is filled."""
    mark = len(b'{"rev":')
    return Stamped(complete[:mark], complete[complete.index(b"}") :])


async def run(directory: Path, steps: Sequence[Step], config: StoreConfig) -> None:
    """Take the steps, restarting in between; at the end, and after each crash, compare all."""
    env, gate = gated(1)
    model = MemoryStore()
    rest = [*steps, Restart(clean=True)]
    while rest:
        try:
            model.restarted()
            async with open_store(directory, config, env, reopen) as sqlite:
                pair = Pair(sqlite, model, gate)
                await pair.check_everything()
                while not isinstance(step := rest.pop(0), Restart):
                    await pair.take(step)
                if not rest:
                    await pair.check_everything()
                if not step.clean:
                    raise Crash
        except* Crash:
            pass


async def run_in_memory(steps: Sequence[Step]) -> None:
    """Take the steps on the store in memory, which is never opened again."""
    async with open_memory(Retention(compact_interval_s=0), reopen) as memory:
        pair = Pair(memory, MemoryStore(), None)
        for step in steps:
            if not isinstance(step, Restart):
                await pair.take(step)
        await pair.check_everything()


def run_steps(steps: Sequence[Step], config: StoreConfig = CONFIG) -> None:
    """Run steps in a new directory, on a clock that stands still."""
    with tempfile.TemporaryDirectory() as directory:
        trio.run(run, Path(directory), steps, config, clock=MockClock())


keys = st.sampled_from(KEYS)
backs = st.integers(-1, 12)
ranges = st.sampled_from(RANGES)
writes = st.builds(
    Write,
    st.sampled_from(Verb),
    keys,
    st.sampled_from([0, 1, 30, 5000]),
    st.sampled_from([0, 0, 0, 0, -1, 1]),
    st.sampled_from([0, 0, *TTLS_S]),
)
sizes = st.sampled_from([1, 20, 60, 1 << 20])
step_strategy: st.SearchStrategy[Step] = st.one_of(
    writes,
    writes,
    st.builds(Together, st.lists(writes, min_size=2, max_size=6).map(tuple)),
    st.builds(Get, keys, st.none() | backs),
    st.builds(ReadRange, ranges, st.none() | backs, st.integers(0, 4), sizes),
    st.builds(Events, backs, st.none() | ranges, sizes),
    st.builds(Compact, backs),
    st.just(Pass()),
    st.builds(Restart, st.booleans()),
)
step_lists = st.lists(step_strategy, max_size=40)


@shortened(60)
@given(step_lists)
@example(
    [
        Write(Verb.CREATE, "a"),
        Write(Verb.DELETE, "a"),
        Compact(0),
        Restart(clean=False),
        Write(Verb.CREATE, "a"),
    ]
)
@example(
    [
        Write(Verb.CREATE, "a", ttl_s=20),
        Pass(),
        Write(Verb.CREATE, "b/", ttl_s=5),
        Restart(clean=False),
        Write(Verb.CREATE, "b0"),
        Pass(),
        Pass(),
    ]
)
def test_sqlite_answers_as_the_model(steps: Sequence[Step]) -> None:
    """Every answer, error and announcement is the model's, before and after restarts."""
    run_steps(steps)


@shortened(60)
@given(step_lists)
@example(
    [
        Write(Verb.CREATE, "a", size=5000),
        Write(Verb.UPDATE, "a", size=30, ttl_s=20),
        Restart(clean=False),
        Write(Verb.UPDATE, "a", size=5000),
        Restart(clean=False),
        Write(Verb.DELETE, "a"),
        Compact(0),
        Restart(clean=False),
        Write(Verb.CREATE, "a"),
        Restart(clean=True),
    ]
)
def test_sqlite_with_a_journal_answers_as_the_model(steps: Sequence[Step]) -> None:
    """The same, where what a crash leaves in the journal is written again."""
    run_steps(steps, JOURNAL)


@settings(max_examples=100, deadline=None)
@given(step_lists)
def test_the_store_in_memory_answers_as_the_model(steps: list[Step]) -> None:
    """Any list of steps."""
    trio.run(run_in_memory, steps, clock=MockClock())
