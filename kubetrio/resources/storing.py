"""Objects of a write between the version that it works in (`Kind.hub`) and stored bytes.

A custom resource is worked on in the version of the request; the conversion to the stored version
comes last, when nothing can refuse the object any more, and takes out what that does not have.

Source: k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go (a storage for each
version); k8s.io/apiserver/pkg/storage/etcd3 (a write that changes no byte is none).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kubetrio.resources.conversion import from_stored, to_stored
from kubetrio.resources.isolation import unchanged
from kubetrio.resources.objects import order_metadata, stamp
from kubetrio.resources.writes import Work
from kubetrio.schema.kind import Kind
from kubetrio.store.model import Stamped

Object = dict[str, Any]
T = TypeVar("T")


async def in_hub(kind: Kind, stored: Object, work: Work) -> Object:
    """A stored object in the version in which writes work.

    Args:
        kind: the kind of the request.
        stored: the object; it is not changed.
        work: runs what works over large objects.

    Raises:
        ApiError: it cannot be converted.
    """
    if kind.builtin:
        return stored
    if kind.waiting is not None:
        return (await from_stored(kind, [stored]))[0]
    return stored if kind.stored is kind else await work(kind.from_stored, stored)


async def new_value(kind: Kind, obj: Object, write: Callable[[Object], T], work: Work) -> T:
    """A new object that was admitted, as it is written.

    Args:
        kind: the kind of the request.
        obj: the object in the version in which writes work; it may be changed.
        write: makes bytes of it.
        work: runs what works over large objects.

    Raises:
        ApiError: it cannot be converted.
    """
    if kind.hub is not kind.stored:
        obj = await _to_stored(kind, obj, work)
    return await work(_written, kind.stored, obj, write)


async def changed_value(
    kind: Kind,
    new: Object,
    old: Object,
    stored: Object,
    work: Work,
    *,
    remove: bool,
    stale: bool,
) -> Stamped | None:
    """A changed object that was admitted, as it is stored; None if that is what it was before.

    Args:
        kind: the kind of the request.
        new: the object in the version in which writes work; it may be changed.
        old: the object before, in the same.
        stored: that as it was read; the same object where it needed no conversion.
        work: runs what works over large objects.
        remove: whether its last state is wanted, changed or not.
        stale: whether it is stored in a way that is left behind (an old key): it is written again
            all the same.

    Raises:
        ApiError: it cannot be converted.
    """
    if old is stored and kind.hub is kind.stored:
        value = await work(_changed, kind.stored, new, stored, remove)
    else:
        # A write that changes nothing but times of owners keeps these.
        new = await _to_stored(kind, old if unchanged(new, old) else new, work)
        value = await work(_converted, kind.stored, new, stored, remove)
    return stamp(stored) if value is None and stale else value


async def _to_stored(kind: Kind, obj: Object, work: Work) -> Object:
    if kind.converter is not None:
        return {**await to_stored(kind, obj)}
    return {**await work(kind.to_stored, obj)}


def _written(stored_kind: Kind, obj: Object, write: Callable[[Object], T]) -> T:
    stored_kind.rules.default(obj)  # some defaults follow from what was prepared
    stored_kind.type.store(obj)
    return write(obj)


def _changed(stored_kind: Kind, new: Object, old: Object, remove: bool) -> Stamped | None:
    stored_kind.type.store(new)
    new["metadata"] = order_metadata(new["metadata"])
    return stamp(new) if remove or not unchanged(new, old) else None


def _converted(stored_kind: Kind, new: Object, old: Object, remove: bool) -> Stamped | None:
    stored_kind.rules.default(new)
    stored_kind.type.store(new)
    new["metadata"] = order_metadata(new["metadata"])
    return stamp(new) if remove or new != old else None
