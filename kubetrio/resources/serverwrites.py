"""Writes that the server makes itself, without the kind's rules for clients.

They follow a recipe as clients' writes do (`resources.recipe`), a short one: admission and
validation are not asked, since what led to the write was admitted, or it is the server's own
counting.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import trio

from kubetrio.machinery.status import OBJECT_MODIFIED, conflict, not_found
from kubetrio.resources import objects
from kubetrio.resources.fieldmanager import FieldManager
from kubetrio.resources.objects import check_size, order_metadata, restamp, stamp
from kubetrio.resources.storing import insert, remove, replace
from kubetrio.resources.translate import translate
from kubetrio.schema.kind import Kind
from kubetrio.store.errors import KeyMissing, RevisionMismatch, StoreError
from kubetrio.store.model import KeyValue, ReadingAndWriting, Stamped

Object = dict[str, Any]
Change = Callable[[Object], Object]
ATTEMPTS = 64


@dataclass(slots=True, kw_only=True)
class ServerWrite:
    """One attempt at a write of the server.

    Args:
        store: where the object lives.
        key: its storage key.
        obj: the new object.
        fields: notes who owns which fields; None where the server owns none.
        seen: the object as it was read; None for a new one.
        expected: the revision that it must be at.
        before: size of what is stored now, in bytes.

    Attributes:
        value: what is to be stored.
        stored: what was stored.
    """

    store: ReadingAndWriting
    key: str
    obj: Object
    fields: FieldManager | None = None
    seen: Object | None = None
    expected: int = 0
    before: int = 0
    value: Stamped = field(init=False)
    stored: KeyValue = field(init=False)


def own(write: ServerWrite) -> None:
    """Note the owner of the fields, as for clients."""
    fields = write.fields
    if fields is None:
        return
    if write.seen is None:
        fields.created(write.obj)
    else:
        fields.updated(write.seen, write.obj)


def stamp_as_server(write: ServerWrite) -> None:
    """Make bytes of the object, when it is complete.

    Raises:
        ApiError: 500, it is too large.
    """
    write.obj["metadata"] = order_metadata(write.obj["metadata"])
    write.value = stamp(write.obj)
    check_size(write.value, write.before)


async def store_as_server(write: ServerWrite) -> None:
    """Store the object if no other write came between.

    Raises:
        StoreError: another one did; the store takes no writes.
    """
    if write.seen is None:
        write.stored = await insert(write.store, write.key, write.value)
    else:
        write.stored = await replace(write.store, write.key, write.value, write.expected)


SERVER: tuple[Callable[[ServerWrite], Awaitable[None] | None], ...] = (
    own,  # before bytes are made: entries are a part of the object
    stamp_as_server,
    store_as_server,
)
"""What the server writes of itself, by the names of the steps."""


async def _follow(write: ServerWrite) -> KeyValue:
    for step in SERVER:
        waiting = step(write)
        if waiting is not None:
            await waiting
    return write.stored


async def update_as_server(
    store: ReadingAndWriting,
    resource: Kind,
    namespace: str,
    name: str,
    change: Change,
    *,
    dry_run: bool = False,
) -> Object:
    """Replace an object by what a function makes of it, again when another write came between.

    Args:
        store: where it lives.
        resource: its resource.
        namespace: its namespace, or empty.
        name: its name.
        change: the new object from the stored one, which it must not change.
        dry_run: store nothing.

    Returns:
        The object as stored.

    Raises:
        ApiError: 404, 409, 500 for what is too large, and what `change` raises.
    """
    key = resource.key(namespace, name)
    for _ in range(ATTEMPTS):
        current = await store.get(key)
        if current is None:
            raise not_found(resource.group_resource, name)
        old = objects.read(resource, current.value)
        new = change(old)
        if dry_run or (new == old and not current.stale):
            return new
        write = ServerWrite(
            store=store,
            key=key,
            obj={**new},
            seen=old,
            expected=current.revision,
            before=len(current.value),
        )
        try:
            stored = await _follow(write)
        except RevisionMismatch:
            await trio.lowlevel.checkpoint()
            continue
        except StoreError as error:
            raise translate(error, resource.group_resource, name) from error
        return objects.read(resource, stored.value)
    raise conflict(resource.group_resource, name, OBJECT_MODIFIED)


async def rewrite_as_server(
    store: ReadingAndWriting, key: str, change: Callable[[bytes], bytes | None]
) -> bool:
    """Replace the bytes of an object without reading the object: for what is written very often.

    Args:
        store: where it lives.
        key: its storage key.
        change: the new bytes from the stored ones, in the same form; None where it cannot tell.

    Returns:
        Whether that is stored; where it is not, the object is as it was, or another write came.

    Raises:
        StoreError: the store takes no writes.
    """
    current = await store.get(key)
    if current is None or current.stale or (value := change(current.value)) is None:
        return False
    try:
        await replace(store, key, restamp(value), current.revision)
    except (RevisionMismatch, KeyMissing):
        return False
    return True


async def update_status_as_server(
    store: ReadingAndWriting, resource: Kind, seen: Object, new: Object, fields: FieldManager
) -> KeyValue | None:
    """Replace the status of an object, unless another write came since it was read.

    Args:
        store: where it lives.
        resource: its resource.
        seen: the object as it was read.
        new: it with the new status; it is changed.
        fields: notes who owns the status.

    Returns:
        What is stored; None when another write came, or the object is gone.

    Raises:
        StoreError: the store takes no writes.
    """
    meta = seen["metadata"]
    write = ServerWrite(
        store=store,
        key=resource.key(meta.get("namespace", ""), meta["name"]),
        obj=new,
        fields=fields,
        seen=seen,
        expected=int(meta["resourceVersion"]),
    )
    try:
        return await _follow(write)
    except (RevisionMismatch, KeyMissing):
        return None


async def create_as_server(
    store: ReadingAndWriting, key: str, obj: Object, fields: FieldManager
) -> None:
    """Store a new object.

    Args:
        store: where it is to live.
        key: its storage key.
        obj: the object, with uid and time; it is changed.
        fields: notes who owns its fields.

    Raises:
        KeyExists: there is one.
        StoreError: the store takes no writes.
    """
    await _follow(ServerWrite(store=store, key=key, obj=obj, fields=fields))


async def delete_as_server(store: ReadingAndWriting, key: str) -> None:
    """Remove an object, if there is one.

    Raises:
        StoreError: the store takes no writes.
    """
    while (stored := await store.get(key)) is not None:
        try:
            await remove(store, stored)
        except RevisionMismatch:
            continue
        except KeyMissing:
            return
