"""A server for asyncio programs: in a thread of its own, awaited from the event loop.

Programs on Trio use `kubetrio.server.open_server`; those on AnyIO do so under Trio, and this under
asyncio.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, TypeVarTuple

from kubetrio.client import LOOPBACK, Client, Event, WrongThreadError
from kubetrio.config import Config
from kubetrio.threads import START_LIMIT_S, STOP_MARGIN_S, ServerRun
from kubetrio.threads.remote import HeldWatch

if TYPE_CHECKING:
    from kubetrio.env import Env
    from kubetrio.faults import Injector, Rule
    from kubetrio.machinery.identity import UserInfo
    from kubetrio.schema.kind import Kind, ObjectT
    from kubetrio.server import Server
    from kubetrio.server.parts import Parts
    from kubetrio.server.resetting import Snapshot

__all__ = ["AsyncioClient", "AsyncioClock", "AsyncioFaults", "AsyncioServer", "open_server"]

P = ParamSpec("P")
T = TypeVar("T")
Call = Callable[..., Coroutine[Any, Any, Any]]
Args = TypeVarTuple("Args")


class AsyncioServer:
    """A running server; made by `open_server`.

    Args:
        run: of the server, which is ready.
        server: itself, for what is called in its thread.

    Attributes:
        server: to be used in functions given to `call`, not on the event loop.
    """

    def __init__(self, run: ServerRun, server: Server) -> None:
        self._run = run
        self.server = server

    def client(self, user: UserInfo = LOOPBACK) -> AsyncioClient:
        """A client for this event loop.

        Args:
            user: who asks; the server itself unless told otherwise, which may do everything.
        """
        return AsyncioClient(self.call, self._run, self.server.client(user))

    @property
    def clock(self) -> AsyncioClock:
        """The server's clock."""
        return AsyncioClock(self)

    @property
    def faults(self) -> AsyncioFaults:
        """What goes wrong on demand; `reset` ends it."""
        return AsyncioFaults(self)

    @property
    def config(self) -> Config:
        """How it was started."""
        return self.server.config

    @property
    def url(self) -> str:
        """Where it listens."""
        return self.server.url

    def kubeconfig(self) -> dict[str, object]:
        """An administrator's kubeconfig with inline certificates."""
        return self.server.kubeconfig()

    async def call(self, fn: Callable[[*Args], Awaitable[T]], *args: *Args) -> T:
        """Call a function in the server's thread, where it runs under Trio; await its result.

        Such as a method of ``server.client()``.  Cancelling this cancels the call.

        Raises:
            NotRunning: the server has ended.
            WrongThreadError: no asyncio loop runs here.
        """
        loop = _loop()
        call, cancel = self._run.submit(fn, *args)
        future = asyncio.wrap_future(call, loop=loop)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            # No caller waits for what it raises now; asyncio would log it as never retrieved.
            future.add_done_callback(_retrieve)
            cancel()
            raise

    async def move_clock(self, *, seconds: float) -> None:
        """Move the server's clock ahead; see `kubetrio.threads.ServerClock.move`.

        Args:
            seconds: how far.
        """
        await self.call(self._run.moved, seconds)

    async def settled(self) -> None:
        """Wait until no controller has anything to do but what is delayed."""
        await self.call(self.server.settled)

    async def until_signal(self) -> None:
        """Wait until the process is told to end, by SIGINT (Ctrl-C) or SIGTERM.

        For the loop of the main thread.
        """
        loop, told = asyncio.get_running_loop(), asyncio.Event()
        signals = (signal.SIGINT, signal.SIGTERM)
        for number in signals:
            loop.add_signal_handler(number, told.set)
        try:
            await told.wait()
        finally:
            for number in signals:
                loop.remove_signal_handler(number)

    async def snapshot(self) -> Snapshot:
        """Remember what is stored now; see `kubetrio.server.Server.snapshot`."""
        return await self.call(self.server.snapshot)

    async def reset(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot; see `kubetrio.threads.ServerThread.reset`."""
        self._run.clock.restore_wall_clock()
        await self.call(self.server.reset, snapshot)


class AsyncioClock:
    """The clock of a server; see `kubetrio.threads.ServerClock`.

    Args:
        server: whose clock it is.
    """

    def __init__(self, server: AsyncioServer) -> None:
        self._server = server

    async def move(self, *, seconds: float) -> None:
        """Move it ahead; when this returns, what became due has been done.

        Args:
            seconds: how far.
        """
        await self._server.move_clock(seconds=seconds)


class AsyncioFaults:
    """What goes wrong on demand; see `kubetrio.threads.ServerFaults`.

    Args:
        server: that it goes wrong in.
    """

    def __init__(self, server: AsyncioServer) -> None:
        self._server = server

    async def add(self, rule: Rule) -> str:
        """Put a rule in force; returns its id.

        Raises:
            RuleError: there is one with its id.
        """
        return await self._server.call(self._there, lambda faults: faults.add(rule))

    async def remove(self, rule_id: str) -> None:
        """End a rule.

        Raises:
            KeyError: there is no such rule.
        """
        await self._server.call(self._there, lambda faults: faults.remove(rule_id))

    async def clear(self) -> None:
        """End all rules."""
        await self._server.call(self._there, lambda faults: faults.clear())

    async def rules(self) -> list[dict[str, Any]]:
        """The rules, and how many requests they fitted (``seen``) and spoiled (``injected``)."""
        return await self._server.call(self._there, lambda faults: faults.rules())

    async def _there(self, do: Callable[[Injector], T]) -> T:
        return do(self._server.server.faults)


class AsyncioClient:
    """The in-process client for an asyncio loop: requests are awaited.

    `kind` is that of `kubetrio.client.Client`; `get`, `list`, `create`, `update`, `patch`, `apply`,
    `delete` and `delete_collection` take what those of it take, and raise what they raise.

    Args:
        call: calls a function in the server's thread.
        run: of the server.
        client: of that server.
    """

    def __init__(self, call: Call, run: ServerRun, client: Client) -> None:
        self._call = call
        self._run = run
        self._client = client
        awaits = _awaits(call)
        self.kind = client.kind
        self.get = awaits(client.get)
        self.list = awaits(client.list)
        self.create = awaits(client.create)
        self.update = awaits(client.update)
        self.patch = awaits(client.patch)
        self.apply = awaits(client.apply)
        self.delete = awaits(client.delete)
        self.delete_collection = awaits(client.delete_collection)

    def as_user(self, user: UserInfo) -> AsyncioClient:
        """Return a client that acts as another user."""
        return AsyncioClient(self._call, self._run, self._client.as_user(user))

    @asynccontextmanager
    async def watch(
        self, kind: Kind[ObjectT], namespace: str = "", **how: Any
    ) -> AsyncIterator[AsyncIterator[Event[ObjectT]]]:
        """Events of a collection, for as long as a block lasts.

        Args:
            kind: of what.
            namespace: in which; empty for all of them.
            **how: further arguments of `kubetrio.client.Client.watch`.

        Raises:
            ApiError: the watch is refused; also while events are taken.
        """
        held = HeldWatch(self._client.watch(kind, namespace, **how))
        _, cancel = self._run.submit(held.hold)
        try:
            await self._call(held.entered)
            yield self._events(held)
        finally:
            cancel()

    async def _events(self, held: HeldWatch[ObjectT]) -> AsyncIterator[Event[ObjectT]]:
        while (event := await self._call(held.next)) is not None:
            yield event


def _awaits(
    call: Call,
) -> Callable[[Callable[P, Awaitable[T]]], Callable[P, Coroutine[Any, Any, T]]]:
    """Return what makes a method of the server's run one that is awaited here."""

    def awaited(method: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        @wraps(method)
        async def called(*args: P.args, **kwargs: P.kwargs) -> T:
            found: T = await call(partial(method, *args, **kwargs))
            return found

        return called

    return awaited


def _loop() -> asyncio.AbstractEventLoop:
    """The loop that runs here.

    Raises:
        WrongThreadError: there is none.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise WrongThreadError(
            "this is awaited in an asyncio loop, and none runs here: in the run of the server use "
            "handle.server.client(), and for a program without asyncio kubetrio.in_thread or, "
            "under Trio, kubetrio.embedding.open_server"
        ) from None


def _retrieve(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()


@asynccontextmanager
async def open_server(
    config: Config,
    *,
    env: Env | None = None,
    parts: Parts | None = None,
    start_limit_s: float = START_LIMIT_S,
) -> AsyncIterator[AsyncioServer]:
    """Run a server for as long as the block lasts; leaving it shuts down in order.

    Ctrl-C cancels the main task, as ``asyncio.run`` does, and so leaves the block.  For SIGTERM
    use ``loop.add_signal_handler``.

    Args:
        config: how.
        env: clocks, randomness and threads; real ones with a movable clock when None.
        parts: kinds, authorizers, admission plugins or a store of your own.
        start_limit_s: seconds within which the server must be ready.

    Raises:
        StartError: a file, address or certificate cannot be used, or the server is not ready in
            time.
        StoreError: the data directory is in use, foreign or damaged.
    """
    run = ServerRun(config, env, parts)
    run.start()
    raised: BaseException | None = None
    try:
        ready = asyncio.wrap_future(run.ready)
        ready.add_done_callback(_retrieve)  # it may fail when no caller waits any more
        done, _ = await asyncio.wait([ready], timeout=start_limit_s)
        if not done:
            raise run.started(start_limit_s)
        yield AsyncioServer(run, ready.result())
    except BaseException as error:
        raised = error
        raise
    finally:
        await _end(run, raised)


async def _end(run: ServerRun, raised: BaseException | None) -> None:
    """Stop the server and wait for its thread; being cancelled again cuts that short.

    Args:
        run: of the server.
        raised: what leaves the block.
    """
    run.stop()
    ended = asyncio.wrap_future(run.ended)
    try:
        done, _ = await asyncio.wait([ended], timeout=run.stop_limit_s)
        if not done:
            run.abort()
            await asyncio.wait([ended], timeout=STOP_MARGIN_S)
    except BaseException:
        run.abort()
        raise
    failure = ended.exception()
    if failure is None:
        return
    if raised is None:
        raise failure
    raise BaseExceptionGroup("the block and its server failed", [raised, failure]) from None
