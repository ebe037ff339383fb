"""Last steps of a write: from the version that it works in (`Kind.hub`) to the store.

This is the one module that calls the store's writes; those of the server itself
(`resources.serverwrites`) go through its functions.

A custom resource is worked on in the version of the request; the conversion to the stored version
comes last, when nothing can refuse the object any more, and takes out what that does not have.

Source: k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go (a storage for each
version); k8s.io/apiserver/pkg/storage/etcd3 (a write that changes no byte is none).
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

from kubetrio.machinery.status import ApiError
from kubetrio.resources import deletion
from kubetrio.resources.conversion import from_stored, to_stored
from kubetrio.resources.deletion import Outcome
from kubetrio.resources.isolation import unchanged
from kubetrio.resources.objects import check_size, order_metadata, stamp, unversioned
from kubetrio.resources.preconditions import names_version
from kubetrio.resources.write import Write
from kubetrio.resources.writes import Work, WriteOptions, Written
from kubetrio.schema.kind import Kind
from kubetrio.store.errors import KeyExists
from kubetrio.store.model import Change, KeyValue, ReadingAndWriting, Rewinding, Stamped

Object = dict[str, Any]


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


def _holds_unknown(options: WriteOptions) -> bool:
    """Return whether an apply put members into the object that its type does not know."""
    return options.sent is not None and options.sent.merged


async def _to_stored(kind: Kind, obj: Object, work: Work) -> Object:
    if kind.converter is not None:
        return {**await to_stored(kind, obj)}
    return {**await work(kind.to_stored, obj)}


# ---------------------------------------------------------------------- a new object


def stamp_new(write: Write) -> Awaitable[None] | None:
    """Make bytes of the object, in the stored version, when nothing can refuse it any more.

    Raises:
        ApiError: it cannot be converted, is too large, or names a version.
    """
    options = write.options
    if options.dry_run:
        return _show_new(write)
    meta = write.obj["metadata"]
    if "resourceVersion" in meta and names_version(meta):
        raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
    if write.inline and write.kind.hub is write.kind.stored:
        _stamp_new(write)
        return None
    return _stamp_converted(write)


async def _stamp_converted(write: Write) -> None:
    await _finish(write)
    await write.options.work(_stamp_new, write)


async def _finish(write: Write) -> None:
    """Bring the object to the stored version."""
    kind, work = write.kind, write.options.work
    if kind.hub is kind.stored:
        return
    if _holds_unknown(write.options):
        await work(kind.hub.type.drop_unknown, write.obj)
    write.obj = await _to_stored(kind, write.obj, work)
    await work(kind.stored.rules.default, write.obj)  # of a version not defaulted yet


def _complete(write: Write) -> Object:
    obj, kind, sent = write.obj, write.kind, write.options.sent
    stored = kind.stored
    if sent is not None and sent.merged and kind.hub is stored:
        stored.type.drop_unknown(obj)
    if (finish := stored.rules.finish) is not None:
        finish(obj)
    stored.type.store(obj)
    return obj


def _stamp_new(write: Write) -> None:
    write.value = stamp(_complete(write))
    check_size(write.value)


async def _show_new(write: Write) -> None:
    """Answer a dry run with the object as it would be stored."""
    kind, obj = write.kind, write.obj
    key = kind.key(write.target.namespace, obj["metadata"]["name"])
    if (stored := await write.parts.store.get(key)) is not None:
        raise KeyExists(key, stored.revision)
    await _finish(write)
    shown = await write.options.work(lambda: unversioned(_complete(write)))
    write.written = Written(shown, created=True)


def store_new(write: Write) -> Awaitable[None] | None:
    """Store the object under its name, if that is free.

    Raises:
        StoreError: the name is taken; the store takes no writes.
    """
    return None if write.written is not None else _store_new(write)


async def _store_new(write: Write) -> None:
    kind, parts = write.kind, write.parts
    key = kind.key(write.target.namespace, write.obj["metadata"]["name"])
    stored = await parts.store.create(key, write.value, ttl_s=parts.time_to_live_s(kind.stored))
    write.written = Written(stored.value, created=True)


# ---------------------------------------------------------------------- a changed object


def stamp_changed(write: Write) -> Awaitable[None] | None:
    """Make bytes of the object, in the stored version; a write that changes nothing ends here.

    Raises:
        ApiError: it cannot be converted, or is too large.
    """
    write.removes = deletion.finished(write.obj, write.kind)
    if write.old is write.stored and write.kind.hub is write.kind.stored:
        if write.inline:
            _stamp_changed(write)
            return None
        return write.options.work(_stamp_changed, write)
    return _stamp_changed_converted(write)


async def _stamp_changed_converted(write: Write) -> None:
    kind, work, new, old = write.kind, write.options.work, write.obj, write.old or {}
    if _holds_unknown(write.options):
        await work(kind.hub.type.drop_unknown, new)
    # A write that changes nothing but times of owners keeps these.
    write.obj = await _to_stored(kind, old if unchanged(new, old) else new, work)
    await work(_stamp_other_version, write)


def _stamp_changed(write: Write) -> None:
    new, stored = write.obj, write.kind.stored
    if _holds_unknown(write.options):
        stored.type.drop_unknown(new)
    stored.type.store(new)
    new["metadata"] = order_metadata(new["metadata"])
    _value(write, changed=not unchanged(new, write.stored))


def _stamp_other_version(write: Write) -> None:
    new, stored = write.obj, write.kind.stored
    stored.rules.default(new)  # of a version not defaulted yet
    stored.type.store(new)
    new["metadata"] = order_metadata(new["metadata"])
    _value(write, changed=new != write.stored)


def _value(write: Write, *, changed: bool) -> None:
    current = write.current
    if changed or write.removes:
        write.value = stamp(write.obj)
    elif current.stale:  # stored in a way that is left behind (an old key)
        write.value = stamp(write.stored)
    else:
        write.written = Written(current.value, created=False)
        return
    if write.options.dry_run:
        write.written = Written(write.value.at(current.revision), created=False)
    elif not write.removes:
        check_size(write.value, len(current.value))


def store_changed(write: Write) -> Awaitable[None] | None:
    """Store the object in place of the one that was read, if that is still there.

    Raises:
        StoreError: another write came between; the store takes no writes.
    """
    return None if write.written is not None else _store_changed(write)


async def _store_changed(write: Write) -> None:
    current, value, parts = write.current, write.value, write.parts
    if write.removes:
        # Watchers see the last state that was stored, the client what it asked for: a state that
        # never was, and so without a version of its own.
        await parts.store.delete(current.key, expected=current.revision)
        write.written = Written(value.at(current.revision), created=False)
        return
    # Finalizers are taken out of what goes away on a full disk too; nothing is made larger.
    size = len(value.before) + len(value.after)
    frees = "deletionTimestamp" in write.obj["metadata"] and size <= len(current.value)
    ttl_s = parts.time_to_live_s(write.kind.stored)
    writing = parts.store.freeing if frees else parts.store
    stored = await writing.update(current.key, value, expected=current.revision, ttl_s=ttl_s)
    write.written = Written(stored.value, created=False)


# ---------------------------------------------------------------------- a deleted object


def store_deletion(write: Write) -> Awaitable[None] | None:
    """Mark or remove the object; watchers of a removed one see the state that was stored.

    Raises:
        StoreError: another write came between; the store takes no writes.
    """
    if write.outcome is Outcome.NOTHING or write.options.dry_run:
        return None
    return _store_deletion(write)


async def _store_deletion(write: Write) -> None:
    store, current, last = write.parts.store, write.current, write.obj
    if write.outcome is Outcome.MARK or last != write.stored:
        # As kube-apiserver does: what deletion changes in an object is written before it goes.
        current = await store.freeing.update(current.key, stamp(last), expected=current.revision)
        last["metadata"]["resourceVersion"] = str(current.revision)
        if write.outcome is Outcome.REMOVE:
            write.doomed = last["metadata"].get("uid") or ""
    revision = current.revision
    if write.outcome is Outcome.REMOVE:
        revision = await store.delete(current.key, expected=revision)
        write.removes = True
    last["metadata"] = order_metadata({**last["metadata"], "resourceVersion": str(revision)})


# ---------------------------------------------------------------------- of the server itself


async def insert(
    store: ReadingAndWriting, key: str, value: Stamped, *, ttl_s: float = 0.0
) -> KeyValue:
    """Store a value under a key that has none.

    Args:
        store: where.
        key: the key.
        value: the value.
        ttl_s: see `Writing.create`.

    Raises:
        StoreError: it has one; the store takes no writes.
    """
    return await store.create(key, value, ttl_s=ttl_s)


async def replace(
    store: ReadingAndWriting, key: str, value: Stamped, expected: int, *, ttl_s: float = 0.0
) -> KeyValue:
    """Store a value in place of the one at a revision.

    Args:
        store: where.
        key: the key.
        value: the value.
        expected: the revision.
        ttl_s: see `Writing.create`.

    Raises:
        StoreError: another write came between; the store takes no writes.
    """
    return await store.update(key, value, expected=expected, ttl_s=ttl_s)


async def remove(store: ReadingAndWriting, current: KeyValue) -> None:
    """Remove what was read.

    Raises:
        StoreError: another write came between; the store takes no writes.
    """
    await store.delete(current.key, expected=current.revision)


async def restore(store: Rewinding, changes: Sequence[Change]) -> None:
    """Write several changes at once, as resets do.

    Raises:
        StoreError: another write came between; the store takes no writes.
    """
    await store.write_all(changes)
