"""One server in one thread, as futures.

The thread has its own ``trio.run``.  Three futures connect it with the program: the server is ready
or did not start, a call has its result, the run has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

import trio

from kubetrio.client import WrongThreadError
from kubetrio.clock import MovableClock
from kubetrio.config import Config
from kubetrio.runtime.groups import single

if TYPE_CHECKING:
    from kubetrio.env import Env
    from kubetrio.server import Server
    from kubetrio.server.parts import Parts

T = TypeVar("T")
Args = TypeVarTuple("Args")

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

        Raises:
            WrongThreadError: this is the run itself, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            raise WrongThreadError(
                "this waits for the run of the server, in which it is called: use "
                "handle.server.client() there, and await it"
            )
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


def waited(future: Future[T], cancel: Callable[[], None]) -> T:
    """The result of a call; a caller that is interrupted while waiting cancels it.

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
