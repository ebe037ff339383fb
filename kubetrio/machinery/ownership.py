"""Who owns which fields of one object, and how that changes with each write.

The rules are those of KEP-555: the manager that changes a field owns it, and who owned it before
does not; what an object no longer has has no owner.  Owners may have written in another version of
the API: then both objects are compared in that version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kubetrio.machinery.applycompare import Comparison, compare
from kubetrio.machinery.applyvalues import TypedError, validate
from kubetrio.machinery.fieldpath import Path
from kubetrio.machinery.fieldset import LEAF, SELF, FieldSet, Node
from kubetrio.machinery.typeschema import TypeKind, TypeSchema

Json = dict[str, Any]

APPLY = "Apply"
UPDATE = "Update"

# What the server sets or the path says; no manager owns it.
NEVER_OWNED = FieldSet.of(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    ("f:metadata", "f:name"),
    ("f:metadata", "f:namespace"),
    ("f:metadata", "f:creationTimestamp"),
    ("f:metadata", "f:selfLink"),
    ("f:metadata", "f:uid"),
    ("f:metadata", "f:clusterName"),
    ("f:metadata", "f:generation"),
    ("f:metadata", "f:managedFields"),
    ("f:metadata", "f:resourceVersion"),
)


class Manager(NamedTuple):
    """What tells one owner from another.

    Args:
        name: the field manager of the request.
        operation: ``Apply`` or ``Update``.
        api_version: of updates; empty for applies, which are one owner in all versions.
        subresource: that was written, or empty.
    """

    name: str
    operation: str
    api_version: str
    subresource: str


class Owned(NamedTuple):
    """What one manager owns.

    Args:
        fields: the paths, as they are in ``api_version``.
        api_version: version of the API in which they were written.
        time: of the last change, RFC 3339, or None.
    """

    fields: FieldSet
    api_version: str
    time: str | None

    def less(self, fields: FieldSet) -> Owned:
        """Without these paths; the same value if there is none of them."""
        rest = self.fields.difference(fields)
        return self if rest is self.fields else self._replace(fields=rest)


Owners = Mapping[Manager, Owned]


class Typed(NamedTuple):
    """An object in one version of the API."""

    value: Json
    schema: TypeSchema
    api_version: str


Convert = Callable[[Json, str], tuple[Json, TypeSchema] | None]
"""Converts an object to an ``apiVersion``; None says that the version is not served (any more)."""

FieldFilter = Callable[[FieldSet], FieldSet]
"""Leaves out the fields that a request may not set, such as ``status`` of the main resource."""


def no_conversion(value: Json, api_version: str) -> None:
    """The conversion of a kind with one version."""
    del value, api_version


def all_fields(fields: FieldSet) -> FieldSet:
    """The filter that lets every field pass."""
    return fields


def excluding(*paths: Path) -> FieldFilter:
    """A filter that leaves out these paths and all below them."""
    out = FieldSet.of(*paths)
    return lambda fields: fields.recursive_difference(out)


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field that another manager owns and that an apply would change.

    Args:
        manager: the owner.
        api_version: in which the owner wrote.
        path: the field.
    """

    manager: Manager
    api_version: str
    path: Path


class ConversionError(TypedError):
    """An object does not fit its type in a version in which a manager owns fields of it.

    Args:
        message: in kube-apiserver's words.
    """

    def __init__(self, message: str) -> None:
        super().__init__([("", message)])


