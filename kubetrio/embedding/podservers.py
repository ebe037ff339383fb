"""Functions behind the ports of simulated pods.

A function is called for each connection of ``kubectl port-forward`` and of the proxy to pods.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import trio

from kubetrio.observe.logs import Log
from kubetrio.runtime.groups import ungrouped

if TYPE_CHECKING:
    from kubetrio.transport import Transport

log = Log("kubetrio.embedding")

Handler = Callable[[Mapping[str, Any], int, trio.abc.HalfCloseableStream], Awaitable[None]]
"""Serves a connection to a port of a pod, until it returns."""
Chosen = Callable[[Mapping[str, Any], int], bool]
"""Says whether a port of a pod is served."""


class PodFunctions:
    """Calls a function for each connection; made by `serve_pods`, for `Parts.pod_server`.

    Args:
        handler: the function.
        chosen: says which ports are served.
        nursery: where it runs.
    """

    def __init__(self, handler: Handler, chosen: Chosen, nursery: trio.Nursery) -> None:
        self._handler = handler
        self._chosen = chosen
        self._nursery = nursery

    def connect(self, pod: Mapping[str, Any], port: int) -> Transport | None:
        """See `kubetrio.simulation.podports.PodServer`."""
        if not self._chosen(pod, port):
            return None
        from kubetrio.simulation.pipes import pipe  # not loaded without a simulation

        transport, stream = pipe()
        self._nursery.start_soon(self._serve, pod, port, stream, name="port of a pod")
        return transport

    async def _serve(
        self, pod: Mapping[str, Any], port: int, stream: trio.abc.HalfCloseableStream
    ) -> None:
        async with stream:
            try:
                await self._handler(pod, port, stream)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return  # the client is gone
            except Exception as error:  # noqa: BLE001  (logged; other connections must go on)
                log.error(error, "a function behind a port failed", stack=True, port=port)


@ungrouped
@asynccontextmanager
async def serve_pods(
    handler: Handler, chosen: Chosen = lambda _pod, _port: True
) -> AsyncIterator[PodFunctions]:
    """Have a function serve the ports of simulated pods for as long as the block lasts.

    Args:
        handler: serves a connection: takes the pod, the number of the port and a stream, and
            returns when it is over.
        chosen: says whether a port of a pod is served by it; all are if nothing is said.

    Yields:
        What `Parts.pod_server` takes.
    """
    async with trio.open_nursery() as nursery:
        yield PodFunctions(handler, chosen, nursery)
        nursery.cancel_scope.cancel()
