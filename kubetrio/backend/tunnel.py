"""Two connections made one: bytes both ways, unread and unbuffered.

Each direction reads no more than the other side has taken, so a slow reader stops its writer.
When either side ends, both do, as in kube-apiserver's proxy; what the ending side had written is
delivered first.
"""

from __future__ import annotations

import trio

from kubetrio.transport import Transport


async def splice(here: Transport, there: Transport, to_here: bytes, to_there: bytes) -> None:
    """Carry bytes between two connections until one of them ends.

    Args:
        here: one connection.
        there: the other.
        to_here: bytes for `here` that were read already.
        to_there: bytes for `there` that were read already.
    """
    async with trio.open_nursery() as nursery:

        async def carry(source: Transport, sink: Transport, data: bytes) -> None:
            try:
                await _carry(source, sink, data)
            except OSError:
                pass  # broken is one way to end
            nursery.cancel_scope.cancel()

        nursery.start_soon(carry, here, there, to_there, name="tunnel out")
        nursery.start_soon(carry, there, here, to_here, name="tunnel in")


async def _carry(source: Transport, sink: Transport, data: bytes) -> None:
    while True:
        await send_all(sink, data)
        received = source.read_nowait()
        while received is None:
            await source.wait_readable()
            received = source.read_nowait()
        if not received:
            return
        data = received
        await trio.lowlevel.checkpoint()  # a fast pair must not starve the others


async def send_all(sink: Transport, data: bytes) -> None:
    """Write everything, waiting for room.

    Raises:
        OSError: the connection broke.
    """
    view = memoryview(data)
    while view:
        sent = sink.write_nowait(view)
        view = view[sent:]
        if view:
            await sink.wait_writable()
