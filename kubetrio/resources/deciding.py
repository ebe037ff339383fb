"""Middle steps of a write: admission, the kind's rules and validation, in `Kind.hub`.

Source: API conventions; docs "Admission Controllers".
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import orjson

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.auth.authorize import forbidden
from kubetrio.machinery import objectmeta
from kubetrio.machinery.asking import Client
from kubetrio.machinery.identity import WHOLE, Decision
from kubetrio.machinery.names import GroupKind, GroupVersion
from kubetrio.machinery.status import Cause, internal_error, invalid
from kubetrio.machinery.telling import Telling
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources import preconditions
from kubetrio.resources.isolation import count_generation, keep_immutable_parts, relevant
from kubetrio.resources.ownerreferences import drop_repeated_owners
from kubetrio.resources.validation import (
    metadata_of_change,
    validate_create,
    validate_update,
    warnings,
    with_metadata_of_new,
)
from kubetrio.resources.write import Write
from kubetrio.resources.writes import Allocator, Target, WriteOptions
from kubetrio.schema.empties import put_back
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import Context

Object = dict[str, Any]


def attributes_of(
    operation: Operation,
    target: Target,
    options: WriteOptions,
    *,
    new: Object | None,
    old: Object | None,
    name: str,
) -> Attributes:
    """Return a write as admission sees it.

    Args:
        operation: what is done.
        target: what is written.
        options: who writes, and how.
        new: the new object, None for a deletion.
        old: the stored object, None for a create.
        name: of the object, as far as it is known.
    """
    return Attributes(
        operation=operation,
        resource=target.resource,
        subresource=target.subresource,
        namespace=target.namespace,
        name="" if options.of_collection else name,
        user=options.user,
        obj=new,
        old=old,
        dry_run=options.dry_run,
        options=options.options,
        warn=options.warn,
        own=options.own,
        annotations={} if options.annotations is None else options.annotations,
        body_annotations={} if options.body_annotations is None else options.body_annotations,
    )


def mutate(write: Write) -> Awaitable[None] | None:
    """Let admission change the object, as the client sent it.

    A view of a subresource was admitted when it was made (`Operations.mutate_shown`).

    Raises:
        ApiError: the first refusal.
    """
    options, old, obj, target = write.options, write.old, write.obj, write.target
    if old is None:
        operation, name = Operation.CREATE, obj["metadata"].get("name") or ""
    else:
        operation, name = Operation.UPDATE, target.name
        write.now = format_time(write.parts.env.now())
    attributes = attributes_of(operation, target, options, new=obj, old=old, name=name)
    write.attributes = attributes
    return write.parts.admission.mutate(attributes) if options.shown is None else None


def tidy(write: Write) -> None:
    """Drop owner references that admission repeats; place again what a webhook has changed.

    Raises:
        ApiError: 400, a webhook named another namespace.
    """
    meta = write.obj.get("metadata")
    if meta and len(meta.get("ownerReferences") or ()) > 1:
        drop_repeated_owners(write.obj, write.options.warn, admitted=True)
    if write.old is None and write.attributes.repeat:
        preconditions.place(write.target, write.obj["metadata"])


def identify(write: Write) -> None:
    """Give a new object its name, uid and time: each attempt at a name is another object."""
    meta, env, strategy = write.obj["metadata"], write.parts.env, write.kind.hub.strategy
    if write.prefix:
        meta["name"] = _generated(write)
    meta["uid"] = env.new_uid()
    meta["creationTimestamp"] = format_time(env.now())
    meta.pop("selfLink", None)  # of what PUT or apply creates; it is never stored
    if strategy.generation:
        meta["generation"] = 1
    if strategy.unnamed and not meta.get("name"):
        meta["name"] = env.new_uid()


def _generated(write: Write) -> str:
    prefix = write.prefix
    if not write.kind.strategy.random_names:
        return prefix
    return objectmeta.generate_name(prefix, generated_suffix(write))


def generated_suffix(write: Write) -> str:
    """Return a random end for a name."""
    alphabet = objectmeta.GENERATE_NAME_ALPHABET
    choose = write.parts.env.rng.randrange
    size = objectmeta.GENERATE_NAME_SUFFIX
    return "".join(alphabet[choose(len(alphabet))] for _ in range(size))


def prepare_new(write: Write) -> None:
    """Reset what clients do not decide, such as the status, before anything judges the object."""
    meta = write.obj["metadata"]
    context = Context(now=meta["creationTimestamp"], uid=meta["uid"], user=write.options.user)
    write.kind.hub.rules.prepare_create(write.obj, context)


def prepare_changed(write: Write) -> None:
    """Keep what the client may not change here, and count the change in the generation."""
    options, old, below = write.options, write.old or {}, write.target.subresource
    hub = write.kind.hub
    strategy, rules = hub.strategy, hub.rules
    context = Context(now=write.now, user=options.user)
    new = keep_immutable_parts(write.obj, old, below, strategy)
    rules.prepare_update(new, old, context, below)
    given = relevant(options.empties, below, strategy)
    if given and strategy.generation_exact:
        given = hub.type.known(given)
    write.obj = write.attributes.obj = count_generation(new, old, below, strategy, given)


def claim(write: Write) -> Awaitable[None] | None:
    """Take addresses and ports for the object, which a failure behind this gives back.

    Raises:
        ApiError: they are taken, or there are none left.
    """
    kind, target = write.kind, write.target
    allocator = write.parts.allocators.get((kind.group, kind.resource))
    return None if allocator is None or target.subresource else _claim(write, allocator)


async def _claim(write: Write, allocator: Allocator) -> None:
    claimed = allocator.writing(write.obj, write.old, dry_run=write.options.dry_run)
    await claimed.__aenter__()
    write.claim = claimed


def look_up(write: Write) -> Awaitable[None] | None:
    """Ask, for the few kinds that need it, what other objects and rights have against the write."""
    rules = write.kind.hub.rules
    if (rules.look_up is None and rules.rights is None) or write.options.own:
        return None
    return _look_up(write)


async def _look_up(write: Write) -> None:
    rules, target, client = write.kind.hub.rules, write.target, write.options.client
    below, new, old = target.subresource, write.obj, write.old
    causes: list[Cause] = []

    async def get(key: str) -> Object | None:
        stored = await write.parts.store.get(key)
        return None if stored is None else orjson.loads(stored.value)

    if rules.look_up is not None:
        causes += await rules.look_up(get, target.namespace, below, new, old)
    if rules.rights is not None and client is not None:
        causes += await rules.rights(client, below, new, old)
    write.causes = causes


def validate_new(write: Write) -> None:
    """Refuse a new object that is not valid, before webhooks are asked; warn of what is unwise.

    Raises:
        ApiError: 422.
    """
    hub, obj, options = write.kind.hub, write.obj, write.options
    if not options.own:
        checked, shown = _checked(write.kind, obj)
        if options.sent is not None and (empties := options.sent.empties):
            shown = put_back(shown, checked.type.known(empties))
        with Telling():
            causes = validate_create(checked, shown, allow_privileged=write.parts.allow_privileged)
            causes = write.causes + with_metadata_of_new(checked, shown, causes)
        if causes:
            _refuse(write, causes, obj["metadata"].get("name") or "")
    if advice := warnings(hub, obj, None):
        options.warn(advice)


def validate_changed(write: Write) -> None:
    """Refuse a change that is not valid, before webhooks are asked; warn of what is unwise.

    Raises:
        ApiError: 422.
    """
    hub, new, old, options = write.kind.hub, write.obj, write.old or {}, write.options
    below = write.target.subresource
    if not options.own:
        with Telling():
            causes = write.causes + _wrong_with_change(write, new, old)
        if (spared := write.kind.rules.validation.spared) and (texts := spared()):
            options.warn(texts)
        if causes:
            _refuse(write, causes, write.target.name)
    if advice := warnings(hub, new, old, below):
        options.warn(advice)


def _wrong_with_change(write: Write, new: Object, old: Object) -> list[Cause]:
    below, kind = write.target.subresource, write.kind
    checked, shown = _checked(kind, new)
    _, before = _checked(kind, old)
    causes = metadata_of_change(checked, shown, before, below)
    if written := relevant(write.options.empties, below, checked.strategy):
        # Shown and refused where they are given; to compare with, an empty list is none.
        known = checked.type.known(written)
        shown, before = put_back(shown, known), put_back(before, known)
    return causes + validate_update(
        checked, shown, before, below, allow_privileged=write.parts.allow_privileged
    )


def _checked(kind: Kind, obj: Object) -> tuple[Kind, Object]:
    """Return in which version an object is validated: that in which writes work.

    It is the version of the request where a kind is in two groups, which have rules of their own.
    """
    hub = kind.hub
    if kind.group != hub.group:
        return kind, kind.from_stored(obj)
    return hub, obj


def _refuse(write: Write, causes: list[Cause], name: str) -> None:
    obj, kind = write.obj, write.kind.stored.group_kind
    if not write.kind.builtin:  # a custom resource is named as what it says it is
        kind = GroupKind(GroupVersion.parse(obj["apiVersion"]).group, obj["kind"])
    raise invalid(kind, name, causes)


def admit(write: Write) -> Awaitable[None]:
    """Ask admission about the object as it would be stored.

    Raises:
        ApiError: 403, the client may not create what PUT or apply creates; the first refusal.
    """
    attributes, options = write.attributes, write.options
    if write.old is None:
        attributes.name = write.obj["metadata"]["name"]
        if options.client is not None:
            return _admit_new(write)
    elif options.shown is not None:
        attributes.obj, attributes.old = options.shown(write.obj), options.shown(write.old)
    return write.parts.admission.validate(attributes)


async def _admit_new(write: Write) -> None:
    if write.options.client is not None:
        await check_may_create(write.options.client)
    await write.parts.admission.validate(write.attributes)


async def check_may_create(client: Client) -> None:
    """Refuse to create for a client that may only update or patch.

    Source: k8s.io/apiserver/pkg/endpoints/handlers/update.go (``withAuthorization``), which wraps
    the validation of what PUT and apply create.

    Raises:
        ApiError: 403; 500, the authorizers do not know.
    """
    if client.attributes().verb == "create":
        return
    asked, verdict = await client.verdict(verb="create", narrowing=WHOLE)
    if verdict.decision is Decision.ALLOW:
        return
    if verdict.error:
        raise internal_error(verdict.error)
    raise forbidden(asked, verdict.reason)
