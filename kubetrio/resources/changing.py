"""Changes of an object in a client's version, as changes of what is stored.

What a write makes of an object is a synchronous function in the version of the client.  Where that
is not the stored one, a conversion stands before and after it, which may have to be waited for.  So
may what the function finds out it needs, when fields are owned in other versions: then it is called
again, with that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVarTuple

from kubetrio.resources.conversion import from_stored, to_stored
from kubetrio.resources.fieldmanager import FieldManager, Unconverted
from kubetrio.resources.isolation import count_generation
from kubetrio.resources.lifecycle import Change
from kubetrio.resources.writes import Work
from kubetrio.schema.kind import Kind

Object = dict[str, Any]
Args = TypeVarTuple("Args")


async def stored_result(
    kind: Kind, fields: FieldManager, work: Work, make: Callable[[*Args], Object], *args: *Args
) -> Object:
    """What a function makes, in the version that is stored.

    Args:
        kind: in the version of the client.
        fields: what `make` notes owners with.
        work: runs what works over large objects.
        make: gives an object in the version of the client; changes nothing that matters when it is
            called again.
        args: what it is called with.

    Raises:
        ApiError: what `make` raises; the object cannot be converted.
    """
    while True:
        try:
            new = await work(make, *args)
            break
        except Unconverted as missing:
            await fields.learn(missing)
    if kind.stored is kind:
        return new
    if kind.waiting is None:
        return await work(kind.to_stored, new)
    return await to_stored(kind, new)


def stored_change(
    kind: Kind, fields: FieldManager, work: Work, make: Callable[[Object | None], Object]
) -> Change:
    """The change of a stored object that a write makes, for `Lifecycle.update`.

    Args:
        kind: in the version of the client.
        fields: what `make` notes owners with.
        work: runs what works over large objects.
        make: gives the new object of the one that is there (None when there is none); otherwise as
            for `stored_result`.
    """

    async def change(stored: Object | None) -> Object:
        if stored is None:
            old = None
        elif kind.waiting is not None:
            [old] = await from_stored(kind, [stored])
        elif kind.stored is kind:
            old = stored
        else:
            old = await work(kind.from_stored, stored)
        if old is None or kind.stored is kind or not kind.renames:
            return await stored_result(kind, fields, work, make, old)

        def counted() -> Object:
            # Before the stored version's schema takes away what it does not have.
            return count_generation(make(old), old, fields.subresource, kind.strategy)

        return await stored_result(kind, fields, work, counted)

    return change
