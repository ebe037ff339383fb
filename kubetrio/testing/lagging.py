"""An engine that others write to, and whose local state is behind: as a remote engine is.

`LaggingStore` follows a model of the remote engine (`store_model.MemoryStore`).  What is written
there, by this engine or by others behind its back, reaches its local state when the test says so:
after a delay of Trio's clock, or by steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import NoReturn, TypeVar

import trio

from kubetrio.store.model import Change, EventType, KeyValue, Range, Revision, Stamped
from kubetrio.testing.store_model import FollowingStore, Logged, MemoryStore

T = TypeVar("T")


class RemoteStore(MemoryStore):
    """A remote engine that any number of writers share: a model that keeps its newest state."""

    def __init__(self, *, step: int = 3) -> None:
        super().__init__(step=step, stamps_on_read=True)
        self._newest = NewestState()

    def live(self, at: Revision | None = None) -> dict[str, Logged]:
        """See `MemoryStore.live`."""
        return self._newest.of(self.log) if at is None else super().live(at)


class NewestState:
    """What made the live keys of a growing log what they are."""

    def __init__(self) -> None:
        self._live: dict[str, Logged] = {}
        self._seen = 0

    def of(self, log: Sequence[Logged]) -> dict[str, Logged]:
        """The newest state, in key order."""
        for logged in log[self._seen :]:
            if logged.type is EventType.DELETED:
                del self._live[logged.key]
            else:
                self._live[logged.key] = logged
        self._seen = len(log)
        return dict(sorted(self._live.items()))


class LaggingStore(FollowingStore):
    """The engine.

    Args:
        remote: where revisions are made, by any number of writers.
        delay_s: how long a revision takes to come here; called for each.
        keys: what it is told of, as of `FollowingStore`.

    Attributes:
        questions: how often it was asked for the newest revision.
        held: whether revisions are held until `step` brings them.
    """

    shared = True

    def __init__(
        self,
        remote: MemoryStore,
        delay_s: Callable[[], float] = lambda: 0.0,
        keys: Range | None = None,
    ) -> None:
        self._on_its_way: deque[tuple[float, Callable[[], None]]] = deque()
        self._more = trio.Event()
        self._delay_s = delay_s
        self._newest = NewestState()
        self.questions = 0
        self.held = False
        self.remote = remote
        super().__init__(remote, keys)
        if remote.log:  # an engine that is opened reads what is there
            self.learn([item.event for item in remote.log])

    def _follow(self, leader: MemoryStore) -> None:
        leader.on_commit(lambda events: self._send(partial(self.learn, events)))
        leader.on_progress(lambda revision: self._send(partial(self.progress, revision)))

    def _send(self, arrive: Callable[[], None]) -> None:
        due = trio.current_time() + self._delay_s()
        if self._on_its_way:  # one stream, in order
            due = max(due, self._on_its_way[-1][0])
        self._on_its_way.append((due, arrive))
        self._more.set()

    def live(self, at: Revision | None = None) -> dict[str, Logged]:
        """See `MemoryStore.live`."""
        return self._newest.of(self.log) if at is None else super().live(at)

    @property
    def behind(self) -> int:
        """Number of commits that have not come here."""
        return len(self._on_its_way)

    def step(self, commits: int = 1) -> None:
        """Have the next commits come here now."""
        for _ in range(min(commits, len(self._on_its_way))):
            self._on_its_way.popleft()[1]()

    async def run(self) -> NoReturn:
        """Bring what is on its way when its time has come, until cancelled."""
        while True:
            self._more = trio.Event()
            if self.held or not self._on_its_way:
                await self._more.wait()
                continue
            await trio.sleep_until(self._on_its_way[0][0])
            if not self.held:
                self.step()

    def release(self) -> None:
        """Hold revisions no longer."""
        self.held = False
        self._more.set()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[LaggingStore]:
        """The engine as a server opens it (`Parts.open_store`); it stays open afterwards."""
        yield self

    async def newest(self) -> Revision:
        """Ask the remote engine, which takes a moment."""
        self.questions += 1
        newest = self.remote.revision
        await trio.lowlevel.checkpoint()
        return newest

    # ------------------------------------------------------------------ writes

    async def _announced(self, write: Awaitable[T]) -> T:
        """Answer a write there when what it made has come here."""
        result = await write
        await self.caught_up(
            result.revision if isinstance(result, KeyValue) else self.remote.revision
        )
        return result

    async def create(self, key: str, value: Stamped, *, ttl_s: float = 0.0) -> KeyValue:
        """Write a new key there; see `Store.create`."""
        return await self._announced(super().create(key, value, ttl_s=ttl_s))

    async def update(
        self, key: str, value: Stamped, *, expected: Revision, ttl_s: float = 0.0
    ) -> KeyValue:
        """Replace a key there; see `Store.update`."""
        return await self._announced(super().update(key, value, expected=expected, ttl_s=ttl_s))

    async def delete(self, key: str, *, expected: Revision) -> Revision:
        """Delete a key there; see `Store.delete`."""
        revision = await super().delete(key, expected=expected)
        await self.caught_up(revision)
        return revision

    async def write_all(self, changes: Sequence[Change]) -> None:
        """Make several changes at once there; see `Rewinding.write_all`."""
        await self._announced(super().write_all(changes))

    async def expire(self) -> None:
        """The remote engine does that."""
        await super().expire()
        await self.caught_up(self.remote.revision)


@asynccontextmanager
async def lagging(
    remote: MemoryStore, delay_s: Callable[[], float] = lambda: 0.0, keys: Range | None = None
) -> AsyncIterator[LaggingStore]:
    """Follow a remote engine for as long as the block lasts; see `LaggingStore`."""
    store = LaggingStore(remote, delay_s, keys)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.run, name="lagging engine")
        yield store
        nursery.cancel_scope.cancel()
