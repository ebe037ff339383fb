"""Objects as dicts, objects as stored bytes, and the way between them.

Stored bytes are what a GET returns: kind and apiVersion first, then metadata in the order in which
Kubernetes prints it, with the resourceVersion inside.  Everything here relies on that order, so
that splitting and restamping need no parser: nothing in front of the first
``"resourceVersion":"`` can contain those characters, because quotes inside strings are escaped.
"""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.machinery.status import too_large_to_store
from kubetrio.schema.kind import Kind
from kubetrio.store.model import Stamped, unstampable
from kubetrio.wire.gojson import parse_printed
from kubetrio.wire.jsonwire import encode

Object = dict[str, Any]

META_ORDER = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
LARGE_BYTES = 64 * 1024
"""Stored objects above this size are not parsed on the event loop when they are changed."""
MOST_BYTES = 4 * 1024 * 1024
"""Of a stored object: what a body of 3 MiB may say, and a third more that the server adds."""
MARK = b'"resourceVersion":"'
_UID = b'"uid":"'
METADATA_DEPTH = 2
"""Braces that open before the members of metadata."""
_MANAGED = b',"managedFields":['


def read(resource: Kind, value: bytes) -> Object:
    """Stored bytes as an object; numbers of opaque parts keep their text where it is to be kept."""
    obj: Object = parse_printed(value) if resource.type.free_form else orjson.loads(value)
    return obj


def head(resource: Kind) -> bytes:
    """The first bytes of every stored object of a resource, the same for all of them."""
    version = resource.stored_as.api_version.encode()
    return b'{"kind":"%b","apiVersion":"%b",' % (resource.kind.encode(), version)


def order_metadata(meta: Object) -> Object:
    """Metadata with its known members in printing order (unknown ones do not exist)."""
    return {key: meta[key] for key in META_ORDER if key in meta}


def canonical(obj: Object, kind: str, version: str, meta: Object | None = None) -> Object:
    """An object with its identity and metadata first; shares its members with the original.

    Args:
        obj: the object.
        kind: of the result.
        version: its ``apiVersion``.
        meta: metadata instead of the object's.
    """
    ordered = order_metadata(obj.get("metadata") or {} if meta is None else meta)
    # Members keep the place in which they are first named.
    shaped = {"kind": kind, "apiVersion": version, "metadata": ordered, **obj}
    shaped["kind"], shaped["apiVersion"], shaped["metadata"] = kind, version, ordered
    return shaped


def stamp(obj: Object) -> Stamped:
    """An object as bytes with a hole for its resourceVersion."""
    meta = {**obj["metadata"], "resourceVersion": ""}
    shaped = canonical(obj, obj["kind"], obj["apiVersion"], meta)
    before, found, after = encode(shaped).partition(MARK)
    if not found:
        raise AssertionError("encoder lost the resourceVersion")
    return Stamped(before + found, after)


def check_size(value: Stamped, before: int = 0) -> None:
    """Refuse what is too large to be stored.

    Args:
        value: what would be stored.
        before: bytes of what it replaces; what is too large already may become smaller.

    Raises:
        ApiError: 500, in etcd's words.
    """
    size = len(value.before) + len(value.after)
    if size > MOST_BYTES and size > before:
        raise too_large_to_store()


def restamp(value: bytes) -> Stamped:
    """Stored bytes with the hole open again; without one (encrypted ones, notes) as they are."""
    at = value.find(MARK) + len(MARK) if value.startswith(b"{") else 0
    if at < len(MARK):
        return unstampable(value)
    return Stamped(value[:at], value[value.index(b'"', at) :])


def unversioned(obj: Object) -> bytes:
    """An object that is not stored (dry run) as bytes, with the resourceVersion it came with."""
    return encode(canonical(obj, obj["kind"], obj["apiVersion"]))


def metadata(value: bytes) -> Object:
    """The metadata of stored bytes; who owns which fields may be missing."""
    at = value.find(_MANAGED)
    if at >= 0:
        try:
            meta: Object = orjson.loads(value[:at] + b"}}")["metadata"]
        except orjson.JSONDecodeError:
            pass  # they are those of something inside the object
        else:
            return meta
    whole: Object = orjson.loads(value)["metadata"]
    return whole


def uid(value: bytes) -> str:
    """The uid of stored bytes, empty for an object of another server that has none."""
    at = value.find(_UID)
    if at < 0:
        return ""
    if value.count(b"{", 0, at) > METADATA_DEPTH:  # it may be of something inside the object
        return str(metadata(value).get("uid") or "")
    at += len(_UID)
    return value[at : value.index(b'"', at)].decode()
