"""A server in a thread of its own, for programs whose main thread does not run Trio.

The thread has its own ``trio.run``.  Between it and the program there are three futures' worth of
news: the server is ready or could not start, a call has its result, the run has ended.  Blocking
programs wait for them here, asyncio awaits them in `kubetrio.aio`.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager, nullcontext, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

import trio

from kubetrio.clock import MovableClock
from kubetrio.config import Config
from kubetrio.runtime.groups import single

if TYPE_CHECKING:
    from kubetrio.env import Env
    from kubetrio.faults import Injector, Rule
    from kubetrio.server import Server
    from kubetrio.server.parts import Parts
    from kubetrio.server.resetting import Snapshot

T = TypeVar("T")
Args = TypeVarTuple("Args")

START_LIMIT_S = 60.0
IDLE_S = 0.01
"""When nothing happens for so long, what became due has been done."""
STOP_MARGIN_S = 10.0
"""Beyond the grace that a server has for its shutdown: closing the store, ending threads."""


class NotRunning(RuntimeError):
    """The server has ended; the cause, if it did not end in order, is the exception's."""


class _Running:
    """What is inside the run; used from its thread only."""

    def __init__(self, server: Server, nursery: trio.Nursery) -> None:
        self.server = server
        self.nursery = nursery
        self.stop = trio.Event()


class ServerRun:
    """One server in one thread, as futures.

    Args:
        config: how.
        env: clocks, randomness and threads; real ones with a movable clock when None.
        parts: as for `kubetrio.server.open_server`.

    Attributes:
        clock: Trio's clock of the run, and the wall clock's if `env` was None.
        ready: the server, or why it did not start.
        ended: done when the run has ended; what ended a server that was ready.
    """

    def __init__(self, config: Config, env: Env | None = None, parts: Parts | None = None) -> None:
        self.config = config
        self.clock = MovableClock()
        self.ready: Future[Server] = Future()
        self.ended: Future[None] = Future()
        self._env = env or self.clock.env()
        self._parts = parts
        self._lock = threading.Lock()
        self._token: trio.lowlevel.TrioToken | None = None
        self._scope: trio.CancelScope | None = None
        self._running: _Running | None = None
        self._calls: set[Future[Any]] = set()
        self._abandoned = False
        # A daemon: a program that dies without leaving its block must not wait for its server.
        # What is stored is then as after a kill, which the next start copes with.
        self._thread = threading.Thread(
            target=self._work, name=f"kubetrio {config.name}", daemon=True
        )

    def start(self) -> None:
        """Begin; `ready` tells."""
        self._thread.start()

    def _work(self) -> None:
        failure: BaseException | None = None
        try:
            trio.run(self._main, clock=self.clock)
        except BaseException as error:  # noqa: BLE001  (raised in the thread that waits)
            failure = single(error)
        with self._lock:
            self._token = None
            unanswered = list(self._calls)
        if not self.ready.done():
            self.ready.set_exception(failure or NotRunning("the server was stopped at its start"))
            self.ended.set_result(None)
        elif failure is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(failure)
        for call in unanswered:  # which came when the run was about to end
            with suppress(InvalidStateError):
                call.set_exception(self._gone())

    async def _main(self) -> None:
        from kubetrio.server import open_server

        with trio.CancelScope() as scope:
            with self._lock:
                self._token, self._scope = trio.lowlevel.current_trio_token(), scope
                if self._abandoned:
                    scope.cancel()
            async with (
                open_server(self.config, self._env, self._parts) as server,
                trio.open_nursery() as nursery,
            ):
                running = self._running = _Running(server, nursery)
                self.ready.set_result(server)
                await running.stop.wait()
                nursery.cancel_scope.cancel()

    def _soon(self, fn: Callable[[], object]) -> bool:
        """Have a function called in the run; whether there still is one."""
        with self._lock, suppress(trio.RunFinishedError):
            if self._token is not None:
                self._token.run_sync_soon(fn)
                return True
        return False

    def stop(self) -> None:
        """Ask for an orderly end; a server that is not ready yet is not waited for."""
        with self._lock:
            self._abandoned = True

        def stop() -> None:
            if self._running is not None:
                self._running.stop.set()
            elif self._scope is not None:
                self._scope.cancel()

        self._soon(stop)

    def abort(self) -> None:
        """Ask for an end at once: connections and requests are cut."""
        with self._lock:
            self._abandoned = True

        def cancel() -> None:
            if self._scope is not None:
                self._scope.cancel()

        self._soon(cancel)

    def submit(
        self, fn: Callable[[*Args], Awaitable[T]], *args: *Args
    ) -> tuple[Future[T], Callable[[], None]]:
        """Call an async function in the run.

        Returns:
            Its result, and what cancels it.
        """
        future: Future[T] = Future()
        scope = trio.CancelScope()

        async def run() -> None:
            try:
                with scope:
                    future.set_result(await fn(*args))
                    return
            except trio.Cancelled:
                future.set_exception(NotRunning("the server was stopped during the call"))
                raise
            except BaseException as error:  # noqa: BLE001  (raised in the thread that waits)
                future.set_exception(error)
                return
            future.cancel()

        def begin() -> None:
            running = self._running
            if running is None or running.stop.is_set():
                future.set_exception(self._gone())
            else:
                running.nursery.start_soon(run, name=f"call of {fn!r}")

        with self._lock:
            self._calls.add(future)
        future.add_done_callback(self._answered)
        if not self._soon(begin):
            future.set_exception(self._gone())

        def cancel() -> None:
            self._soon(scope.cancel)

        return future, cancel

    def _answered(self, call: Future[Any]) -> None:
        with self._lock:
            self._calls.discard(call)

    def _gone(self) -> NotRunning:
        error = NotRunning("the server is not running")
        if self.ended.done():
            error.__cause__ = self.ended.exception()
        return error

    def started(self, limit_s: float) -> BaseException:
        """What is raised where the server was not ready in time.

        Args:
            limit_s: how long it was waited for, seconds.
        """
        from kubetrio.server.files import StartError

        self.abort()
        return StartError(f"the server was not ready within {limit_s:g} seconds")

    @property
    def stop_limit_s(self) -> float:
        """How long an orderly end may take, seconds."""
        serving = self.config.serving
        return 2 * serving.shutdown_grace_s + serving.shutdown_delay_s + STOP_MARGIN_S

    async def moved(self, seconds: float) -> None:
        """Move the clock, and wait until what became due has been done.  In the run.

        Args:
            seconds: how far.
        """
        from trio.testing import wait_all_tasks_blocked

        self.clock.move(seconds)
        if self._running is None:
            return
        server, looking = self._running.server, True
        while looking:
            await wait_all_tasks_blocked(IDLE_S)
            await server.settled()
            looking = server.api.storage.store.statistics().queued > 0  # behind a thread's work


