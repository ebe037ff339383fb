"""Watchers that join, stall, pull and leave at random get their events: no gap, repeat, reorder.

The window holds a few events only, so that watchers read memory and store in turn; commits are
held at the moment when the store shows them and the stream does not yet; compaction passes by.
All groups are served by the stream itself, or those of several watchers by the hub's task, which
gets its turns between the steps.
The log of the model store says what each watcher must have received.  Steps are data, as in
`tests/contract/test_store_machine.py`.
"""

import sys
import tempfile
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from unittest import mock

import trio
from examples import shortened
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.store.errors import Compacted
from kubetrio.store.model import Event, Range, Stamped, Store
from kubetrio.store.sqlite import reader
from kubetrio.store.sqlite.opening import open_store
from kubetrio.store.sqlite.settings import StoreConfig
from kubetrio.testing.environment import Gate, Hold, gated
from kubetrio.testing.store_model import FollowingStore, MemoryStore
from kubetrio.watch.choosing import FieldValues, Pin, look
from kubetrio.watch.group import Watcher, WatcherState
from kubetrio.watch.hub import Hub
from kubetrio.watch.window import Batch

GAP = 3
WINDOW_BYTES = 2000  # four events, about
KEYS = ("a/1", "a/2", "a/b/1", "b/1", "c")
VALUE = Stamped(b'{"metadata":{"rev":', b"}}")
PREFIXES = ("a/", "a/b/", "b/", "c", "a/1")


def remainders(obj: dict[str, Any]) -> Mapping[str, str]:
    """What objects are selected by here."""
    return {str(by): str(obj["metadata"]["rev"] % by) for by in (2, 3)}


@dataclass(frozen=True)
class Wants:
    """A filter: revisions with a remainder, or with any other one."""

    by: str
    remainder: str
    other: bool = False
    reads: FieldValues = remainders

    @property
    def identity(self) -> Hashable:
        """All of it."""
        return self

    @property
    def pin(self) -> Pin | None:
        """The remainder, where it has to be that one."""
        return None if self.other else ("field", self.by, self.remainder)

    def chooses(self, labels: Mapping[str, str], values: Mapping[str, str]) -> bool:
        """Whether the remainder is right."""
        del labels
        return (values[self.by] == self.remainder) is not self.other

    def concerns(self, event: Event) -> bool:
        """Whether an event enters, changes or leaves what is chosen."""
        states = (event.previous, event.value)
        return any(self.chooses(*look(state, self.reads)) for state in states if state)


@dataclass(frozen=True)
class Write:
    """Changes of keys: created where missing, else updated or deleted.

    `unseen` steps are taken while the first of them is in the store and not on the stream.
    """

    keys: tuple[str, ...]
    delete: bool = False
    unseen: tuple["WatcherStep", ...] | None = None


@dataclass(frozen=True)
class Join:
    """Begin to watch: `back` revisions behind the newest, or at what a list shows."""

    prefix: str
    back: int | None = None
    pulls: bool = False
    wants: Wants | None = None


@dataclass(frozen=True)
class Pull:
    """Pull as a watcher's task does, a few batches."""

    who: int
    times: int = 100


@dataclass(frozen=True)
class Sink:
    """What a watcher's sink does from now on."""

    who: int
    takes: bool
    leaves: bool = False


@dataclass(frozen=True)
class Leave:
    """End a watch."""

    who: int


@dataclass(frozen=True)
class Compact:
    """Compact up to `back` revisions before the newest."""

    back: int


@dataclass(frozen=True)
class SlowPull:
    """Pull from a store that is held before or behind its read, and what happens meanwhile."""

    who: int
    where: Hold
    meanwhile: tuple["Join | Sink | Leave | Write | Compact", ...]


WatcherStep = Join | Pull | Sink | Leave


@dataclass(frozen=True)
class Turns:
    """Let the hub's task go on for some rounds."""

    rounds: int


@dataclass(frozen=True)
class Progress:
    """Others write what this store is not told of; of SQLite there are none."""


Step = WatcherStep | Write | Compact | SlowPull | Turns | Progress


