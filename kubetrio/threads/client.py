"""A client of a server in a thread, whose methods block; see `kubetrio.client.Client`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from kubetrio.client import Client, Event
from kubetrio.threads.remote import HeldWatch
from kubetrio.threads.serverrun import ServerRun, waited

if TYPE_CHECKING:
    from kubetrio.machinery.identity import UserInfo
    from kubetrio.schema.kind import Kind, ObjectT

P = ParamSpec("P")
T = TypeVar("T")


class BlockingClient:
    """The in-process client for threads other than the server's: each method waits.

    `kind` is that of `kubetrio.client.Client`; `get`, `list`, `create`, `update`, `patch`, `apply`,
    `delete` and `delete_collection` take what those of it take, and raise what they raise.

    Args:
        run: of the server.
        client: of that server.
    """

    def __init__(self, run: ServerRun, client: Client) -> None:
        self._run = run
        self._client = client
        waits = _waits(run)
        self.kind = client.kind
        self.get = waits(client.get)
        self.list = waits(client.list)
        self.create = waits(client.create)
        self.update = waits(client.update)
        self.patch = waits(client.patch)
        self.apply = waits(client.apply)
        self.delete = waits(client.delete)
        self.delete_collection = waits(client.delete_collection)

    def as_user(self, user: UserInfo) -> BlockingClient:
        """Return a client that acts as another user."""
        return BlockingClient(self._run, self._client.as_user(user))

    @contextmanager
    def watch(
        self, kind: Kind[ObjectT], namespace: str = "", **how: Any
    ) -> Iterator[Iterator[Event[ObjectT]]]:
        """Events of a collection for as long as a block lasts; taking one waits for it.

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
            waited(*self._run.submit(held.entered))
            yield iter(partial(self._next, held), None)
        finally:
            cancel()

    def _next(self, held: HeldWatch[ObjectT]) -> Event[ObjectT] | None:
        return waited(*self._run.submit(held.next))


def _waits(run: ServerRun) -> Callable[[Callable[P, Awaitable[T]]], Callable[P, T]]:
    """Return what makes a method of the server's run one that waits."""

    def blocking(method: Callable[P, Awaitable[T]]) -> Callable[P, T]:
        @wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return waited(*run.submit(partial(method, *args, **kwargs)))

        return call

    return blocking
