"""The one door of writes: what a write does, over values, whoever makes it.

HTTP verbs decode before and encode after; the in-process client, the bootstrap and controllers call
the same.  An object passes, in this order: what no client may say of it is dropped, defaults, who
owns which fields, the version that writes work in, and then `lifecycle`: admission, the kind's
preparation, validation, the store.

Source: API conventions; docs "API concepts" and "Server-Side Apply".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kubetrio.env import Env
from kubetrio.machinery.jsonvalues import copy_json
from kubetrio.machinery.status import ApiError, bad_request, not_found
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources.changing import hub_change, hub_result
from kubetrio.resources.fieldmanager import FieldManager
from kubetrio.resources.lifecycle import Change, Lifecycle, clear_system_fields
from kubetrio.resources.ownerreferences import drop_repeated_owners
from kubetrio.resources.writes import DeleteOptions, Sent, Target, WriteOptions, Written
from kubetrio.schema.kind import Kind
from kubetrio.wire.report import Report

Object = dict[str, Any]
Make = Callable[[Object], Object]
"""A new object from the one that is stored, both in the version of the request; the stored one is
not changed."""


def nothing_to_check() -> None:
    """For configurations that were looked at before."""


class Configuration(NamedTuple):
    """What an apply wants.

    Args:
        read: the configuration; read when it is known whether there is something to apply it to.
        check: refuses or warns of what is wrong with its text, after conflicts were looked for.
        force: whether fields of others are taken over.
    """

    read: Callable[[], Object]
    check: Callable[[], None] = nothing_to_check
    force: bool = False


class Operations:
    """Writes of one server, as a client means them.

    Args:
        lifecycle: admits, validates and stores.
        env: wall clock.
    """

    def __init__(self, lifecycle: Lifecycle, env: Env) -> None:
        self.lifecycle = lifecycle
        self._env = env

    def fields(self, target: Target, options: WriteOptions) -> FieldManager:
        """Tracks the fields that a write sets."""
        now = format_time(self._env.now())
        return FieldManager(target.resource, options.field_manager, now, target.subresource)

    async def create(
        self, target: Target, body: Object, options: WriteOptions, *, sent: Object | None = None
    ) -> Written:
        """Store a new object.

        Args:
            target: kind and namespace; the name is in the object.
            body: the object, decoded in the version of the kind; it is changed.
            options: who writes, and how.
            sent: what counts as sent by the writer, who owns nothing else; the body when None.

        Raises:
            ApiError: 400, 403, 404, 409 or 422.
        """
        kind, fields = target.resource, self.fields(target, options)
        new = await hub_result(
            kind, fields, options.work, _created, kind, body, fields, options.warn, sent
        )
        return await self.lifecycle.create(target, new, options)

    async def replace(self, target: Target, body: Object, options: WriteOptions) -> Written:
        """Replace an object, or create it where its kind allows that.

        Args:
            target: the object; a subresource decides which members count.
            body: the object, decoded in the version of the kind; it is changed.
            options: who writes, and how.

        Raises:
            ApiError: 400, 403, 404, 409 or 422.
        """
        check_named(target, body)
        kind = target.resource
        body = await options.work(_defaulted, kind, body, options.warn)
        fields = self.fields(target, options)

        def replaced(old: Object | None) -> Object:
            new = {**body, "metadata": dict(body.get("metadata") or {})}
            if old is None:
                fields.created(new)
            else:
                fields.updated(old, new, options.empties)
            return new

        change = hub_change(kind, fields, options.work, replaced)
        return await self.lifecycle.update(target, change, options)

    async def patch(self, target: Target, make: Make, options: WriteOptions) -> Written:
        """Change an object in part; again, when another write came between.

        Args:
            target: the object.
            make: the new object from the stored one.
            options: who writes, and how.

        Raises:
            ApiError: 400, 403, 404, 409 or 422, and what `make` raises.
        """
        change = self.patching(target, make, options)
        return await self.lifecycle.update(target, change, options, uid_is_precondition=False)

    def patching(self, target: Target, make: Make, options: WriteOptions) -> Change:
        """The change that a patch makes of a stored object; see `patch`."""
        kind, fields = target.resource, self.fields(target, options)

        def patched(old: Object | None) -> Object:
            if old is None:
                raise not_found(kind.group_resource, target.name)
            new = make(old)
            kind.rules.default(new)
            check_named(target, new)
            fields.updated(old, new, options.empties)
            return new

        return hub_change(kind, fields, options.work, patched)

    async def apply(
        self, target: Target, configuration: Configuration, options: WriteOptions
    ) -> Written:
        """Apply a configuration: create the object or change what the configuration says of it.

        Args:
            target: the object.
            configuration: what is wanted.
            options: who applies, and how; the field manager has a name.

        Raises:
            ApiError: 400, 403, 409 on conflicts, 422, 500 as kube-apiserver has it.
        """
        if options.sent is None:
            options = options._replace(sent=Sent())
        change = self.applying(target, configuration, options)
        return await self.lifecycle.update(
            target, change, options, uid_is_precondition=False, create_missing=True
        )

    def applying(
        self, target: Target, configuration: Configuration, options: WriteOptions
    ) -> Change:
        """The change that an apply makes of a stored object, or of none; see `apply`."""
        kind, fields = target.resource, self.fields(target, options)
        wanted: Object | None = None

        def applied(live: Object | None) -> Object:
            nonlocal wanted
            if wanted is None:
                wanted = configuration.read()
            merged = fields.applied(live, wanted, force=configuration.force)
            # What did not change is not printed anew: opaque JSON keeps its text.
            report = Report()
            if merged.kept:
                new = copy_json(merged.obj)
            else:
                new = _restored(merged.obj, kind, report, wanted)
            if options.sent is not None:
                options.sent.empties, options.sent.merged = report.empties, True
            configuration.check()
            if kind.builtin or not merged.kept:
                # A custom resource that did not change gets no defaults of another version.
                kind.rules.default(new)
            new = _with_annotations_read(new, kind, wanted)
            check_named(target, new)
            if merged.entries:
                new["metadata"]["managedFields"] = merged.entries
            if live is None:
                new["metadata"].pop("resourceVersion", None)
            return new

        return hub_change(kind, fields, options.work, applied)

    async def delete(
        self, target: Target, chosen: DeleteOptions, options: WriteOptions
    ) -> tuple[Object, bool]:
        """Delete an object, or begin to.

        Returns:
            Its last state and whether it is gone now.

        Raises:
            ApiError: 403, 404 or 409.
        """
        return await self.lifecycle.delete(target, chosen, options)


Warn = Callable[[Iterable[str]], None]


def _defaulted(kind: Kind, body: Object, warn: Warn) -> Object:
    drop_repeated_owners(body, warn, admitted=False)
    kind.rules.default(body)
    return body


def _created(
    kind: Kind, body: Object, fields: FieldManager, warn: Warn, sent: Object | None
) -> Object:
    """An object as it is at first, but for what admission makes of it."""
    clear_system_fields(body)  # nobody owns them
    body = _defaulted(kind, body, warn)
    if sent is None:
        fields.created(body)
    else:
        fields.created(sent)
        body["metadata"] = sent["metadata"]
    return body


def check_named(target: Target, new: Object) -> None:
    """An object that is written must be the one of the path.

    Raises:
        ApiError: 400.
    """
    meta = new.get("metadata") or {}
    namespace, name = meta.get("namespace") or "", meta.get("name") or ""
    if target.resource.namespaced and namespace and namespace != target.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if not name:
        raise bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != target.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )


# ---------------------------------------------------------------------- merged objects


def _restored(obj: Object, kind: Kind, report: Report, wanted: Object) -> Object:
    """A merged object as one of its type.

    Args:
        obj: the object.
        kind: what it is of.
        report: receives what was given and is empty.
        wanted: what was applied, which messages name.

    Raises:
        ApiError: 500, as kube-apiserver has it for a value that fits the schema and not the type.
    """
    try:
        return kind.type.restore(obj, report)
    except ValueError as error:
        named, which = _shown(wanted, kind)
        raise ApiError(
            500,
            "",
            f"failed to convert new object ({which}) to proper version: unable to convert "
            f"unstructured object to {named}: {error}",
        ) from error


def _with_annotations_read(obj: Object, kind: Kind, wanted: Object) -> Object:
    """A merged object whose annotations were read.

    Raises:
        ApiError: 500, as kube-apiserver has it for what is wrong with them.
    """
    try:
        return kind.type.read_annotations(obj)
    except ValueError as error:
        _, which = _shown(wanted, kind)
        raise ApiError(500, "", f"failed to convert to unversioned ({which}): {error}") from error


def _shown(obj: Object, kind: Kind) -> tuple[str, str]:
    """The kind and the object as messages print them."""
    gvk, meta = kind.group_version_kind, obj.get("metadata") or {}
    named = f"{gvk.group}/{gvk.version}, Kind={gvk.kind}"
    return named, f"{meta.get('namespace', '')}/{meta.get('name', '')}; {named}"
