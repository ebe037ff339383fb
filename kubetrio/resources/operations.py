"""Writes as clients mean them, over values: each chooses a recipe (`resources.recipe`).

HTTP verbs decode before and encode after; the in-process client, the bootstrap and controllers call
the same.

Source: API conventions; docs "API concepts" and "Server-Side Apply".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kubetrio.admission.attributes import Operation
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.jsonvalues import copy_json
from kubetrio.machinery.status import ApiError, bad_request, not_found
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources import recipe
from kubetrio.resources.deciding import attributes_of
from kubetrio.resources.fieldmanager import FieldManager, Unconverted
from kubetrio.resources.write import Change, MakeFromAny, Write, WriteParts
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
    """Writes of one server, as a client means them: each chooses a recipe.

    Args:
        parts: what the steps of the recipes use.
    """

    def __init__(self, parts: WriteParts) -> None:
        self.parts = parts

    def fields(self, target: Target, options: WriteOptions) -> FieldManager:
        """Return what tracks the fields that a write sets."""
        now = format_time(self.parts.env.now())
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
        write = Write(self.parts, target, options, body)
        write.fields, write.sent = self.fields(target, options), sent
        return await recipe.create(write)

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
        fields = self.fields(target, options)

        def replaced(old: Object | None) -> Object:
            new = {**body, "metadata": dict(body.get("metadata") or {})}
            if old is None:
                fields.created(new)
            else:
                fields.updated(old, new, options.empties)
            return new

        write = Write(self.parts, target, options, body)
        write.fields, write.make, write.uid_is_precondition = fields, replaced, True
        await recipe.follow(recipe.OPEN_REPLACEMENT, write)
        return await recipe.update(write)

    async def patch(self, target: Target, make: Make, options: WriteOptions) -> Written:
        """Change an object in part; again, when another write came between.

        Args:
            target: the object.
            make: the new object from the stored one.
            options: who writes, and how.

        Raises:
            ApiError: 400, 403, 404, 409 or 422, and what `make` raises.
        """
        write = Write(self.parts, target, options, {})
        write.fields = self.fields(target, options)
        write.make = _patched(target, make, options, write.fields)
        return await recipe.update(write)

    def patching(self, target: Target, make: Make, options: WriteOptions) -> Change:
        """Return the change that a patch makes of a view of an object."""
        fields = self.fields(target, options)
        return _of_view(_patched(target, make, options, fields), options, fields)

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
        write = Write(self.parts, target, options, {})
        write.fields, write.applied = self.fields(target, options), True
        write.make = _applied(target, configuration, options, write.fields)
        return await recipe.update(write)

    def applying(
        self, target: Target, configuration: Configuration, options: WriteOptions
    ) -> Change:
        """Return the change that an apply makes of a view of an object."""
        fields = self.fields(target, options)
        return _of_view(_applied(target, configuration, options, fields), options, fields)

    async def change(
        self, target: Target, change: Change, options: WriteOptions, *, uid_is_precondition: bool
    ) -> Written:
        """Replace an object by what a change that may wait makes of it, as that of a view does.

        Args:
            target: the object.
            change: makes the new object, in the version in which writes of the kind work.
            options: who writes, and how.
            uid_is_precondition: whether uid and version in the new object name the object meant
                (PUT), or come from the stored one, so that another uid is a change that is refused
                and the version is insisted on only when it is another (PATCH).

        Raises:
            ApiError: 400, 403, 404, 409 or 422, and what `change` raises.
        """
        write = Write(self.parts, target, options, {})
        write.change, write.uid_is_precondition = change, uid_is_precondition
        return await recipe.update(write, recipe.CHANGE)

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
        attributes = attributes_of(
            Operation.UPDATE, target, options, new=new, old=old, name=target.name
        )
        await self.parts.admission.mutate(attributes)
        return attributes.obj or new

    async def delete(
        self, target: Target, chosen: DeleteOptions, options: WriteOptions
    ) -> tuple[Object, bool]:
        """Delete an object, or begin to.

        Args:
            target: the object.
            chosen: how.
            options: who deletes.

        Returns:
            Its last state and whether it is gone now.

        Raises:
            ApiError: 403, 404 or 409.
        """
        write = Write(self.parts, target, options._replace(dry_run=chosen.dry_run), {})
        write.deletion = chosen
        return await recipe.delete(write)

    async def delete_as_server(self, target: Target, chosen: DeleteOptions) -> None:
        """Delete an object, or begin to, where admission was asked about what led to it.

        Raises:
            ApiError: 404 or 409.
        """
        options = WriteOptions(user=UserInfo(""), dry_run=chosen.dry_run)
        write = Write(self.parts, target, options, {})
        write.deletion = chosen
        await recipe.delete(write, recipe.DELETE_AS_SERVER)


def _patched(
    target: Target, make: Make, options: WriteOptions, fields: FieldManager
) -> MakeFromAny:
    kind = target.resource

    def patched(old: Object | None) -> Object:
        if old is None:
            raise not_found(kind.group_resource, target.name)
        new = make(old)
        kind.rules.default(new)
        check_named(target, new)
        fields.updated(old, new, options.empties)
        return new

    return patched


def _applied(
    target: Target, configuration: Configuration, options: WriteOptions, fields: FieldManager
) -> MakeFromAny:
    kind = target.resource
    applying: Object | None = None

    def applied(live: Object | None) -> Object:
        nonlocal applying
        if applying is None:
            applying = configuration.read()
        if live is not None and not live["metadata"].get("uid"):
            live = None  # as for kube-apiserver, which takes it for one that is not there
        merged = fields.applied(live, applying, force=configuration.force)
        # What did not change is not printed anew: opaque JSON keeps its text.
        report = Report()
        kept = merged.kept
        new = copy_json(merged.obj) if kept else _restored(merged.obj, kind, report, applying)
        if options.sent is not None:
            options.sent.empties, options.sent.merged = report.empties, True
        configuration.check()
        if kind.builtin or not kept:
            # A custom resource that did not change gets no defaults of another version.
            kind.rules.default(new)
        new = _with_annotations_read(new, kind, applying)
        check_named(target, new)
        if merged.entries:
            new["metadata"]["managedFields"] = merged.entries
        if live is None:
            new["metadata"].pop("resourceVersion", None)
        return new

    return applied


def _of_view(make: MakeFromAny, options: WriteOptions, fields: FieldManager) -> Change:
    """Return a change of a view as one that may wait for what ownership needs."""

    async def change(old: Object | None) -> Object:
        while True:
            try:
                return await options.work(make, old)
            except Unconverted as missing:
                await fields.learn(missing)

    return change


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
