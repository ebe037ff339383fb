"""A server for asyncio programs: in a thread of its own, awaited from the event loop.

Programs on Trio use `kubetrio.server.open_server`; those on AnyIO do so under Trio, and this under
asyncio.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from kubetrio.config import Config
from kubetrio.threads import START_LIMIT_S, STOP_MARGIN_S, ServerRun

if TYPE_CHECKING:
    from kubetrio.env import Env
    from kubetrio.server import Server
    from kubetrio.server.parts import Parts
    from kubetrio.server.resetting import Snapshot

T = TypeVar("T")
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
        """
        call, cancel = self._run.submit(fn, *args)
        future = asyncio.wrap_future(call)
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

    async def snapshot(self) -> Snapshot:
        """Remember what is stored now; see `kubetrio.server.Server.snapshot`."""
        return await self.call(self.server.snapshot)

    async def reset(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot; see `kubetrio.threads.ServerThread.reset`."""
        self._run.clock.restore_wall_clock()
        await self.call(self.server.reset, snapshot)


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
