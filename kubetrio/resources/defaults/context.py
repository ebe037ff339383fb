"""What preparation may know beside the object, and small helpers for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kubetrio.auth.identity import ANONYMOUS, UserInfo

Json = dict[str, Any]


class Context(NamedTuple):
    """The circumstances of a write (a tuple: every one makes one).

    Args:
        now: wall clock as a Kubernetes time such as ``2026-01-02T03:04:05Z``.
        uid: identity of the new object; empty on update.
        user: who asks.
    """

    now: str
    uid: str = ""
    user: UserInfo = ANONYMOUS


Create = Callable[[Json, Context], None]
Update = Callable[[Json, Json, Context, str], None]

GIVEN_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")
"""Members of metadata that clients set."""
_KEPT = ("deletionTimestamp", "generation", "selfLink", *GIVEN_METADATA)


def keep_metadata_of_stored(new: Json, old: Json, names: Iterable[str] = _KEPT) -> None:
    """Undo what a subresource write did to metadata, except to managedFields.

    Args:
        new: the object to be stored; it is changed.
        old: the stored object.
        names: members that are kept.
    """
    meta = new["metadata"]
    for name in names:
        copy_member(meta, old["metadata"], name)


def ignore_metadata(new: Json, old: Json) -> None:
    """Undo all that a subresource write did to metadata, except to managedFields."""
    meta = dict(old["metadata"])
    copy_member(meta, new["metadata"], "managedFields")
    new["metadata"] = meta


def copy_member(target: Json, source: Json, name: str) -> None:
    """Make a member equal to that of another object, absence included."""
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)