class ApplyConflict(Exception):
    """An apply that is not forced would change what others own.

    Args:
        conflicts: ordered by manager and path.
    """

    def __init__(self, conflicts: tuple[Conflict, ...]) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts = conflicts


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What ownership of a resource depends on beside its type.

    Args:
        convert: between versions of the kind.
        keep: filter of the fields that can be owned through this (sub)resource.
        kept_in: versions in which changes are filtered too when others lose what they owned; None
            for all of them.
    """

    convert: Convert = no_conversion
    keep: FieldFilter = all_fields
    kept_in: frozenset[str] | None = None

    def at(self, typed: Typed, api_version: str) -> Typed | None:
        """An object in a version, or None where that version is not served.

        Raises:
            TypedError: it cannot be converted, or holds what the schema there does not have.
        """
        if typed.api_version == api_version:
            return typed
        converted = self.convert(typed.value, api_version)
        if converted is None:
            return None
        validate(*converted)
        return Typed(*converted, api_version)


ONE_VERSION = Rules()
"""The rules of a kind with one version, all of whose fields can be set."""


def transfer(
    owners: Owners, manager: Manager, old: Typed, new: Typed, *, rules: Rules, force: bool
) -> tuple[dict[Manager, Owned], Comparison]:
    """Take from all other managers what a write changes.

    Args:
        owners: before the write.
        manager: who writes; its own fields are left as they are.
        old: the object before.
        new: the object after, in the same version.
        rules: of the resource.
        force: whether to take fields that others own.

    Returns:
        Owners that are left with something, and what the write changed.

    Raises:
        ApplyConflict: others own what would change, and it is not forced.
        TypedError: the objects cannot be compared.
    """
    changes: dict[str, Comparison | None] = {old.api_version: _changes(old, new, rules)}
    out: dict[Manager, Owned] = {}
    conflicts: list[Conflict] = []
    for other, owned in owners.items():
        if other == manager:
            if owned.fields:
                out[other] = owned
            continue
        version = owned.api_version
        if version not in changes:
            changes[version] = _changes_at(version, old, new, rules)
        change = changes[version]
        if change is None:
            continue
        taken = owned.fields.intersection(change.set_now)
        if taken and not force:
            conflicts += [Conflict(other, version, path) for path in taken]
        left = owned.less(taken).less(change.removed)
        if left.fields:
            out[other] = left
    if conflicts:
        conflicts.sort(key=lambda conflict: conflict.manager)
        raise ApplyConflict(tuple(conflicts))
    own = changes[old.api_version]
    assert own is not None  # noqa: S101 (it was put there above)
    return out, own


def _changes(old: Typed, new: Typed, rules: Rules) -> Comparison:
    changes = compare(old.value, new.value, old.schema)
    if not changes or rules.keep is all_fields:
        return changes
    if rules.kept_in is not None and old.api_version not in rules.kept_in:
        return changes
    return Comparison(
        rules.keep(changes.added), rules.keep(changes.modified), rules.keep(changes.removed)
    )


def _changes_at(api_version: str, old: Typed, new: Typed, rules: Rules) -> Comparison | None:
    before, after = (
        _fitting(api_version, old, "old", rules),
        _fitting(api_version, new, "new", rules),
    )
    return None if before is None or after is None else _changes(before, after, rules)


def _fitting(api_version: str, typed: Typed, which: str, rules: Rules) -> Typed | None:
    try:
        return rules.at(typed, api_version)
    except TypedError as error:
        raise ConversionError(f"failed to convert {which} object: {error}") from error


def track_update(
    owners: Owners, manager: Manager, old: Typed, new: Typed, *, rules: Rules, now: str
) -> dict[Manager, Owned]:
    """Owners after a write that is not an apply.

    Args:
        owners: before the write.
        manager: who writes.
        old: the object before.
        new: the object after, in the same version.
        rules: of the resource.
        now: time for the manager's entry, if it took something.

    Raises:
        TypedError: the objects cannot be compared.
    """
    out, change = transfer(owners, manager, old, new, rules=rules, force=True)
    taken = change.set_now.difference(NEVER_OWNED)
    before = owners.get(manager)
    # What the manager itself removed is not its any more, as with all others.
    if before is not None and change.removed:
        left = before.less(change.removed)
        if left.fields:
            out[manager] = left
        else:
            out.pop(manager, None)
    if taken:
        held = out.get(manager)
        fields = taken if held is None else held.fields.union(taken)
        out[manager] = Owned(fields, new.api_version, now)
    return out


def reconcile(owners: Owners, typed: Typed, rules: Rules) -> dict[Manager, Owned]:
    """Owners in terms of today's types.

    Where a type became atomic after fields in it were taken, their owner owns it as a whole.  An
    owner in a version that is not served any more is left alone.

    Raises:
        ConversionError: the object cannot be had in the version of an owner.
    """
    out: dict[Manager, Owned] = {}
    schemas: dict[str, TypeSchema | None] = {}
    for manager, owned in owners.items():
        version = owned.api_version
        if version not in schemas:
            try:
                at_version = rules.at(typed, version)
            except TypedError as error:
                raise ConversionError(str(error)) from error
            schemas[version] = None if at_version is None else at_version.schema
        schema = schemas[version]
        if schema is not None and owned.fields.fits is not schema:
            root = _reconciled(owned.fields.root, schema)
            if root is not owned.fields.root:
                owned = owned._replace(fields=FieldSet(root))
            owned.fields.fits = schema
        out[manager] = owned
    return out


def _reconciled(node: Node, schema: TypeSchema) -> Node:
    if schema.atomic:
        return LEAF
    if schema.kind is TypeKind.DEDUCED:
        return node
    out: Node | None = None
    for step, child in node.items():
        if not child or step == SELF:
            continue
        inner = schema.member(step[2:]) if step[0] == "f" else schema.element
        if inner is None:
            continue
        child_set = _reconciled(child, inner)
        if child_set is not child:
            out = dict(node) if out is None else out
            out[step] = child_set
    return node if out is None else out
