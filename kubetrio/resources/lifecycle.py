"""Create, update and delete: what the server fills in, keeps, checks and stores.

One object passes, in this order: admission that mutates, the kind's strategy, validation,
admission that validates, the store.  Updates run that whole sequence again when somebody else was
faster and the client did not say which version it saw.

Source: API conventions (metadata, optimistic concurrency), docs "API concepts".
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import orjson
import trio

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.chain import Chain
from kubetrio.env import Env
from kubetrio.machinery import objectmeta
from kubetrio.machinery.names import GroupKind, GroupVersion
from kubetrio.machinery.status import (
    OBJECT_MODIFIED,
    ApiError,
    Cause,
    already_exists,
    conflict,
    invalid,
    not_found,
)
from kubetrio.machinery.telling import Telling
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources import deletion, identity, objects
from kubetrio.resources.creating import check_may_create
from kubetrio.resources.deletion import Outcome
from kubetrio.resources.isolation import count_generation, isolate, relevant
from kubetrio.resources.objects import check_size, order_metadata, restamp, stamp, unversioned
from kubetrio.resources.ownerreferences import drop_repeated_owners
from kubetrio.resources.storing import changed_value, in_hub, new_value
from kubetrio.resources.translate import translate
from kubetrio.resources.validation import (
    metadata_of_change,
    validate_create,
    validate_update,
    warnings,
    with_metadata_of_new,
)
from kubetrio.resources.writes import (
    Allocator,
    DeleteOptions,
    Target,
    WriteOptions,
    Written,
)
from kubetrio.schema.empties import put_back
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.rules import Context
from kubetrio.store.errors import (
    KeyExists,
    KeyMissing,
    RevisionMismatch,
    StoreError,
    Unreadable,
)
from kubetrio.store.model import KeyValue, ReadingAndWriting
from kubetrio.wire.report import Empties

Object = dict[str, Any]
Change = Callable[[Object | None], Awaitable[Object]]

GENERATE_ATTEMPTS = 8
CLEARED_ON_CREATE = (
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
UPDATE_ATTEMPTS = 64  # far beyond what contention between tasks of one loop can need


def clear_system_fields(obj: Object) -> None:
    """Drop what a new object may not say of itself; changes the object.

    That is what POST does; an object that PUT or apply creates keeps it, as in kube-apiserver.
    """
    meta = obj.get("metadata") or {}
    for name in CLEARED_ON_CREATE:
        meta.pop(name, None)


def clear_identity(obj: Object, *, namespaced: bool) -> None:
    """Drop what a body that is created and not stored may not say of itself; changes the object.

    What is stored gets values of its own there.

    Args:
        obj: such as a review.
        namespaced: whether it lives in a namespace.
    """
    clear_system_fields(obj)
    meta = obj.get("metadata") or {}
    for name in ("uid", "creationTimestamp") if namespaced else _UNSCOPED:
        meta.pop(name, None)


_UNSCOPED = ("uid", "creationTimestamp", "namespace")


class _Before(NamedTuple):
    """What an update starts from.

    Args:
        old: the object in the version in which writes work.
        stored: the object as it was read.
        current: the bytes of that.
    """

    old: Object
    stored: Object
    current: KeyValue


class Lifecycle:
    """Writes of one server.

    Args:
        store: where objects live.
        registry: what is served.
        admission: plugins to ask.
        env: wall clock, identities and names.
        allocators: by group and plural name, for the kinds that need one.
        allow_privileged: whether containers may be privileged.
        times_to_live: by the names that kinds give them (`Strategy.time_to_live`), seconds; those
            without one stay for good.
    """

    def __init__(
        self,
        store: ReadingAndWriting,
        registry: LiveRegistry,
        admission: Chain,
        env: Env,
        allocators: Mapping[tuple[str, str], Allocator] | None = None,
        *,
        allow_privileged: bool = False,
        times_to_live: Mapping[str, float] | None = None,
    ) -> None:
        self._store = store
        self._registry = registry
        self._admission = admission
        self._env = env
        self.allocators = dict(allocators or {})
        self._allow_privileged = allow_privileged
        self._times_to_live = dict(times_to_live or {})

    async def mutate(self, attributes: Attributes) -> None:
        """Let admission change what a request without an object of its own says.

        Raises:
            ApiError: the first refusal.
        """
        await self._admission.mutate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Ask admission about what was changed and checked.

        Raises:
            ApiError: the first refusal.
        """
        await self._admission.validate(attributes)

    async def mutate_shown(
        self, target: Target, new: Object, old: Object, options: WriteOptions
    ) -> Object:
        """Ask admission that mutates about a change of what a subresource shows of an object.

        Args:
            target: what is written.
            new: what the subresource is to show.
            old: what it shows.
            options: who writes, and how.

        Returns:
            What it is to show.

        Raises:
            ApiError: the first refusal.
        """
        attributes = _attributes(Operation.UPDATE, target, options, new=new, old=old)
        await self._admission.mutate(attributes)
        return attributes.obj or new

    def _allocator(self, resource: Kind) -> Allocator | None:
        return self.allocators.get((resource.group, resource.resource))

    async def _removed(self, resource: Kind, obj: Object) -> None:
        """What follows when an object is gone: what it was given, and what goes with it."""
        allocator = self._allocator(resource)
        if allocator is not None:
            await allocator.deleted(obj)
        companion = resource.strategy.companion
        other = None if companion is None else self._registry.get(*companion)
        if other is not None:
            meta = obj["metadata"]
            target = Target(other, meta.get("namespace", ""), meta["name"])
            # The server's own doing, about which admission is not asked.
            with contextlib.suppress(ApiError):
                await self._delete(target, DeleteOptions(), None)

    # ------------------------------------------------------------------ create

    async def create(self, target: Target, obj: Object, options: WriteOptions) -> Written:
        """Store a new object.

        Args:
            target: resource and namespace; the name is in the object.
            obj: the decoded object; it is changed.
            options: who writes, and how.

        Raises:
            ApiError: 400, 403, 404, 409 or 422.
        """
        clear_system_fields(obj)
        return await self._create(target, obj, options)

    async def _create(self, target: Target, obj: Object, options: WriteOptions) -> Written:
        """Store a new object with all that it says of itself."""
        meta = obj.setdefault("metadata", {})
        identity.place(target, meta)
        # Admission does not see them yet; a uid in a replacement is a precondition, not this.
        meta.pop("uid", None)
        meta.pop("creationTimestamp", None)
        place = target._replace(name=meta.get("name") or "")
        attributes = _attributes(Operation.CREATE, place, options, new=obj, old=None)
        await self._admission.mutate(attributes)
        drop_repeated_owners(obj, options.warn, admitted=True)
        meta = obj["metadata"]
        if attributes.repeat:
            identity.place(target, meta)
        generated = not meta.get("name") and bool(meta.get("generateName"))
        prefix = meta.get("generateName") or ""
        for attempt in range(GENERATE_ATTEMPTS):
            meta = obj["metadata"]  # an attempt that got as far as the store replaced it
            if generated:
                meta["name"] = self._generated(prefix, target)
            try:
                return await self._create_once(target, attributes, obj, options)
            except KeyExists as error:
                if not generated or attempt + 1 == GENERATE_ATTEMPTS:
                    raise await self._exists(target, meta) from error
            except StoreError as error:
                group_resource = target.resource.group_resource
                raise translate(error, group_resource, meta.get("name") or "") from error
        raise AssertionError("the last attempt returns or raises")

    async def _create_once(
        self, target: Target, attributes: Attributes, obj: Object, options: WriteOptions
    ) -> Written:
        """Store a new object that has a name, after admission that mutates."""
        resource = target.resource
        hub = resource.hub
        strategy = hub.strategy
        meta = obj["metadata"]
        meta["uid"] = self._env.new_uid()
        meta["creationTimestamp"] = format_time(self._env.now())
        meta.pop("selfLink", None)  # of what PUT or apply creates; it is never stored
        if strategy.generation:
            meta["generation"] = 1
        if strategy.unnamed and not meta.get("name"):
            meta["name"] = self._env.new_uid()
        context = Context(now=meta["creationTimestamp"], uid=meta["uid"], user=options.user)
        await options.work(hub.rules.prepare_create, obj, context)
        allocator = self._allocator(resource)
        if target.subresource or allocator is None:
            return await self._store_new(target, attributes, obj, options)
        async with allocator.writing(obj, None, dry_run=options.dry_run):
            return await self._store_new(target, attributes, obj, options)

    async def _store_new(
        self, target: Target, attributes: Attributes, obj: Object, options: WriteOptions
    ) -> Written:
        """Validate and store what `_create_once` prepared."""
        resource, meta = target.resource, obj["metadata"]
        causes = None if options.own else await self._looked_up(target, obj, None, options)
        if advice := await options.work(self._check_new, target, obj, causes, options.empties):
            options.warn(advice)  # before those of admission, and of a write it refuses too
        attributes.name = meta["name"]
        if options.client is not None:
            await check_may_create(options.client)
        await self._admission.validate(attributes)
        key = resource.key(target.namespace, meta["name"])
        if options.dry_run:
            if await self._store.get(key) is not None:
                raise KeyExists(key)
            if _holds_unknown(options):
                await options.work(resource.hub.type.drop_unknown, obj)
            shown = await new_value(resource, obj, unversioned, options.work)
            return Written(shown, created=True)
        if identity.names_version(meta):
            raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
        if _holds_unknown(options):
            await options.work(resource.hub.type.drop_unknown, obj)
        value = await new_value(resource, obj, stamp, options.work)
        check_size(value)
        ttl_s = self.time_to_live_s(resource.stored)
        stored = await self._store.create(key, value, ttl_s=ttl_s)
        return Written(stored.value, created=True)

    def time_to_live_s(self, kind: Kind) -> float:
        """How long objects of a kind stay behind their last change, in seconds; 0 for ever."""
        return self._times_to_live.get(kind.strategy.time_to_live, 0.0)

    def _generated(self, prefix: str, target: Target) -> str:
        if not target.resource.strategy.random_names:
            return prefix
        return objectmeta.generate_name(prefix, self._suffix())

    def _suffix(self) -> str:
        alphabet = objectmeta.GENERATE_NAME_ALPHABET
        choose = self._env.rng.randrange
        size = objectmeta.GENERATE_NAME_SUFFIX
        return "".join(alphabet[choose(len(alphabet))] for _ in range(size))

    async def _exists(self, target: Target, meta: Object) -> ApiError:
        resource, name = target.resource, meta["name"]
        # Whether or not the name was made from it.
        generated = bool(meta.get("generateName"))
        error = already_exists(resource.group_resource, name, generated=generated)
        try:
            found = await self._store.get(resource.key(target.namespace, name))
        except Unreadable:
            return error
        if found is not None and "deletionTimestamp" in orjson.loads(found.value)["metadata"]:
            error.message = f"object is being deleted: {error.message}"
        return error

    async def _looked_up(
        self, target: Target, new: Object, old: Object | None, options: WriteOptions
    ) -> list[Cause]:
        """What is wrong by what else is stored and by rights, for the few kinds that look."""
        rules, below = target.resource.hub.rules, target.subresource
        causes: list[Cause] = []
        if rules.look_up is not None:
            causes += await rules.look_up(self._read, target.namespace, below, new, old)
        if rules.rights is not None and options.client is not None:
            causes += await rules.rights(options.client, below, new, old)
        return causes

    async def _read(self, key: str) -> Object | None:
        found = await self._store.get(key)
        return None if found is None else orjson.loads(found.value)

    def _check_new(
        self, target: Target, obj: Object, causes: list[Cause] | None, empties: Empties | None
    ) -> list[str]:
        """Refuse an object that is not valid, unless causes are None; what there is to warn of."""
        if causes is not None:
            with Telling():
                causes += self._validate_create(target, obj, empties)
            self._check(target, causes, obj, obj["metadata"].get("name") or "")
        return warnings(target.resource.hub, obj, None)

    def _check_changed(
        self,
        target: Target,
        new: Object,
        old: Object,
        causes: list[Cause] | None,
        options: WriteOptions,
    ) -> list[str]:
        if causes is not None:
            with Telling():
                causes += self._validate_update(target, new, old, options.empties)
            if (spared := target.resource.rules.validation.spared) and (texts := spared()):
                options.warn(texts)
            self._check(target, causes, new, target.name)
        return warnings(target.resource.hub, new, old, target.subresource)

    def _validate_create(self, target: Target, obj: Object, empties: Empties | None) -> list[Cause]:
        checked, shown = _checked(target.resource, obj)
        if empties:
            shown = put_back(shown, checked.type.known(empties))
        causes = validate_create(checked, shown, allow_privileged=self._allow_privileged)
        return with_metadata_of_new(checked, shown, causes)

    def _validate_update(
        self, target: Target, new: Object, old: Object, empties: Empties | None
    ) -> list[Cause]:
        checked, shown = _checked(target.resource, new)
        _, before = _checked(target.resource, old)
        causes = metadata_of_change(checked, shown, before, target.subresource)
        if written := relevant(empties, target.subresource, checked.strategy):
            # Shown and refused where they are given; to compare with, an empty list is none.
            known = checked.type.known(written)
            shown, before = put_back(shown, known), put_back(before, known)
        return causes + validate_update(
            checked, shown, before, target.subresource, allow_privileged=self._allow_privileged
        )

    @staticmethod
    def _check(target: Target, causes: list[Cause], obj: Object, name: str) -> None:
        if causes:
            kind = target.resource.stored.group_kind
            if not target.resource.builtin:  # a custom resource is named as what it says it is
                kind = GroupKind(GroupVersion.parse(obj["apiVersion"]).group, obj["kind"])
            raise invalid(kind, name, causes)

    # ------------------------------------------------------------------ update

    async def update(
        self,
        target: Target,
        change: Change,
        options: WriteOptions,
        *,
        uid_is_precondition: bool = True,
        create_missing: bool = False,
    ) -> Written:
        """Replace an object by what `change` makes of it.

        Args:
            target: what is written; its subresource decides which members count.
            change: makes the new object from the one that is there (None when there is none), both
                in the version in which writes of the kind work (`Kind.hub`); called again when
                another write came between and the new object names no version.
            options: who writes, and how.
            uid_is_precondition: whether uid and version in the new object name the object meant
                (PUT), or come from the stored one, so that another uid is a change that is refused
                and the version is insisted on only when it is another (PATCH).
            create_missing: create an object that is not there, whatever its kind says (apply).

        Raises:
            ApiError: 400, 403, 404, 409 or 422, and what `change` raises.
        """
        for _ in range(UPDATE_ATTEMPTS):
            current = await self._store.get(target.key)
            if current is None:
                return await self._create_on_update(
                    target, change, options, create_missing=create_missing
                )
            if len(current.value) > objects.LARGE_BYTES:
                await options.weigh(current.value)
                stored = await options.work(objects.read, target.resource, current.value)
            else:
                stored = objects.read(target.resource, current.value)
            old = stored
            if not target.resource.builtin:
                old = await in_hub(target.resource, stored, options.work)
            new = await change(old)
            pinned = identity.insists(
                target,
                new,
                old,
                current,
                uid_is_precondition=uid_is_precondition,
                dry_run=options.dry_run,
            )
            try:
                before = _Before(old, stored, current)
                return await self._update_once(target, new, before, options)
            except RevisionMismatch as error:
                if pinned:
                    raise translate(error, target.resource.group_resource, target.name) from error
            except KeyMissing as error:
                if pinned:
                    raise translate(error, target.resource.group_resource, target.name) from error
            except StoreError as error:
                raise translate(error, target.resource.group_resource, target.name) from error
            await trio.lowlevel.checkpoint()
        raise conflict(target.resource.group_resource, target.name, OBJECT_MODIFIED)

    async def _create_on_update(
        self, target: Target, change: Change, options: WriteOptions, *, create_missing: bool
    ) -> Written:
        resource = target.resource
        allowed = resource.strategy.create_on_update
        if target.subresource:
            # As kube-apiserver does: the status of a Service has the strategy of Services for this.
            allowed = allowed and target.subresource == "status"
        elif create_missing:
            allowed = True
        if not allowed:
            raise not_found(resource.group_resource, target.name)
        new = await change(None)
        meta = new.setdefault("metadata", {})
        identity.claim_missing(target, meta, applied=create_missing, dry_run=options.dry_run)
        return await self._create(target, new, options)

    async def _update_once(
        self, target: Target, new: Object, before: _Before, options: WriteOptions
    ) -> Written:
        resource, old = target.resource, before.old
        context = Context(now=format_time(self._env.now()), user=options.user)
        attributes = _attributes(Operation.UPDATE, target, options, new=new, old=old)
        # Plugins see what the client sent; what counts as a change is decided behind them.
        if options.shown is None:
            await self._admission.mutate(attributes)
        drop_repeated_owners(new, options.warn, admitted=True)
        new = attributes.obj = await options.work(
            self._prepare_update, target, new, old, context, options.empties
        )
        allocator = self._allocator(resource)
        if target.subresource or allocator is None:
            return await self._store_changed(target, attributes, new, before, options)
        async with allocator.writing(new, old, dry_run=options.dry_run):
            return await self._store_changed(target, attributes, new, before, options)

    async def _store_changed(
        self,
        target: Target,
        attributes: Attributes,
        new: Object,
        before: _Before,
        options: WriteOptions,
    ) -> Written:
        """Validate and store what `_update_once` prepared."""
        resource, old, current = target.resource, attributes.old or {}, before.current
        causes = None if options.own else await self._looked_up(target, new, old, options)
        if advice := await options.work(self._check_changed, target, new, old, causes, options):
            options.warn(advice)
        if options.shown is not None:
            attributes.obj, attributes.old = options.shown(new), options.shown(old)
        await self._admission.validate(attributes)
        remove = deletion.finished(new, resource)
        if _holds_unknown(options):
            await options.work(resource.hub.type.drop_unknown, new)
        value = await changed_value(
            resource,
            new,
            before.old,
            before.stored,
            options.work,
            remove=remove,
            stale=current.stale,
        )
        if value is None:
            return Written(current.value, created=False)
        if options.dry_run:
            return Written(value.at(current.revision), created=False)
        if remove:
            # Watchers see the last state that was stored, the client what it asked for: a state
            # that never was, and so without a version of its own.
            gone = restamp(current.value)
            await self._store.delete(current.key, gone, expected=current.revision)
            await self._removed(resource, new)
            return Written(value.at(current.revision), created=False)
        check_size(value, len(current.value))
        # Finalizers are taken out of what goes away on a full disk too; nobody makes it larger.
        size = len(value.before) + len(value.after)
        frees = "deletionTimestamp" in new["metadata"] and size <= len(current.value)
        ttl_s = self.time_to_live_s(resource.stored)
        stored = await self._store.update(
            current.key, value, expected=current.revision, ttl_s=ttl_s, frees=frees
        )
        return Written(stored.value, created=False)

    @staticmethod
    def _prepare_update(
        target: Target, new: Object, old: Object, context: Context, empties: Empties | None
    ) -> Object:
        """The object an update would store, before admission that validates."""
        hub = target.resource.hub
        strategy = hub.strategy
        isolated = isolate(new, old, target.subresource, strategy)
        hub.rules.prepare_update(isolated, old, context, target.subresource)
        if hub is target.resource.stored:
            # What comes from another version has no defaults but those of what was sent.
            hub.rules.default(isolated)
        given = relevant(empties, target.subresource, strategy)
        if given and strategy.generation_exact:
            given = hub.type.known(given)
        return count_generation(isolated, old, target.subresource, strategy, given)

    # ------------------------------------------------------------------ delete

    async def delete(
        self, target: Target, options: DeleteOptions, who: WriteOptions | None
    ) -> tuple[Object, bool]:
        """Delete an object, or begin to.

        Args:
            target: the object.
            options: how.
            who: who deletes, and how; None where admission was asked about what led to it.

        Returns:
            Its last state and whether it is gone now.

        Raises:
            ApiError: 403, 404 or 409.
        """
        return await self._delete(target, options, who)

    async def _delete(
        self, target: Target, options: DeleteOptions, who: WriteOptions | None
    ) -> tuple[Object, bool]:
        """The same, without admission when it is the server's own doing."""
        resource = target.resource
        strategy = resource.strategy
        for _ in range(UPDATE_ATTEMPTS):
            current = await self._store.get(target.key)
            if current is None:
                raise not_found(resource.group_resource, target.name)
            obj = objects.read(resource, current.value)
            shown = obj if who is None else await in_hub(resource, obj, who.work)
            deletion.check_preconditions(resource, obj, options)
            if who is not None:
                place, how = target._replace(subresource=""), who._replace(dry_run=options.dry_run)
                asked = _attributes(Operation.DELETE, place, how, new=None, old=shown)
                await self.mutate(asked)
                await self.validate(asked)
            outcome, last = deletion.plan(resource, obj, strategy, options, self._env.now())
            if outcome is Outcome.NOTHING or options.dry_run:
                return last, outcome is Outcome.REMOVE
            try:
                stored = await self._carry_out(outcome, current, obj, last)
            except (RevisionMismatch, KeyMissing):
                await trio.lowlevel.checkpoint()
                continue
            except StoreError as error:
                raise translate(error, resource.group_resource, target.name) from error
            last["metadata"] = order_metadata(
                {**last["metadata"], "resourceVersion": str(stored.revision)}
            )
            if outcome is Outcome.REMOVE:
                await self._removed(resource, last)
            return last, outcome is Outcome.REMOVE
        raise conflict(resource.group_resource, target.name, OBJECT_MODIFIED)

    async def _carry_out(
        self, outcome: Outcome, current: KeyValue, obj: Object, last: Object
    ) -> KeyValue:
        """Write a deletion: watchers of a removed object see the state that was stored."""
        if outcome is Outcome.MARK or last != obj:
            # As kube-apiserver does: what deletion changes in an object is written before it goes.
            current = await self._store.update(
                current.key, stamp(last), expected=current.revision, frees=True
            )
        if outcome is Outcome.REMOVE:
            value = restamp(current.value)
            return await self._store.delete(current.key, value, expected=current.revision)
        return current


def _checked(resource: Kind, obj: Object) -> tuple[Kind, Object]:
    """In which version an object is validated: that in which writes work.

    It is the version of the request where a kind is in two groups, which have rules of their own.
    """
    hub = resource.hub
    if resource.group != hub.group:
        return resource, resource.from_stored(obj)
    return hub, obj


def _holds_unknown(options: WriteOptions) -> bool:
    """Return whether an apply put members into the object that its type does not know."""
    return options.sent is not None and options.sent.merged


def _attributes(
    operation: Operation,
    target: Target,
    options: WriteOptions,
    *,
    new: Object | None,
    old: Object | None,
) -> Attributes:
    """A write as admission sees it."""
    return Attributes(
        operation=operation,
        resource=target.resource,
        subresource=target.subresource,
        namespace=target.namespace,
        name="" if options.of_collection else target.name,
        user=options.user,
        obj=new,
        old=old,
        dry_run=options.dry_run,
        options=options.said,
        warn=options.warn,
        own=options.own,
        annotations={} if options.annotations is None else options.annotations,
        body_annotations={} if options.body_annotations is None else options.body_annotations,
    )
