"""Answers that have to be encoded: large objects beside the event loop, lists a moment at a time.

JSON as it is stored costs nothing.  Every other representation is made from the decoded object: a
megabyte takes up to 30 ms as protobuf, half a second as YAML.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubetrio.api.encoding.encoders import AnyEncoder, ObjectEncoder
from kubetrio.api.offloop import INLINE_BYTES, OffLoop
from kubetrio.api.request import Request
from kubetrio.resources.conversion import shown_values
from kubetrio.resources.listing import Listing
from kubetrio.resources.paging import to_encode
from kubetrio.resources.representation import ListMeta
from kubetrio.resources.segments.making import Beside, Made
from kubetrio.store.model import KeyValue


async def encoded(off_loop: OffLoop, request: Request, encoder: AnyEncoder, value: bytes) -> bytes:
    """A stored object as a response body.

    Args:
        off_loop: encodes it, if it is large and not answered as it is stored.
        request: whose answer it is.
        encoder: the representation.
        value: the object.

    Raises:
        ApiError: as `Encoder.object`; the object cannot be converted.
    """
    if encoder.converts is not None:
        encoder.check()
        [value] = await shown_values(encoder.converts, [value])
    if isinstance(encoder, ObjectEncoder) and len(value) > INLINE_BYTES:
        encoder.check()
        encoder.prepare()
        request.heavy = True
        return await off_loop.run(request, encoder.object, value)
    return encoder.object(value)


async def finished(
    listing: Listing, off_loop: OffLoop, request: Request, encoder: AnyEncoder
) -> bytes:
    """What the writer of a list has left to do of what was read.

    Args:
        listing: whose turns.
        off_loop: whose threads.
        request: whose list it is.
        encoder: that made the writer.
    """
    if not isinstance(encoder, ObjectEncoder) or not encoder.steps:
        return b""
    encoder.prepare()
    request.heavy = True
    parts: list[bytes] = []
    while encoder.steps:
        step = encoder.steps.popleft()
        if step.large:
            parts.append(await off_loop.run(request, step.write))
        else:
            async with listing.turns:
                parts.append(step.write())
    return b"".join(parts)


def making_beside(off_loop: OffLoop, request: Request, encoder: AnyEncoder) -> Beside | None:
    """Where items of large objects are made, for lists that are kept in memory.

    None for items that are not made: they are what is stored.

    Args:
        off_loop: whose threads.
        request: whose list it is.
        encoder: makes the items.
    """
    if not isinstance(encoder, ObjectEncoder):
        return None

    async def run(make: Callable[[], Made]) -> Made:
        encoder.prepare()
        request.heavy = True
        return await off_loop.run(request, make)

    return Beside(INLINE_BYTES, run)


async def written_list(
    listing: Listing,
    off_loop: OffLoop,
    request: Request,
    encoder: AnyEncoder,
    values: Sequence[KeyValue],
    meta: ListMeta,
) -> bytes:
    """A list of objects that are all known.

    Args:
        listing: whose turns.
        off_loop: whose threads.
        request: whose list it is.
        encoder: the representation.
        values: the objects, as `Pager.read_values` has them.
        meta: metadata of the list.

    Raises:
        ApiError: as `Encoder.list_writer`.
    """
    writer = encoder.list_writer()
    parts = [writer.open(meta)]
    if encoder.stored:
        parts.append(writer.items(values))
    else:
        for some in to_encode(values):
            async with listing.turns:
                parts.append(writer.items(some))
            parts.append(await finished(listing, off_loop, request, encoder))
    parts.append(writer.close())
    return b"".join(parts)
