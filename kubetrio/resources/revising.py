"""Changes that the server makes to a stored object itself, past the kind's rules for clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import trio

from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import OBJECT_MODIFIED, conflict, not_found
from kubetrio.resources import objects
from kubetrio.resources.objects import check_size, order_metadata, stamp
from kubetrio.resources.translate import translate
from kubetrio.schema.kind import Kind
from kubetrio.store.errors import RevisionMismatch, StoreError
from kubetrio.store.model import Range, Reading, ReadingAndWriting
from kubetrio.store.scan import scan

Object = dict[str, Any]
Revise = Callable[[Object], Object]
ATTEMPTS = 64


async def read(
    store: Reading,
    resource: Kind,
    namespace: str,
    name: str,
    *,
    asked: GroupResource | None = None,
) -> Object:
    """A stored object.

    Args:
        store: where it is.
        resource: of what kind.
        namespace: in which, empty for none.
        name: its name.
        asked: what the request is about, if that is another resource: kube-apiserver's error
            names it, and not the one that is missing.

    Raises:
        ApiError: 404.
    """
    found = await store.get(resource.key(namespace, name))
    if found is None:
        raise not_found(asked or resource.group_resource, name)
    return objects.read(resource, found.value)


async def read_all(store: Reading, resource: Kind, namespace: str) -> list[Object]:
    """All objects of a resource in a namespace, or of all of it when that is empty."""
    keys = Range.prefix(resource.prefix(namespace))
    return [objects.read(resource, item.value) async for item in scan(store, keys)]


async def revise(
    store: ReadingAndWriting,
    resource: Kind,
    namespace: str,
    name: str,
    change: Revise,
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
        new = {**new, "metadata": order_metadata(new["metadata"])}
        value = stamp(new)
        check_size(value, len(current.value))
        try:
            stored = await store.update(key, value, expected=current.revision)
        except RevisionMismatch:
            await trio.lowlevel.checkpoint()
            continue
        except StoreError as error:
            raise translate(error, resource.group_resource, name) from error
        return objects.read(resource, stored.value)
    raise conflict(resource.group_resource, name, OBJECT_MODIFIED)