class SlowStore:
    """The part of a store that a hub uses, with reads of events that can be held."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.gate = Gate()
        self.on_commit = store.on_commit
        self.on_progress = store.on_progress
        self.on_gap = store.on_gap

    @property
    def revision(self) -> int:
        return self._store.revision

    async def events(
        self, *, after: int, keys: Range | None = None, max_bytes: int
    ) -> tuple[Sequence[Event], int]:
        """Held before or behind the read, as a slow engine is."""
        await self.gate.wait(Hold.BEFORE)
        found = await self._store.events(after=after, keys=keys, max_bytes=max_bytes)
        await self.gate.wait(Hold.BEHIND)
        return found


@dataclass(eq=False)
class Client:
    """A watcher's sink and what it was given."""

    hub: Hub
    prefix: str
    start: int
    pulls: bool = False
    wants: Wants | None = None
    received: list[Event] = field(default_factory=list)
    takes: bool = True
    leaves: bool = False

    def __post_init__(self) -> None:
        self.watcher: Watcher = self.hub.subscribe(
            self.prefix, self.start, self, pulls=self.pulls, chooser=self.wants
        )

    def offer(self, batch: Batch) -> bool:
        assert self.watcher.state is WatcherState.LIVE
        assert not self.pulls
        assert self.take(batch)
        if self.leaves:
            self.hub.unsubscribe(self.watcher)
        return self.takes

    def lag(self) -> None:
        assert self.watcher.state is WatcherState.LAGGING

    def take(self, batch: Batch) -> bool:
        """Keep what is wanted of a batch; returns whether there is such."""
        assert batch.events
        events = list(batch.events)
        if self.wants is not None:
            decided = batch.decided(self.wants)
            events = [event for event, one in zip(events, decided, strict=True) if any(one)]
        self.received += events
        return bool(events)


