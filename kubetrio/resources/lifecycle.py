"""Create, update and delete: what the server fills in, keeps, checks and stores.

One object passes, in this order: admission that mutates, the kind's strategy, validation,
admission that validates, the store.  Updates run that whole sequence again when somebody else was
faster and the client did not say which version it saw.

Source: API conventions (metadata, optimistic concurrency), docs "API concepts".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
import trio

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.chain import Chain
from kubetrio.env import Env
from kubetrio.machinery import objectmeta
from kubetrio.machinery.names_validation import NAME_CHECKS
from kubetrio.machinery.status import (
    OBJECT_MODIFIED,
    ApiError,
    Cause,
    conflict,
    invalid,
    not_found,
)
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources import deletion, identity
from kubetrio.resources.adminaccess import admin_access
from kubetrio.resources.defaults import apply_defaults
from kubetrio.resources.defaults.context import Context
from kubetrio.resources.defaults.strategy import prepare_create, prepare_update
from kubetrio.resources.deletion import Outcome
from kubetrio.resources.isolation import count_generation, isolate, unchanged
from kubetrio.resources.objects import order_metadata, restamp, stamp, unversioned
from kubetrio.resources.ownerreferences import drop_repeated_owners
from kubetrio.resources.strategy import Strategy, strategy_of
from kubetrio.resources.translate import translate
from kubetrio.resources.validation import (
    repeated_metadata,
    validate_create,
    validate_update,
    warnings,
)
from kubetrio.resources.writes import Allocator, DeleteOptions, Target, WriteOptions, Written
from kubetrio.schema import builtin
from kubetrio.schema.convert import convert
from kubetrio.schema.registry import ResourceType
from kubetrio.schema.stored import JSON_STORED, as_stored
from kubetrio.store.errors import KeyExists, KeyMissing, RevisionMismatch, StoreError
from kubetrio.store.model import KeyValue, Store

Object = dict[str, Any]
Change = Callable[[Object | None], Awaitable[Object]]

GENERATE_ATTEMPTS = 8
CLEARED_ON_CREATE = (
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
UPDATE_ATTEMPTS = 64  # far beyond what contention between tasks of one loop can need


class Lifecycle:
    """Writes of one server.

    Args:
        store: where objects live.
        admission: plugins to ask.
        env: wall clock, identities and names.
        allocators: by group and plural name, for the kinds that need one.
        allow_privileged: whether containers may be privileged.
    """

    def __init__(
        self,
        store: Store,
        admission: Chain,
        env: Env,
        allocators: Mapping[tuple[str, str], Allocator] | None = None,
        *,
        allow_privileged: bool = False,
    ) -> None:
        self._store = store
        self._admission = admission
        self._env = env
        self.allocators = dict(allocators or {})
        self._allow_privileged = allow_privileged

    async def admit(self, attributes: Attributes) -> None:
        """Ask admission about a request that stores no object of its own.

        Raises:
            ApiError: the first refusal.
        """
        await self._admission.mutate(attributes)
        await self._admission.validate(attributes)

    def _allocator(self, resource: ResourceType) -> Allocator | None:
        return self.allocators.get((resource.group, resource.resource))

    async def _deallocate(self, resource: ResourceType, obj: Object) -> None:
        allocator = self._allocator(resource)
        if allocator is not None:
            await allocator.deleted(obj)

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
        meta = obj.setdefault("metadata", {})
        identity.place(target, meta)
        generated = not meta.get("name") and bool(meta.get("generateName"))
        prefix = meta.get("generateName") or ""
        for attempt in range(GENERATE_ATTEMPTS):
            meta = obj["metadata"]  # an attempt that got as far as the store replaced it
            if generated:
                meta["name"] = objectmeta.generate_name(prefix, self._suffix())
            try:
                return await self._create_once(target, obj, options)
            except KeyExists as error:
                if not generated:
                    raise await self._exists(target, meta["name"]) from error
                if attempt + 1 == GENERATE_ATTEMPTS:
                    raise _no_unique_name(target, meta["name"]) from error
            except StoreError as error:
                group_resource = target.resource.group_resource
                raise translate(error, group_resource, meta.get("name") or "") from error
        raise AssertionError("the last attempt returns or raises")

    async def _create_once(self, target: Target, obj: Object, options: WriteOptions) -> Written:
        resource = target.resource
        stored_type = builtin.stored_type(resource)
        strategy = strategy_of(stored_type)
        meta = obj["metadata"]
        meta["uid"] = self._env.new_uid()
        meta["creationTimestamp"] = format_time(self._env.now())
        for name in CLEARED_ON_CREATE:
            meta.pop(name, None)
        attributes = Attributes(
            operation=Operation.CREATE,
            resource=resource,
            subresource="",
            namespace=target.namespace,
            name=meta.get("name") or "",
            user=options.user,
            obj=obj,
            old=None,
            dry_run=options.dry_run,
            warn=options.warn,
        )
        await self._admission.mutate(attributes)
        drop_repeated_owners(obj, options.warn, admitted=True)
        if strategy.generation:
            meta["generation"] = 1
        context = Context(now=meta["creationTimestamp"], uid=meta["uid"], user=options.user)
        prepare_create(stored_type, obj, context)
        allocator = self._allocator(resource)
        if allocator is None:
            return await self._store_new(target, attributes, obj, options)
        async with allocator.writing(obj, None, dry_run=options.dry_run):
            return await self._store_new(target, attributes, obj, options)

    async def _store_new(
        self, target: Target, attributes: Attributes, obj: Object, options: WriteOptions
    ) -> Written:
        """Validate and store what `_create_once` prepared."""
        resource, meta = target.resource, obj["metadata"]
        stored_type = builtin.stored_type(resource)
        if not options.own:
            causes = await admin_access(self._store, target, obj, None)
            causes += self._validate_create(target, strategy_of(stored_type), obj)
            self._check(target, causes, meta.get("name") or "")
        await self._admission.validate(attributes)
        advice = warnings(stored_type, obj, None)
        key = resource.key(target.namespace, meta["name"])
        apply_defaults(stored_type, obj)  # some defaults follow from what was prepared
        _as_stored(stored_type, obj)
        if options.dry_run:
            if await self._store.get(key) is not None:
                raise KeyExists(key)
            return Written(unversioned(obj), created=True, warnings=advice)
        if identity.names_version(meta):
            raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
        stored = await self._store.create(key, stamp(obj))
        return Written(stored.value, created=True, warnings=advice)

    def _suffix(self) -> str:
        alphabet = objectmeta.GENERATE_NAME_ALPHABET
        choose = self._env.rng.randrange
        return "".join(alphabet[choose(len(alphabet))] for _ in range(5))

    async def _exists(self, target: Target, name: str) -> ApiError:
        resource = target.resource
        found = await self._store.get(resource.key(target.namespace, name))
        if found is not None and "deletionTimestamp" in orjson.loads(found.value)["metadata"]:
            return deletion.being_deleted(resource.group_resource, name)
        return translate(KeyExists(name), resource.group_resource, name)

    def _validate_create(self, target: Target, strategy: Strategy, obj: Object) -> list[Cause]:
        causes = objectmeta.validate_object_meta(
            obj["metadata"],
            namespaced=target.resource.namespaced,
            name_check=NAME_CHECKS[strategy.name_rule],
            standard_finalizers=strategy.standard_finalizers,
        )
        checked, shown = _checked(target.resource, obj)
        return causes + validate_create(checked, shown, allow_privileged=self._allow_privileged)

    def _validate_update(self, target: Target, new: Object, old: Object) -> list[Cause]:
        standard = strategy_of(builtin.stored_type(target.resource)).standard_finalizers
        meta, was = new["metadata"], old["metadata"]
        causes = objectmeta.validate_object_meta_update(meta, was, standard_finalizers=standard)
        if causes:
            causes = repeated_metadata(causes, target.resource, target.subresource)
        checked, shown = _checked(target.resource, new)
        _, before = _checked(target.resource, old)
        return causes + validate_update(
            checked, shown, before, target.subresource, allow_privileged=self._allow_privileged
        )

    @staticmethod
    def _check(target: Target, causes: list[Cause], name: str) -> None:
        if causes:
            raise invalid(builtin.stored_type(target.resource).group_kind, name, causes)

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
            change: makes the new object from the stored one (None when there is none); called
                again when another write came between and the new object names no version.
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
            old = orjson.loads(current.value)
            new = await change(old)
            pinned = identity.insists(
                target, new, old, current, uid_is_precondition=uid_is_precondition
            )
            try:
                return await self._update_once(target, new, old, current, options)
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
        allowed = create_missing or strategy_of(resource).create_on_update
        if target.subresource or not allowed:
            raise not_found(resource.group_resource, target.name)
        new = await change(None)
        identity.claim_missing(target, new.setdefault("metadata", {}), applied=create_missing)
        return await self.create(target, new, options)

    async def _update_once(
        self, target: Target, new: Object, old: Object, current: KeyValue, options: WriteOptions
    ) -> Written:
        resource = target.resource
        stored_type = builtin.stored_type(resource)
        strategy = strategy_of(stored_type)
        context = Context(now=format_time(self._env.now()), user=options.user)
        attributes = Attributes(
            operation=Operation.UPDATE,
            resource=resource,
            subresource=target.subresource,
            namespace=target.namespace,
            name=target.name,
            user=options.user,
            obj=new,
            old=old,
            dry_run=options.dry_run,
            warn=options.warn,
        )
        # Plugins see what the client sent; what counts as a change is decided behind them.
        await self._admission.mutate(attributes)
        drop_repeated_owners(new, options.warn, admitted=True)
        new = attributes.obj = self._prepare_update(target, new, old, strategy, context)
        allocator = self._allocator(resource)
        if target.subresource or allocator is None:
            return await self._store_changed(target, attributes, new, current, options)
        async with allocator.writing(new, old, dry_run=options.dry_run):
            return await self._store_changed(target, attributes, new, current, options)

    async def _store_changed(
        self,
        target: Target,
        attributes: Attributes,
        new: Object,
        current: KeyValue,
        options: WriteOptions,
    ) -> Written:
        """Validate and store what `_update_once` prepared."""
        resource, old = target.resource, attributes.old or {}
        stored_type = builtin.stored_type(resource)
        if not options.own:
            causes = await admin_access(self._store, target, new, old)
            causes += self._validate_update(target, new, old)
            self._check(target, causes, target.name)
        await self._admission.validate(attributes)
        advice = warnings(stored_type, new, old, target.subresource)
        _as_stored(stored_type, new)
        new["metadata"] = order_metadata(new["metadata"])
        remove = deletion.finished(new, resource)
        if not remove and unchanged(new, old):
            return Written(current.value, created=False, warnings=advice)
        if options.dry_run:
            shown = stamp(new).at(current.revision)
            return Written(shown, created=False, warnings=advice)
        value = stamp(new)
        if remove:
            # Watchers see the last state that was stored, the client what it asked for.
            gone = restamp(current.value)
            stored = await self._store.delete(current.key, gone, expected=current.revision)
            await self._deallocate(resource, new)
            return Written(value.at(stored.revision), created=False, warnings=advice)
        # Finalizers are taken out of what goes away on a full disk too; nobody makes it larger.
        size = len(value.before) + len(value.after)
        frees = "deletionTimestamp" in new["metadata"] and size <= len(current.value)
        stored = await self._store.update(
            current.key, value, expected=current.revision, frees=frees
        )
        return Written(stored.value, created=False, warnings=advice)

    @staticmethod
    def _prepare_update(
        target: Target, new: Object, old: Object, strategy: Strategy, context: Context
    ) -> Object:
        """The object an update would store, before admission."""
        stored_type = builtin.stored_type(target.resource)
        isolated = isolate(new, old, target.subresource, strategy)
        prepare_update(stored_type, isolated, old, context, target.subresource)
        apply_defaults(stored_type, isolated)
        return count_generation(isolated, old, target.subresource, strategy)

    # ------------------------------------------------------------------ delete

    async def delete(
        self, target: Target, options: DeleteOptions, who: WriteOptions
    ) -> tuple[Object, bool]:
        """Delete an object, or begin to.

        Returns:
            Its last state and whether it is gone now.

        Raises:
            ApiError: 403, 404 or 409.
        """
        resource = target.resource
        strategy = strategy_of(resource)
        for _ in range(UPDATE_ATTEMPTS):
            current = await self._store.get(target.key)
            if current is None:
                raise not_found(resource.group_resource, target.name)
            obj = orjson.loads(current.value)
            deletion.check_preconditions(resource, obj, options)
            attributes = Attributes(
                operation=Operation.DELETE,
                resource=resource,
                subresource="",
                namespace=target.namespace,
                name=target.name,
                user=who.user,
                obj=None,
                old=obj,
                dry_run=options.dry_run,
                warn=who.warn,
            )
            await self._admission.mutate(attributes)
            await self._admission.validate(attributes)
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
                await self._deallocate(resource, last)
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


def _checked(resource: ResourceType, obj: Object) -> tuple[ResourceType, Object]:
    """In which version an object is validated: the stored one, or that of another group's rules."""
    stored_type = builtin.stored_type(resource)
    if resource.group == stored_type.group:
        return stored_type, obj
    return resource, convert(obj, stored_type.group_version, resource.group_version)


def _as_stored(stored_type: ResourceType, obj: Object) -> None:
    """Do to an object what storing it does; changes it."""
    if stored_type.schema_name and stored_type.group not in JSON_STORED:
        as_stored(stored_type.schema_name)(obj)


def _no_unique_name(target: Target, name: str) -> ApiError:
    resource = target.resource.group_resource
    return ApiError(
        409,
        "AlreadyExists",
        f'{resource} "{name}" already exists, '
        "the server was not able to generate a unique name for the object",
        {"name": name, **({"group": resource.group} if resource.group else {}),
         "kind": resource.resource},
        retry_after=1,
    )  # fmt: skip