class ServerClock:
    """The clock of a server in a thread.

    Moving it is as if every client were silent for so long: timers end, times to live are over,
    tokens expire, watches whose time is up end.

    Args:
        run: of the server.
    """

    def __init__(self, run: ServerRun) -> None:
        self._run = run

    def move(self, *, seconds: float) -> None:
        """Move it ahead; when this returns, what became due has been done.

        Args:
            seconds: how far.

        Raises:
            ValueError: back in time.
            NotRunning: the server has ended.
        """
        waited(*self._run.submit(self._run.moved, seconds))

    def restore_wall_clock(self) -> None:
        """Let the server's wall clock say the real time again; timers go on from where they are."""
        self._run.clock.restore_wall_clock()


class ServerFaults:
    """What goes wrong on demand in a server in a thread; `ServerThread.reset` ends it.

    Args:
        call: calls a function in the server's thread.
        server: that it goes wrong in.
    """

    def __init__(self, call: Callable[[Callable[[], Awaitable[Any]]], Any], server: Server) -> None:
        self._call = call
        self._server = server

    def add(self, rule: Rule) -> str:
        """Put a rule in force; returns its id.  See `kubetrio.faults.Injector.add`.

        Raises:
            RuleError: there is one with its id.
        """
        added: str = self._done(lambda faults: faults.add(rule))
        return added

    def remove(self, rule_id: str) -> None:
        """End a rule.

        Raises:
            KeyError: there is no such rule.
        """
        self._done(lambda faults: faults.remove(rule_id))

    def clear(self) -> None:
        """End all rules."""
        self._done(lambda faults: faults.clear())

    def rules(self) -> list[dict[str, Any]]:
        """The rules, and how many requests they fitted (``seen``) and spoiled (``injected``)."""
        found: list[dict[str, Any]] = self._done(lambda faults: faults.rules())
        return found

    def _done(self, do: Callable[[Injector], Any]) -> Any:
        async def there() -> Any:
            return do(self._server.faults)

        return self._call(there)


class ServerThread:
    """A server in a thread of its own; made by `in_thread`.

    Args:
        run: of the server, which is ready.
        server: itself, for what is called in the thread.

    Attributes:
        server: to be used in functions given to `call`, not from other threads.
        clock: the server's clock.
        faults: what goes wrong on demand.
    """

    def __init__(self, run: ServerRun, server: Server) -> None:
        self._run = run
        self.server = server
        self.clock = ServerClock(run)
        self.faults = ServerFaults(self.call, server)

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

    def call(self, fn: Callable[[*Args], Awaitable[T]], *args: *Args) -> T:
        """Call an async function in the server's thread, under Trio, and wait for its result.

        Such as a method of ``server.client()``, or a function that uses several.  What it raises
        arrives as it is.  Ctrl-C cancels it.

        Raises:
            NotRunning: the server has ended.
        """
        return waited(*self._run.submit(fn, *args))

    def snapshot(self) -> Snapshot:
        """Remember what is stored now; see `kubetrio.server.Server.snapshot`."""
        return self.call(self.server.snapshot)

    def reset(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot; see `kubetrio.server.Server.reset`.

        The wall clock says the real time again.
        """
        self.clock.restore_wall_clock()
        self.call(self.server.reset, snapshot)


def waited(future: Future[T], cancel: Callable[[], None]) -> T:
    """The result of a call; whoever is interrupted while waiting cancels it.

    Args:
        future: of the call.
        cancel: cancels it.
    """
    try:
        return future.result()
    except BaseException:
        if not future.done():  # a signal, not the call
            cancel()
        raise


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
        handle_sigterm: whether SIGTERM leaves the block, if this is the main thread and nobody else
            handles that signal.

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
    """Have SIGTERM raise `SystemExit`, where nobody else handles it."""
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
