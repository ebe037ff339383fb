"""First steps of a write: from what the client sent to an object that writes can work on.

Source: API conventions (metadata, optimistic concurrency); docs "API concepts".
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from kubetrio.resources import objects, preconditions
from kubetrio.resources.conversion import from_stored, to_stored
from kubetrio.resources.ownerreferences import drop_repeated_owners
from kubetrio.resources.storing import in_hub
from kubetrio.resources.write import Write
from kubetrio.resources.writes import run_inline

Object = dict[str, Any]

CLEARED_ON_CREATE = (
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
_IDENTITY = ("uid", "creationTimestamp")
_CLEARED = CLEARED_ON_CREATE + _IDENTITY


def clear_identity(obj: Object, *, namespaced: bool) -> None:
    """Drop what a body that is created and not stored may not say of itself; changes the object.

    What is stored gets values of its own there.

    Args:
        obj: such as a review.
        namespaced: whether it lives in a namespace.
    """
    meta = obj.get("metadata") or {}
    for name in _CLEARED if namespaced else (*_CLEARED, "namespace"):
        meta.pop(name, None)


# ---------------------------------------------------------------------- of a new object


def place(write: Write) -> None:
    """Put the object into the namespace of the path.

    Raises:
        ApiError: 400, the object names another one.
    """
    preconditions.place(write.target, write.obj.setdefault("metadata", {}))


def clear(write: Write) -> None:
    """Drop what POST may not say of a new object, which the server decides, and repeated owners."""
    meta = write.obj["metadata"]
    for name in _CLEARED:
        meta.pop(name, None)
    if "ownerReferences" in meta:
        drop_repeated(write)


def drop_repeated(write: Write) -> None:
    """Drop owner references that the client repeats."""
    meta = write.obj.get("metadata")
    if meta and len(meta.get("ownerReferences") or ()) > 1:
        drop_repeated_owners(write.obj, write.options.warn, admitted=False)


def default(write: Write) -> None:
    """Fill in what the client left out, in the version that it speaks."""
    write.kind.rules.default(write.obj)


def own(write: Write) -> None:
    """Note that the writer owns the fields it set, defaults included.

    Raises:
        Unconverted: a conversion is missing; called again when it is there.
    """
    sent = write.sent
    if sent is None:
        write.fields.created(write.obj)
    else:
        write.fields.created(sent)
        write.obj["metadata"] = sent["metadata"]


def convert(write: Write) -> Awaitable[None] | None:
    """Bring the object from the version of the client to the one that writes work in.

    Raises:
        ApiError: it cannot be converted.
    """
    kind = write.kind
    if kind.hub is kind:
        return None
    if kind.converter is None and write.inline:
        write.obj = kind.to_stored(write.obj)
        return None
    return _convert(write)


async def _convert(write: Write) -> None:
    kind = write.kind
    if kind.converter is None:
        write.obj = await write.options.work(kind.to_stored, write.obj)
    else:
        write.obj = await to_stored(kind, write.obj)


# ---------------------------------------------------------------------- of an update


async def read(write: Write) -> bool:
    """Read the stored object, which decides the recipe; return whether there is one.

    Raises:
        ApiError: it cannot be converted.
    """
    target, options, kind = write.target, write.options, write.kind
    current = await write.parts.store.get(target.key)
    if current is None:
        return False
    write.current = current
    if len(current.value) > objects.LARGE_BYTES:
        write.inline = options.work is run_inline
        await options.weigh(current.value)
        stored = await options.work(objects.read, kind, current.value)
    else:
        stored = objects.read(kind, current.value)
    write.stored = write.old = write.asked = stored
    if not kind.builtin:
        write.old = write.asked = await in_hub(kind, stored, options.work)
    return True


def show(write: Write) -> Awaitable[None] | None:
    """Bring the stored object to the version of the client, in which its change is made.

    Raises:
        ApiError: it cannot be converted.
    """
    kind = write.kind
    return None if kind.hub is kind else _show(write)


async def _show(write: Write) -> None:
    kind, old = write.kind, write.old
    if old is None:
        raise AssertionError("an update has read an object")
    if kind.waiting is not None:
        [write.asked] = await from_stored(kind, [old])
    else:
        write.asked = await write.options.work(kind.from_stored, old)


def make(write: Write) -> None:
    """Make the new object: replaced, patched or merged, defaulted, and its fields owned.

    Raises:
        ApiError: what the change of the client raises.
        Unconverted: a conversion is missing; called again when it is there.
    """
    write.obj = write.make(write.asked)


async def change(write: Write) -> None:
    """Make the new object by a change that may wait, as that of a subresource's view does.

    Raises:
        ApiError: what the change raises.
    """
    write.obj = await write.change(write.old)


def complete(write: Write) -> None:
    """Fill in what stands beside the fields that a view set, which may have made their parents."""
    kind = write.kind
    if not kind.builtin and kind.hub is kind.stored:
        kind.rules.default(write.obj)


def match(write: Write) -> None:
    """Check that the stored object is the one meant, before admission is asked about it.

    Raises:
        ApiError: 400, 409, 422 or 500.
    """
    write.insists = preconditions.insists(
        write.target,
        write.obj,
        write.old or {},
        write.current,
        uid_is_precondition=write.uid_is_precondition,
        dry_run=write.options.dry_run,
    )


def match_missing(write: Write) -> None:
    """Check that a write which creates the missing object does not mean one that is gone.

    Raises:
        ApiError: 409 for a uid, 500 for a version that is no number.
    """
    meta = write.obj.setdefault("metadata", {})
    preconditions.claim_missing(
        write.target, meta, applied=write.applied, dry_run=write.options.dry_run
    )
    for name in _IDENTITY:
        meta.pop(name, None)
