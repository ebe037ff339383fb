"""Changes of an object in a client's version, as changes of what writes work on.

What a write makes of an object is a synchronous function in the version of the client.  Where
admission and rules work in another one (`Kind.hub`), a conversion stands before and after it, which
may have to be waited for.  So may what the function finds out it needs, when fields are owned in
other versions: then it is called again, with that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVarTuple

from kubetrio.resources.conversion import from_stored, to_stored
from kubetrio.resources.fieldmanager import FieldManager, Unconverted
from kubetrio.resources.lifecycle import Change
from kubetrio.resources.writes import Work
from kubetrio.schema.kind import Kind

Object = dict[str, Any]
Args = TypeVarTuple("Args")


async def hub_result(
    kind: Kind, fields: FieldManager, work: Work, make: Callable[[*Args], Object], *args: *Args
) -> Object:
    """What a function makes, in the version in which writes work.

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
    if kind.hub is kind:
        return new
    if kind.converter is None:
        return await work(kind.to_stored, new)
    return await to_stored(kind, new)


def hub_change(
    kind: Kind, fields: FieldManager, work: Work, make: Callable[[Object | None], Object]
) -> Change:
    """The change that a write makes of an object, for `Lifecycle.update`.

    Args:
        kind: in the version of the client.
        fields: what `make` notes owners with.
        work: runs what works over large objects.
        make: gives the new object of the one that is there (None when there is none); otherwise as
            for `hub_result`.
    """

    async def change(old: Object | None) -> Object:
        if old is not None and kind.hub is not kind:
            if kind.waiting is not None:
                [old] = await from_stored(kind, [old])
            else:
                old = await work(kind.from_stored, old)
        return await hub_result(kind, fields, work, make, old)

    return change
