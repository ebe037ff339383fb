"""A server in a thread of its own: its handle, its clock and its faults.

Every method blocks until the server's thread has answered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from kubetrio.client import LOOPBACK
from kubetrio.config import Config
from kubetrio.threads.client import BlockingClient
from kubetrio.threads.serverrun import ServerRun, waited

if TYPE_CHECKING:
    from kubetrio.faults import Injector, Rule
    from kubetrio.machinery.identity import UserInfo
    from kubetrio.server import Server
    from kubetrio.server.resetting import Snapshot

T = TypeVar("T")
Args = TypeVarTuple("Args")


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
        server: to be used in functions given to `call`, not from other threads; `client` is for
            these.
        clock: the server's clock.
        faults: what goes wrong on demand.
    """

    def __init__(self, run: ServerRun, server: Server) -> None:
        self._run = run
        self.server = server
        self.clock = ServerClock(run)
        self.faults = ServerFaults(self.call, server)

    def client(self, user: UserInfo = LOOPBACK) -> BlockingClient:
        """A client for this thread, whose methods wait.

        Args:
            user: who asks; the server itself unless told otherwise, which may do everything.
        """
        return BlockingClient(self._run, self.server.client(user))

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

    def settled(self) -> None:
        """Wait until no controller has anything to do but what is delayed."""
        self.call(self.server.settled)

    def until_signal(self) -> None:
        """Wait until the process is told to end, by SIGINT (Ctrl-C) or SIGTERM.

        For the main thread, where `in_thread` handles SIGTERM.  Where the server ends by itself,
        this returns too, and leaving the block tells why.
        """
        with suppress(KeyboardInterrupt, SystemExit):
            self._run.ended.exception()
