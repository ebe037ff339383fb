"""Changes of a request's own version, as changes of what is stored.

What a write makes of an object is a synchronous function in the version of the request.  Around it
stands the conversion, which is done in the same step where it is quick.  Where it waits, it is a
step of its own before and after; and so is what the function finds out it needs, when fields are
owned in other versions: then it is called again, with that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kubetrio.api.offloop import OffLoop
from kubetrio.api.request import Request
from kubetrio.resources.conversion import from_stored, to_stored
from kubetrio.resources.fieldmanager import FieldManager, Unconverted
from kubetrio.schema.kind import Kind

Object = dict[str, Any]
Make = Callable[[Object | None], Object]
Change = Callable[[Object | None], Awaitable[Object]]


def stored_change(
    request: Request, resource: Kind, fields: FieldManager, off_loop: OffLoop, make: Make
) -> Change:
    """The change of a stored object that a request makes, for `Lifecycle.update`.

    Args:
        request: the request.
        resource: the resource, in the version of the request.
        fields: what `make` notes owners with.
        off_loop: works over large bodies.
        make: gives the new object of the one that is there (None when there is none), both in the
            version of the request; changes nothing that matters when it is called again.
    """

    def changed(stored: Object | None) -> Object:
        return resource.to_stored(make(stored and resource.from_stored(stored)))

    async def change(stored: Object | None) -> Object:
        if resource.waiting is not None:
            old = None if stored is None else (await from_stored(resource, [stored]))[0]
            return await to_stored(resource, await _informed(request, fields, off_loop, make, old))
        try:
            return await off_loop.run(request, changed, stored)
        except Unconverted as missing:
            await fields.learn(missing)
        return await _informed(request, fields, off_loop, changed, stored)

    return change


async def _informed(
    request: Request, fields: FieldManager, off_loop: OffLoop, make: Make, old: Object | None
) -> Object:
    """Call a function again until the field manager has what it asks for."""
    while True:
        try:
            return await off_loop.run(request, make, old)
        except Unconverted as missing:
            await fields.learn(missing)
