"""Stored objects, read by the server for itself."""

from __future__ import annotations

from typing import Any

from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import not_found
from kubetrio.resources import objects
from kubetrio.schema.kind import Kind
from kubetrio.store.model import Range, Reading
from kubetrio.store.scan import scan

Object = dict[str, Any]


async def read(
    store: Reading,
    resource: Kind,
    namespace: str,
    name: str,
    *,
    asked: GroupResource | None = None,
) -> Object:
    """Return a stored object.

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
    stored = await store.get(resource.key(namespace, name))
    if stored is None:
        raise not_found(asked or resource.group_resource, name)
    return objects.read(resource, stored.value)


async def read_all(store: Reading, resource: Kind, namespace: str) -> list[Object]:
    """Return all objects of a resource in a namespace, or of all of it when that is empty."""
    keys = Range.prefix(resource.prefix(namespace))
    return [objects.read(resource, item.value) async for item in scan(store, keys)]