class World:
    """Store, model, hub and clients."""

    def __init__(
        self, store: Store, gate: Gate, at_once: int, leader: MemoryStore | None = None
    ) -> None:
        self.store = store
        self.gate = gate
        self.leader = leader  # of a store that is told of revisions
        self.model = MemoryStore(step=GAP if leader else 1)
        self.slow = SlowStore(store)
        self.hub = Hub(cast("Store", self.slow), window_bytes=WINDOW_BYTES, at_once=at_once)
        self.clients: list[Client] = []

    def expected(self, client: Client, upto: int) -> list[Event]:
        """Events of a client's prefix behind its start, up to a revision."""
        keys = client.watcher.keys
        log = self.model.logged(client.start, upto)
        events = [logged.event for logged in log if logged.key in keys]
        wants = client.wants
        return [event for event in events if wants is None or wants.concerns(event)]

    def check(self) -> None:
        """Every client has exactly what is behind its start and up to its position."""
        for client in self.clients:
            watcher = client.watcher
            if watcher.state is not WatcherState.CLOSED:
                assert client.received == self.expected(client, self.hub.position(watcher))
            assert (
                client.received
                == self.expected(client, self.model.revision)[: len(client.received)]
            )

    async def change(self, key: str, *, delete: bool) -> Callable[[], Awaitable[object]]:
        """Change a key in the model; returns the same change of the store."""
        current = self.model.state().get(key)
        value = VALUE

        def write(store: Store) -> Awaitable[object]:
            if current is None:
                return store.create(key, value)
            if delete:
                return store.delete(key, expected=current.revision)
            return store.update(key, value, expected=current.revision)

        await write(self.model)
        return lambda: write(self.store)

    async def write(self, step: Write) -> None:
        """The first change is committed alone, and held; the others go together behind it."""
        self.gate.hold(Hold.BEHIND)
        async with trio.open_nursery() as nursery:
            for key in step.keys:
                nursery.start_soon(await self.change(key, delete=step.delete))
                await wait_all_tasks_blocked()
            for inner in step.unseen or ():
                await self.take(inner)
            self.gate.open()
        assert self.store.revision == self.hub.revision == self.model.revision

    def client(self, who: int) -> Client | None:
        return self.clients[who % len(self.clients)] if self.clients else None

    async def pull(self, client: Client, times: int) -> None:
        """As a watch does: until it is live, the end of history, or it lags by choice."""
        watcher = client.watcher
        for _ in range(times):
            if watcher.state is WatcherState.CLOSED:
                return
            try:
                batch = await self.hub.pull(watcher)
            except Compacted as error:
                self.refused(client, error)
                return
            if batch is None:
                assert watcher.state is WatcherState.LIVE or watcher.cursor > self.hub.revision
                return
            client.take(batch)

    def refused(self, client: Client, error: Compacted) -> None:
        """A watcher is sent away only when compaction has passed it."""
        assert error.revision == client.watcher.cursor < error.floor == self.store.compacted
        self.hub.unsubscribe(client.watcher)

    async def slow_pull(self, step: SlowPull) -> None:
        """Pull while the store takes its time, and other things happen."""
        client = self.client(step.who)
        if client is None:
            return
        async with trio.open_nursery() as nursery:
            self.slow.gate.hold(step.where)
            nursery.start_soon(self.pull, client, 100)
            await wait_all_tasks_blocked()
            for inner in step.meanwhile:
                await self.take(inner)
            self.slow.gate.open()

    async def join(self, step: Join) -> None:
        if step.back is None:
            start = (await self.store.range(Range.prefix("a"))).revision
        else:
            start = max(0, self.hub.revision - step.back)
        self.clients.append(Client(self.hub, step.prefix, start, step.pulls, step.wants))

    async def take(self, step: Step) -> None:
        """Do a step and check everybody."""
        if isinstance(step, Write):
            await self.write(step)
        elif isinstance(step, Join):
            await self.join(step)
        elif isinstance(step, SlowPull):
            await self.slow_pull(step)
        elif isinstance(step, Progress):
            if self.leader is not None:
                self.model.progress(self.model.revision + 1)
                self.leader.progress(self.model.revision)
        elif isinstance(step, Turns):
            for _ in range(step.rounds):
                await trio.lowlevel.checkpoint()
        elif isinstance(step, Compact):
            to = self.model.revision - step.back
            if to > self.model.compacted:
                await self.store.compact(to)
                await self.model.compact(to)
        elif (client := self.client(step.who)) is not None:
            if isinstance(step, Pull):
                await self.pull(client, step.times)
            elif isinstance(step, Sink):
                client.takes, client.leaves = step.takes, step.leaves
            else:
                self.hub.unsubscribe(client.watcher)
        self.check()

    async def finish(self) -> None:
        """Everybody who stays catches up, and has everything."""
        for client in self.clients:
            client.takes, client.leaves = True, False
            await self.pull(client, 1000)
        await self.take(Write(KEYS * 2))
        await wait_all_tasks_blocked()
        for client in self.clients:
            if client.watcher.state is WatcherState.LAGGING:
                await self.pull(client, 1000)  # it had begun in the future
            if (
                client.watcher.state is not WatcherState.CLOSED
                and client.start <= self.hub.revision
            ):
                assert client.watcher.state is WatcherState.LIVE
            self.hub.unsubscribe(client.watcher)
        self.check()
        assert self.hub.statistics().watchers == 0


def reopen(complete: bytes) -> Stamped:
    """The hole of the values here, once it is filled."""
    del complete
    return VALUE


async def run(directory: Path, steps: Sequence[Step], at_once: int) -> None:
    """Take the steps on SQLite."""
    env, gate = gated(1)
    async with open_store(directory, StoreConfig(), env, reopen) as store:
        await take_all(World(store, gate, at_once), steps, at_once)


async def run_told(steps: Sequence[Step], at_once: int) -> None:
    """Take the steps on a store that is told of revisions with gaps, by another process."""
    leader = MemoryStore(step=GAP, stamps_on_read=True)
    await take_all(World(FollowingStore(leader), Gate(), at_once, leader), steps, at_once)


async def take_all(world: World, steps: Sequence[Step], at_once: int) -> None:
    """Take the steps, checking everybody after each."""
    async with trio.open_nursery() as nursery:
        if at_once:
            nursery.start_soon(world.hub.run)
        for step in steps:
            await world.take(step)
        await world.finish()
        nursery.cancel_scope.cancel()


