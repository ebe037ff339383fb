"""Recipes of writes: which steps a write takes, in which order, and why each stands where it does.

A step is a function over one value, `Write`; one that has to wait for something does so in the
awaitable that it returns.  Steps in `beside` work over the object alone: where that takes long,
they leave the event loop together.

A write chooses its recipe and follows it; nothing else calls the store's writes.

Source: API conventions (metadata, optimistic concurrency), docs "API concepts".
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import orjson
import trio

from kubetrio.machinery.status import (
    OBJECT_MODIFIED,
    ApiError,
    already_exists,
    conflict,
    not_found,
)
from kubetrio.resources.deciding import (
    admit,
    claim,
    identify,
    look_up,
    mutate,
    prepare_changed,
    prepare_new,
    tidy,
    validate_changed,
    validate_new,
)
from kubetrio.resources.deleting import ask, check, plan, read_deleted
from kubetrio.resources.deletion import Outcome
from kubetrio.resources.fieldmanager import Unconverted
from kubetrio.resources.opening import (
    change,
    clear,
    complete,
    convert,
    default,
    drop_repeated,
    make,
    match,
    match_missing,
    own,
    place,
    read,
    show,
)
from kubetrio.resources.storing import (
    stamp_changed,
    stamp_new,
    store_changed,
    store_deletion,
    store_new,
)
from kubetrio.resources.translate import translate
from kubetrio.resources.write import Object, Write
from kubetrio.resources.writes import DeleteOptions, Target, WriteOptions, Written
from kubetrio.store.errors import KeyExists, KeyMissing, RevisionMismatch, StoreError, Unreadable

GENERATE_ATTEMPTS = 8
UPDATE_ATTEMPTS = 64  # far beyond what contention between tasks of one loop can need

Step = Callable[[Write], Awaitable[None] | None]
WorkStep = Callable[[Write], None]


class Beside(NamedTuple):
    """Steps that work over the object alone.

    Args:
        steps: in their order.
    """

    steps: tuple[WorkStep, ...]


def beside(*steps: WorkStep) -> Beside:
    """Return steps that leave the event loop together where that takes long."""
    return Beside(steps)


Recipe = tuple[Step | Beside, ...]


async def follow(recipe: Recipe, write: Write) -> None:
    """Take the steps of a recipe.

    Raises:
        ApiError: the write is refused.
        StoreError: it is not stored.
    """
    try:
        for step in recipe:
            if isinstance(step, Beside):
                try:
                    if write.inline:
                        for work in step.steps:
                            work(write)
                    else:
                        await write.options.work(_take, step.steps, write)
                except Unconverted as missing:
                    await _convert_and_repeat(step, write, missing)
            else:
                waiting = step(write)
                if waiting is not None:
                    await waiting
    except BaseException as error:
        if write.claim is not None:
            given_back, write.claim = write.claim, None
            await given_back.__aexit__(type(error), error, error.__traceback__)
        raise
    if write.claim is not None:
        await write.claim.__aexit__(None, None, None)


def _take(steps: tuple[WorkStep, ...], write: Write) -> None:
    for step in steps:
        step(write)


async def _convert_and_repeat(step: Beside, write: Write, missing: Unconverted) -> None:
    """Take steps again, as often as field ownership needs an object in a further version."""
    while True:
        await write.fields.learn(missing)
        try:
            await write.options.work(_take, step.steps, write)
        except Unconverted as another:
            missing = another
        else:
            return


# ---------------------------------------------------------------------- a step that recipes share


def release(write: Write) -> Awaitable[None] | None:
    """Give back what a removed object had, and delete what goes with it."""
    return _release(write) if write.removes and not write.options.dry_run else None


async def _release(write: Write) -> None:
    kind, obj, parts = write.kind, write.obj, write.parts
    allocator = parts.allocators.get((kind.group, kind.resource))
    if allocator is not None:
        await allocator.deleted(obj)
    companion = kind.strategy.companion
    other = None if companion is None else parts.registry.get(*companion)
    if other is not None:
        meta = obj["metadata"]
        target = Target(other, meta.get("namespace", ""), meta["name"])
        with contextlib.suppress(ApiError):
            companion_write = Write(parts, target, WriteOptions(user=write.options.user), {})
            companion_write.deletion = DeleteOptions()
            await delete(companion_write, DELETE_AS_SERVER)


# ---------------------------------------------------------------------- the recipes

NEW: Recipe = (
    identify,  # once for each attempt at a generated name, and so all that is after it
    beside(prepare_new),  # before rules judge: what clients do not decide is not judged
    claim,  # before rules judge: addresses and ports are a part of the object
    look_up,  # its causes go with those of validation
    beside(validate_new),  # before webhooks: they see valid objects only
    admit,  # after everything that changes the object
    stamp_new,  # after everything that refuses it
    store_new,
)
"""The end of a recipe that creates an object; again while a generated name is taken."""

CREATE: Recipe = (
    beside(
        place,  # the path says the namespace, whatever the rest is
        clear,  # before ownership: the server's fields belong to no client
        default,  # before ownership: defaults belong to who left the fields out
        own,  # in the version of the client, before admission: its changes belong to no client
    ),
    convert,  # admission and rules know one version
    mutate,  # before rules: they judge what plugins made of the object
    tidy,  # what plugins brought of what was dropped before
)
"""POST; `NEW` follows."""

CREATE_MISSING: Recipe = (
    beside(make),
    convert,
    match_missing,  # before admission: nothing is asked about an object that is not meant
    place,
    mutate,
    tidy,
)
"""PUT and apply where there is no object; `NEW` follows."""

OPEN_REPLACEMENT: Recipe = (
    beside(
        drop_repeated,
        default,  # once, and not for each attempt: it does not depend on the stored object
    ),
)
"""PUT, before the stored object is read; `UPDATE` follows."""

_CHANGED: Recipe = (
    match,  # before admission: nothing is asked about an object that is not meant
    mutate,
    tidy,
    beside(prepare_changed),
    claim,
    look_up,
    beside(validate_changed),
    admit,
    stamp_changed,  # a write that changes nothing ends here
    store_changed,
    release,  # after the last finalizer is gone
)

UPDATE: Recipe = (
    show,  # changes are made in the version of the client
    beside(make),  # with defaults and owners, as for a new object
    convert,
    *_CHANGED,
)
"""PUT, PATCH and apply where there is an object; again while other writes come between."""

CHANGE: Recipe = (
    change,
    beside(complete),  # the change is made of a complete object, and may make more
    *_CHANGED,
)
"""As `UPDATE`, where the change itself waits: it is made of a view of the object (scale)."""

DELETE: Recipe = (
    check,  # before admission: nothing is asked about an object that is not meant
    ask,
    plan,  # after admission: by the object that was admitted
    store_deletion,
    release,  # when the object is gone
)
"""DELETE; again while other writes come between."""

DELETE_AS_SERVER: Recipe = tuple(step for step in DELETE if step is not ask)
"""A deletion that follows from another request, about which admission was asked."""


def names(recipe: Recipe) -> list[str]:
    """Return the names of the steps of a recipe, in their order."""
    steps_named: list[str] = []
    for step in recipe:
        steps = step.steps if isinstance(step, Beside) else (step,)
        steps_named += [one.__name__ for one in steps]
    return steps_named


# ---------------------------------------------------------------------- following them


async def create(write: Write, recipe: Recipe = CREATE) -> Written:
    """Create an object.

    Raises:
        ApiError: 400, 403, 404, 409 or 422.
    """
    await follow(recipe, write)
    meta = write.obj["metadata"]
    if not meta.get("name"):
        write.prefix = meta.get("generateName") or ""
    for attempt in range(GENERATE_ATTEMPTS):
        try:
            await follow(NEW, write)
        except KeyExists as error:
            if not write.prefix or attempt + 1 == GENERATE_ATTEMPTS:
                raise await _exists(write) from error
        except StoreError as error:
            name = write.obj["metadata"].get("name") or ""
            raise translate(error, write.kind.group_resource, name) from error
        else:
            break
    return _result(write)


def _result(write: Write) -> Written:
    if write.written is None:
        raise AssertionError("a recipe ends with a result")
    return write.written


async def _exists(write: Write) -> ApiError:
    kind, meta = write.kind, write.obj["metadata"]
    # Whether or not the name was made from it.
    generated = bool(meta.get("generateName"))
    error = already_exists(kind.group_resource, meta["name"], generated=generated)
    try:
        stored = await write.parts.store.get(kind.key(write.target.namespace, meta["name"]))
    except Unreadable:
        return error
    if stored is not None and "deletionTimestamp" in orjson.loads(stored.value)["metadata"]:
        error.message = f"object is being deleted: {error.message}"
    return error


async def update(write: Write, recipe: Recipe = UPDATE) -> Written:
    """Change an object, or create it where its kind or an apply has it so.

    Raises:
        ApiError: 400, 403, 404, 409 or 422, and what the change raises.
    """
    kind, target = write.kind, write.target
    for _ in range(UPDATE_ATTEMPTS):
        if not await read(write):
            write.old = write.asked = None
            if not (write.applied and not target.subresource) and not _creates(write):
                raise not_found(kind.group_resource, target.name)
            return await create(write, CREATE_MISSING)
        try:
            await follow(recipe, write)
        except (RevisionMismatch, KeyMissing) as error:
            if write.insists:
                raise translate(error, kind.group_resource, target.name) from error
        except StoreError as error:
            raise translate(error, kind.group_resource, target.name) from error
        else:
            return _result(write)
        await trio.lowlevel.checkpoint()
    raise conflict(kind.group_resource, target.name, OBJECT_MODIFIED)


def _creates(write: Write) -> bool:
    # As kube-apiserver does: the status of a Service has the strategy of Services for this.
    return write.kind.strategy.create_on_update and write.target.subresource in ("", "status")


async def delete(write: Write, recipe: Recipe = DELETE) -> tuple[Object, bool]:
    """Delete an object, or begin to.

    Returns:
        Its last state and whether it is gone now.

    Raises:
        ApiError: 403, 404 or 409.
    """
    kind, target = write.kind, write.target
    for _ in range(UPDATE_ATTEMPTS):
        if not await read_deleted(write):
            return write.obj, True
        try:
            await follow(recipe, write)
        except (RevisionMismatch, KeyMissing):
            await trio.lowlevel.checkpoint()
            continue
        except StoreError as error:
            raise translate(error, kind.group_resource, target.name) from error
        return write.obj, write.outcome is Outcome.REMOVE
    raise conflict(kind.group_resource, target.name, OBJECT_MODIFIED)
