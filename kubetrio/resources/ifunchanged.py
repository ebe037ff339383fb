"""Writes of controllers that hold only for the object that was read."""

from __future__ import annotations

from typing import Any

from kubetrio.machinery.status import OBJECT_MODIFIED, ApiError, conflict
from kubetrio.resources.operations import Make, Operations
from kubetrio.resources.writes import DeleteOptions, Target, WriteOptions

Object = dict[str, Any]


def if_unchanged(target: Target, seen: Object, make: Make) -> Make:
    """A change that is refused when another write came since.

    Args:
        target: the object.
        seen: as it was looked at.
        make: the new object from the stored one, for `Operations.patch`.

    Returns:
        What raises `ApiError` 409 for any other version than `seen`.
    """
    version = seen["metadata"]["resourceVersion"]

    def made(stored: Object) -> Object:
        if stored["metadata"]["resourceVersion"] != version:
            raise conflict(target.resource.group_resource, target.name, OBJECT_MODIFIED)
        return make(stored)

    return made


async def delete_if_unchanged(
    operations: Operations, target: Target, seen: Object, who: WriteOptions
) -> None:
    """Delete an object, unless it is gone or another one has its name.

    Args:
        operations: writes.
        target: the object.
        seen: as it was looked at.
        who: who deletes.

    Raises:
        ApiError: it cannot be deleted.
    """
    try:
        await operations.delete(target, DeleteOptions(uid=seen["metadata"]["uid"]), who)
    except ApiError as error:
        if error.code not in (404, 409):
            raise
