"""Servers for programs whose main thread does not run Trio: `in_thread` and `run`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING

import trio

from kubetrio.config import Config
from kubetrio.runtime.groups import single
from kubetrio.threads.serverrun import STOP_MARGIN_S, ServerRun
from kubetrio.threads.serverthread import ServerThread

if TYPE_CHECKING:
    from kubetrio.env import Env
    from kubetrio.server import Server
    from kubetrio.server.parts import Parts

START_LIMIT_S = 60.0


@contextmanager
def in_thread(
    config: Config,
    *,
    env: Env | None = None,
    parts: Parts | None = None,
    start_limit_s: float = START_LIMIT_S,
    handle_sigterm: bool = True,
) -> Iterator[ServerThread]:
    """Run a server in a thread for as long as the block lasts; leaving it shuts down in order.

    Ctrl-C leaves the block by `KeyboardInterrupt`, and SIGTERM by `SystemExit`.  A second Ctrl-C
    during the shutdown cuts it short.

    A server that fails while the block runs is told when the block is left: its exception as it is,
    or in a group with that of the block.

    Args:
        config: how.
        env: clocks, randomness and threads; real ones with a movable clock when None.
        parts: kinds, authorizers, admission plugins or a store of your own.
        start_limit_s: seconds within which the server must be ready.
        handle_sigterm: whether SIGTERM leaves the block, if this is the main thread and that
            signal has no other handler.

    Raises:
        StartError: a file, address or certificate cannot be used, or the server is not ready in
            time.
        StoreError: the data directory is in use, foreign or damaged.
    """
    run = ServerRun(config, env, parts)
    with _terminated() if handle_sigterm else nullcontext():
        run.start()
        raised: BaseException | None = None
        try:
            try:
                server = run.ready.result(start_limit_s)
            except FutureTimeout:
                if run.ready.done():
                    raise  # the server's own
                raise run.started(start_limit_s) from None
            yield ServerThread(run, server)
        except BaseException as error:
            raised = error
            raise
        finally:
            _end(run, raised)


def _end(run: ServerRun, raised: BaseException | None) -> None:
    """Stop the server and wait for its thread.

    Args:
        run: of the server.
        raised: what leaves the block.
    """
    run.stop()
    try:
        try:
            failure = run.ended.exception(run.stop_limit_s)
        except FutureTimeout:
            run.abort()
            failure = run.ended.exception(STOP_MARGIN_S)
    except BaseException:
        run.abort()
        raise
    if failure is None:
        return
    if raised is None:
        raise failure
    raise BaseExceptionGroup("the block and its server failed", [raised, failure]) from None


@contextmanager
def _terminated() -> Iterator[None]:
    """Have SIGTERM raise `SystemExit`, where no other handler is set."""
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    if not ours:
        yield
        return
    signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is _exit:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _exit(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def run(
    config: Config,
    *,
    env: Env | None = None,
    parts: Parts | None = None,
    ready: Callable[[Server], object] | None = None,
) -> None:
    """Run a server until Ctrl-C (SIGINT) or SIGTERM, and shut it down in order.

    A second signal cuts the shutdown short.  For the main thread of a program.

    Args:
        config: how.
        env: clocks, randomness and threads; the real ones when None.
        parts: kinds, authorizers, admission plugins or a store of your own.
        ready: called when the server listens; must return at once.

    Raises:
        StartError: a file, address or certificate cannot be used.
        StoreError: the data directory is in use, foreign or damaged.
    """
    try:
        trio.run(_until_signal, config, env, parts, ready)
    except BaseExceptionGroup as group:
        only = single(group)
        if only is group:
            raise
        failure = only
    else:
        return
    raise failure


async def _until_signal(
    config: Config,
    env: Env | None,
    parts: Parts | None,
    ready: Callable[[Server], object] | None,
) -> None:
    from kubetrio.server import open_server

    told = trio.Event()
    serving = False
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:

            async def listen() -> None:
                async for _ in signals:
                    if told.is_set() or not serving:
                        nursery.cancel_scope.cancel()
                    told.set()

            nursery.start_soon(listen, name="signals")
            async with open_server(config, env, parts) as server:
                serving = True
                if ready is not None:
                    ready(server)
                await told.wait()
            nursery.cancel_scope.cancel()
