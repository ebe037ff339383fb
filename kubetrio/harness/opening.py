"""A whole server for tests and fuzzing: what ``kubetrio serve`` runs, seeded, in this process.

One call chooses what belongs together: the configuration, the clocks, the order of tasks, keys that
are the same each time, and a store in memory or on a disk that can fail.  Under a mock clock the
server answers a script of requests with the same bytes each time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

import trio
import trio.testing

from kubetrio.client import LOOPBACK, Client
from kubetrio.clock import MovableClock
from kubetrio.config import Config
from kubetrio.env import Env, seeded
from kubetrio.harness.connecting import ADMIN, Connected, connect
from kubetrio.harness.digest import digest
from kubetrio.harness.disk import FaultyDisk
from kubetrio.harness.forking import LIMIT_S, forked
from kubetrio.harness.keys import write_keys
from kubetrio.harness.scheduler import seed_scheduler
from kubetrio.harness.setup import DISK, Setup
from kubetrio.harness.transport import CAPACITY_BYTES
from kubetrio.http.limits import H1Config
from kubetrio.machinery.identity import UserInfo
from kubetrio.resources.objects import restamp
from kubetrio.runtime.groups import ungrouped
from kubetrio.server import Parts, ResetError, Server, Snapshot, open_server
from kubetrio.server.parts import own_store
from kubetrio.server.serverclock import TrioClock
from kubetrio.store.memory import InMemoryStore, Retention, open_memory

if TYPE_CHECKING:
    from kubetrio.api.pipeline import Pipeline
    from kubetrio.faults import Injector

T = TypeVar("T")


class Harness:
    """A server for tests and fuzzing; made by `open_harness`.

    It has what a `kubetrio.embedding.Server` has, by the same names, and survives `restart`.

    Args:
        setup: how it is made.
        env: its clocks and randomness.
        config: its configuration.
        disk: its disk, None where it keeps objects in memory.
        opening: opens the server for as long as a block lasts, again and again.
    """

    def __init__(
        self,
        setup: Setup,
        env: Env,
        config: Config,
        disk: FaultyDisk | None,
        opening: Callable[[], AbstractAsyncContextManager[Server]],
    ) -> None:
        self.setup = setup
        self.env = env
        self.config = config
        self._disk = disk
        self._opening = opening
        self._running: Server | None = None
        self._ready = trio.Event()
        self._stop = trio.Event()
        self._ending = False
        self._connections: dict[Connected, None] = {}
        self._snapshots: list[Snapshot] = []

    async def _serve(self) -> None:
        """Run the server, and another one on the same store after each `restart`."""
        while not self._ending:
            async with self._opening() as server:
                await server.settled()
                server.faults.stand(self.setup.faults)
                self._running = server
                self._ready.set()
                await self._stop.wait()
                self._running = None
                self._snapshots.clear()
                for connection in self._connections:
                    connection.sever()

    @property
    def server(self) -> Server:
        """The server that runs now.

        Raises:
            RuntimeError: it is being started again.
        """
        if self._running is None:
            raise RuntimeError("the server is being started again")
        return self._running

    @property
    def api(self) -> Pipeline:
        """The pipeline, for in-process clients."""
        return self.server.api

    @property
    def clock(self) -> TrioClock:
        """The clock of this run; see `kubetrio.embedding.Server.clock`."""
        return TrioClock(self.settled)

    @property
    def disk(self) -> FaultyDisk:
        """The disk, whose ``fault`` may be set.

        Raises:
            RuntimeError: the server keeps its objects in memory.
        """
        if self._disk is None:
            raise RuntimeError("the server has no disk: make it with Setup(storage='disk')")
        return self._disk

    @property
    def faults(self) -> Injector:
        """What goes wrong on demand: its `add` puts a `kubetrio.embedding.Rule` in force."""
        return self.server.faults

    @property
    def url(self) -> str:
        """Where it listens; empty where it does not."""
        return self.server.url

    def kubeconfig(self) -> dict[str, object]:
        """Return an administrator's kubeconfig.

        Raises:
            KubeconfigError: the server does not listen.
        """
        return self.server.kubeconfig()

    def client(self, user: UserInfo = LOOPBACK) -> Client:
        """Return a client without bytes; see `kubetrio.embedding.Server.client`.

        Args:
            user: who asks; the server itself unless told otherwise, which may do everything.
        """
        return self.server.client(user)

    @asynccontextmanager
    async def connect(
        self,
        user: UserInfo | None = ADMIN,
        *,
        config: H1Config | None = None,
        capacity: int = CAPACITY_BYTES,
    ) -> AsyncIterator[Connected]:
        """Open an HTTP/1.1 connection in memory for as long as a block lasts.

        Args:
            user: of a verified client certificate; None for a client that shows none.
            config: limits of the connection.
            capacity: bytes that each direction holds before a writer must wait.
        """
        handle = self.api.handle
        async with connect(
            handle, self.env, certificate=user, config=config, capacity=capacity
        ) as connected:
            self._connections[connected] = None
            try:
                yield connected
            finally:
                del self._connections[connected]

    async def digest(self) -> str:
        """Return a digest of all that is stored: keys, values and revisions, without history."""
        return await digest(self.api.storage.store)

    async def settled(self) -> None:
        """Wait until no controller has anything to do but what is delayed."""
        await self.server.settled()

    async def snapshot(self) -> Snapshot:
        """Remember what is stored; see `kubetrio.embedding.Server.snapshot`."""
        snapshot = await self.server.snapshot()
        self._snapshots.append(snapshot)
        return snapshot

    async def reset(self, snapshot: Snapshot) -> None:
        """Bring back what was stored; see `kubetrio.embedding.Server.reset`.

        Raises:
            ResetError: requests do not end, or the server was started again since the snapshot.
            StoreError: it cannot be written.
        """
        if snapshot not in self._snapshots:
            raise ResetError("the snapshot is of the server before its restart")
        await self.server.reset(snapshot)

    async def fork(self, do: Callable[[Harness], Awaitable[T]], *, limit_s: float = LIMIT_S) -> T:
        """Call a function with a copy of this server, and return what it returns.

        The copy goes on from where this server is, with the same revisions, names, uids and times
        to come, and leaves no trace here: the next copy begins at the same point.  It is a copy of
        the process, made when the controllers are at rest; what the function returns or raises is
        pickled.

        Args:
            do: awaited with the copy, in its process.
            limit_s: seconds, of the real clock, after which the copy is ended.

        Raises:
            ForkError: the server cannot be copied, for it has a disk or listens or threads run
                beside it, or the copy did not end in order.
        """
        await self.settled()
        return await forked(self.setup, partial(do, self), limit_s=limit_s)

    async def restart(self) -> None:
        """Stop the server in order and start it again on what it has stored.

        Connections end; identities and times go on.  A server that does not start ends the block
        of `open_harness`.
        """
        self._ready = trio.Event()
        stop, self._stop = self._stop, trio.Event()
        stop.set()
        await self._ready.wait()

    def _end(self) -> None:
        self._ending = True
        self._stop.set()


@ungrouped
@asynccontextmanager
async def open_harness(
    setup: Setup | None = None, *, parts: Parts | None = None
) -> AsyncIterator[Harness]:
    """Run a server for as long as the block lasts, and begin when its controllers are at rest.

    The order of Trio's tasks becomes a function of the seed for the whole process.  Answers are a
    function of setup and requests under a `trio.testing.MockClock`; under another clock the times
    in them are those that pass.

    Args:
        setup: how; in memory, of seed 0, when None.
        parts: kinds, authorizers, admission plugins or controllers of your own.

    Raises:
        SetupError: a flag cannot be used.
        StartError: a file that a flag names cannot be used.
    """
    setup = setup or Setup()
    seed_scheduler(setup.seed)
    env = seeded(setup.seed, start=setup.start)
    if setup.listen:  # clients check certificates by the real clock
        env = replace(env, clients_now=seeded(setup.seed).clients_now)
    with ExitStack() as stack:
        data_dir = Path(stack.enter_context(TemporaryDirectory(prefix="kubetrio-")))
        config = setup.config(data_dir)
        if not (setup.listen or (config.pki_dir / "ca.key").exists()):
            write_keys(config.pki_dir, env.utcnow())
        disk = stack.enter_context(FaultyDisk()) if setup.storage == DISK else None
        async with _kept_store(config, env, parts or Parts()) as given, trio.open_nursery() as runs:
            opening = partial(open_server, config, env, given)
            harness = Harness(setup, env, config, disk, opening)
            runs.start_soon(harness._serve, name="server")  # noqa: SLF001  (its own)
            await harness._ready.wait()  # noqa: SLF001
            yield harness
            harness._end()  # noqa: SLF001


@asynccontextmanager
async def _kept_store(config: Config, env: Env, parts: Parts) -> AsyncIterator[Parts]:
    """Parts whose store outlives the server, where it is in memory."""
    if not config.storage.in_memory or parts.open_store is not own_store:
        yield parts
        return
    retention = Retention(
        history_window_s=config.storage.history_window_s,
        compact_interval_s=config.storage.compact_interval_s,
    )
    async with open_memory(retention, restamp, env.now) as store:

        @asynccontextmanager
        async def opened(_config: Config, _env: Env) -> AsyncIterator[InMemoryStore]:
            try:
                yield store
            finally:
                store.forget_listeners()

        yield replace(parts, open_store=opened)


def run(
    main: Callable[[Harness], Awaitable[T]],
    setup: Setup | None = None,
    *,
    parts: Parts | None = None,
) -> T:
    """Call a function with a server in a run of its own; return what it returns.

    The run is on a mock clock, which jumps to the next deadline whenever all tasks wait, so that an
    hour takes no time.  A server that listens gets a clock that runs and can be moved.

    Args:
        main: awaited with the server.
        setup: see `open_harness`.
        parts: see `open_harness`.

    Raises:
        SetupError: a flag cannot be used.
        StartError: a file that a flag names cannot be used.
    """
    given = setup or Setup()

    async def opened() -> T:
        async with open_harness(given, parts=parts) as harness:
            return await main(harness)

    clock: trio.abc.Clock
    clock = MovableClock() if given.listen else trio.testing.MockClock(autojump_threshold=0)
    return trio.run(opened, clock=clock)
