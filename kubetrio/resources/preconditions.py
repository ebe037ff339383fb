"""Preconditions of a write: namespace, uid and version of the object that it means.

Source: API conventions ("Metadata", optimistic concurrency); docs "API concepts".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.gotext import numbers as gonumbers
from kubetrio.machinery import objectmeta
from kubetrio.machinery.names import GroupKind, GroupResource
from kubetrio.machinery.status import OBJECT_MODIFIED, ApiError, bad_request, conflict, invalid
from kubetrio.resources.writes import Target
from kubetrio.store.model import KeyValue

Object = dict[str, Any]

_PREFIX = "/registry"

SCALE = "scale"
"""A subresource that takes the version of its object where it is given none."""


def check_identity(
    resource: GroupResource, key: str, meta: Mapping[str, Any], wanted: Mapping[str, Any]
) -> None:
    """Check that a stored object is the one that a write means.

    Args:
        resource: what is written.
        key: under which the object is stored, which kube-apiserver tells.
        meta: the metadata that is stored.
        wanted: ``uid`` and ``resourceVersion`` that must be those of the object; without one, or
            with an empty one, any will do.

    Raises:
        ApiError: 409.
    """
    for member, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        value, there = wanted.get(member), meta.get(member, "")
        if value and value != there:
            raise conflict(
                resource,
                key.rpartition("/")[2],
                f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, "
                f"AdditionalErrorMsg: Precondition failed: {label} in precondition: {value}, "
                f"{label} in object meta: {there}",
            )


def told_key(key: str, *, dry_run: bool) -> str:
    """The key of an object as messages have it; those of a dry run leave out the prefix.

    Args:
        key: under which the object is stored.
        dry_run: whether nothing is stored.
    """
    return key.removeprefix(_PREFIX) if dry_run else key


def place(target: Target, meta: Object) -> None:
    """Check and fill in the namespace.

    Args:
        target: what is written.
        meta: metadata of the new object; they are changed.

    Raises:
        ApiError: 400, the object names another namespace.
    """
    given = meta.get("namespace") or ""
    if target.resource.namespaced:
        if given and given != target.namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on "
                "the request"
            )
        meta["namespace"] = target.namespace
    elif given:
        del meta["namespace"]  # as kube-apiserver does, without a word


def insists(
    target: Target,
    new: Object,
    old: Object,
    current: KeyValue,
    *,
    uid_is_precondition: bool,
    dry_run: bool = False,
) -> bool:
    """Check namespace, uid and version of an update; True when it insists on the version it saw.

    A patched object has the version it was made from: when that is the current one, the client
    did not insist on it, and the patch may be tried again on a newer object.

    Args:
        target: what is written.
        new: the new object; its namespace is filled in.
        old: the stored object.
        current: how it is stored.
        uid_is_precondition: see `Operations.change`.
        dry_run: whether nothing is stored, which shows in the words.

    Raises:
        ApiError: 400, 409, 422, or 500 for a version that is no number, as kube-apiserver has it.
    """
    resource, meta = target.resource, new.setdefault("metadata", {})
    place(target, meta)
    if uid_is_precondition and (uid := meta.get("uid")):
        key = told_key(current.key, dry_run=dry_run)
        check_identity(resource.group_resource, key, old["metadata"], {"uid": uid})
    version = meta.get("resourceVersion") or ""
    if version in ("", "0"):
        if not resource.strategy.unconditional_update and target.subresource != SCALE:
            causes = [objectmeta.missing_resource_version()]
            raise invalid(GroupKind(*resource.group_resource), target.name, causes)
        return False
    if _version(version) != current.revision:
        raise conflict(resource.group_resource, target.name, OBJECT_MODIFIED)
    return uid_is_precondition


def claim_missing(target: Target, meta: Object, *, applied: bool, dry_run: bool) -> None:
    """Check that a write which creates a missing object does not mean another one.

    kube-apiserver compares a PUT's uid with the object that is not there, and asks for no
    resourceVersion where there is nothing to compare it with (store.go, Store.Update).

    Args:
        target: what is written.
        meta: metadata of the new object; a resourceVersion is taken out of them.
        applied: the object comes from an apply patch and not from PUT.
        dry_run: whether nothing is stored.

    Raises:
        ApiError: 409 for a uid, 500 for a version that is no number, as kube-apiserver has it.
    """
    resource, uid = target.resource.group_resource, meta.get("uid")
    if applied and uid:
        raise conflict(
            resource,
            target.name,
            f"uid mismatch: the provided object specified uid {uid}, "
            "and no existing object was found",
        )
    without_uid = {"name": target.name, "uid": "", "resourceVersion": ""}
    check_identity(resource, told_key(target.key, dry_run=dry_run), without_uid, {"uid": uid})
    if not applied:
        _version(meta.pop("resourceVersion", None) or "0")


def _version(text: str) -> int:
    """A resourceVersion as a number.

    Raises:
        ApiError: 500, it is none.
    """
    try:
        return gonumbers.parse_uint(text)
    except ValueError as error:
        raise ApiError(500, "", str(error)) from None


def names_version(meta: Object) -> bool:
    """Whether metadata name a version; a text that is none is dropped, as kube-apiserver does."""
    version = meta.get("resourceVersion")
    try:
        return version is not None and gonumbers.parse_uint(version or "0") != 0
    except ValueError:
        return False