def run_steps(steps: Sequence[Step], at_once: int) -> None:
    """Run steps in a new directory, on a clock that stands still."""
    # Steps that are taken while a write is held must not have to wait for it.
    with (
        tempfile.TemporaryDirectory() as directory,
        mock.patch.object(reader, "UNREAD", sys.maxsize),
    ):
        trio.run(run, Path(directory), steps, at_once, clock=MockClock())


who = st.integers(0, 7)
wants = st.sampled_from(
    [
        Wants("2", "0"),
        Wants("2", "1"),
        Wants("3", "0"),
        Wants("3", "1", True),
        Wants("2", "0", True),
    ]
)
joins = st.builds(
    Join,
    st.sampled_from(PREFIXES),
    st.none() | st.integers(-2, 12),
    st.booleans(),
    st.none() | wants,
)
sinks = st.builds(Sink, who, st.booleans(), st.sampled_from([False, False, False, True]))
leaves = st.builds(Leave, who)
compactions = st.builds(Compact, st.integers(0, 10))
watcher_steps: st.SearchStrategy[WatcherStep] = st.one_of(
    joins, st.builds(Pull, who, st.sampled_from([1, 1, 2, 100])), sinks, leaves
)
written = st.lists(st.sampled_from(KEYS), min_size=1, max_size=6).map(tuple)
step_strategy: st.SearchStrategy[Step] = st.one_of(
    watcher_steps,
    st.builds(Pull, who),
    st.builds(Turns, st.integers(1, 4)),
    st.just(Progress()),
    st.builds(Write, written, st.booleans()),
    st.builds(
        Write, written, st.booleans(), st.lists(watcher_steps, min_size=1, max_size=4).map(tuple)
    ),
    compactions,
    st.builds(
        SlowPull,
        who,
        st.sampled_from([Hold.BEFORE, Hold.BEHIND]),
        st.lists(
            st.one_of(joins, sinks, leaves, compactions, st.builds(Write, written)), max_size=4
        ).map(tuple),
    ),
)
step_lists = st.lists(step_strategy, max_size=40)


TWO = (Join("a/", 0), Join("a/", 0), Pull(0), Pull(1))


@shortened(160)
@given(step_lists, st.integers(0, 2))
@example([Join("a/", 0), Pull(0), Write(("a/1",)), Pull(0)], 0)
@example([Join("a/", 0), Write(("a/1",), unseen=(Pull(0),)), Pull(0), Write(("a/1", "a/2"))], 0)
@example([Write(("a/1",), unseen=(Join("a/"), Pull(0))), Pull(0), Write(("a/1", "a/2"))], 0)
@example([Join("a/", 0), Write(KEYS * 2), Compact(0), Pull(0)], 0)
@example([*TWO, Write(KEYS * 2), Turns(1), Join("a/", 3), Pull(2), Write(("a/1",))], 1)
@example([*TWO, Write(KEYS * 2), Sink(1, False), Turns(1), Leave(0), Write(KEYS), Pull(1)], 1)
@example([*TWO, Write(KEYS * 4), Compact(0), Turns(1), Pull(0), Pull(1)], 1)
@example([Join("a/", 0, True), Pull(0), Write(("b/1",)), Compact(0), Write(KEYS), Pull(0)], 0)
@example([*TWO, Join("a/", 0, True), Pull(2), Write(KEYS * 2), Turns(1), Pull(2)], 1)
def test_watchers_get_their_events(steps: Sequence[Step], at_once: int) -> None:
    """Exactly those of their keys behind their start, in order, as far as they have come."""
    run_steps(steps, at_once)


@settings(max_examples=100, deadline=None)
@given(step_lists, st.integers(0, 2))
@example([Join("a/", 0), Pull(0), Write(("a/1",)), Progress(), Pull(0), Write(("a/1",))], 0)
@example([*TWO, Write(KEYS * 2), Progress(), Turns(1), Join("a/", 2), Pull(2), Progress()], 1)
def test_watchers_get_what_others_wrote(steps: Sequence[Step], at_once: int) -> None:
    """The same of revisions with gaps that another process made, and of progress alone."""
    trio.run(run_told, steps, at_once, clock=MockClock())
