"""Changes of an object in a client's version, as changes of what is stored.

What a write makes of an object is a synchronous function in the version of the client.  Around it
stands the conversion, which is done in the same step where it is quick.  Where it waits, it is a
step of its own before and after; and so is what the function finds out it needs, when fields are
owned in other versions: then it is called again, with that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubetrio.resources.conversion import from_stored, to_stored
from kubetrio.resources.fieldmanager import FieldManager, Unconverted
from kubetrio.resources.lifecycle import Change
from kubetrio.resources.writes import Work
from kubetrio.schema.kind import Kind

Object = dict[str, Any]
Make = Callable[[Object | None], Object]


def stored_change(kind: Kind, fields: FieldManager, work: Work, make: Make) -> Change:
    """The change of a stored object that a write makes, for `Lifecycle.update`.

    Args:
        kind: in the version of the client.
        fields: what `make` notes owners with.
        work: runs what works over large objects.
        make: gives the new object of the one that is there (None when there is none), both in the
            version of the client; changes nothing that matters when it is called again.
    """

    def changed(stored: Object | None) -> Object:
        return kind.to_stored(make(None if stored is None else kind.from_stored(stored)))

    async def change(stored: Object | None) -> Object:
        if kind.waiting is not None:
            old = None if stored is None else (await from_stored(kind, [stored]))[0]
            return await to_stored(kind, await _informed(fields, work, make, old))
        try:
            return await work(changed, stored)
        except Unconverted as missing:
            await fields.learn(missing)
        return await _informed(fields, work, changed, stored)

    return change


async def _informed(fields: FieldManager, work: Work, make: Make, old: Object | None) -> Object:
    """Call a function again until the field manager has what it asks for."""
    while True:
        try:
            return await work(make, old)
        except Unconverted as missing:
            await fields.learn(missing)
