"""Server-side apply: the new object and its owners, from the live object and what is applied.

An applied object says all that its manager wants to say.  So it is merged into the live object,
what the same manager said before and does not say now is taken out unless another manager owns it,
and changing what others own is a conflict unless it is forced.  Source: KEP-555 and the
documentation of Server-Side Apply.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from kubetrio.machinery.applymerge import merge, without
from kubetrio.machinery.applyvalues import TypedError, field_set
from kubetrio.machinery.fieldpath import path_text
from kubetrio.machinery.fieldset import EMPTY, SELF, FieldSet, Node, is_member
from kubetrio.machinery.ownership import (
    NEVER_OWNED,
    UPDATE,
    ApplyConflict,
    Conflict,
    ConversionError,
    Manager,
    Owned,
    Owners,
    Rules,
    Typed,
    reconcile,
    transfer,
)
from kubetrio.machinery.status import ApiError, Cause
from kubetrio.machinery.typeschema import TypeKind, TypeSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The outcome of an apply.

    Args:
        typed: the new object; the live one itself if nothing changed.
        owners: after the apply; the time of the manager is still the old one.
    """

    typed: Typed
    owners: dict[Manager, Owned]


def apply(
    live: Typed, config: Typed, owners: Owners, manager: Manager, *, rules: Rules, force: bool
) -> Merged:
    """Apply an object.

    Args:
        live: the object as it is.
        config: what is applied, checked with ``applyvalues.validate``; in the version of ``live``.
        owners: of the live object.
        manager: who applies.
        rules: of the resource.
        force: whether to take what others own.

    Raises:
        ApplyConflict: others own what would change, and it is not forced.
        ConversionError: an object cannot be had in the version of an owner.
        TypedError: the live object has a list with an item without a key.
    """
    before = reconcile(owners, live, rules)
    last = before.get(manager)
    sent = rules.keep(field_set(config.value, config.schema))
    claimed = sent.difference(NEVER_OWNED)
    merged = live._replace(value=merge(live.value, config.value, live.schema))
    now = {
        **before,
        manager: Owned(claimed, config.api_version, None if last is None else last.time),
    }
    if last is not None and last.fields:
        # The name and its like are never owned, and yet claimed by each client that sends them:
        # without that, giving up the last label would take all of metadata along.
        asking = {**now, manager: now[manager]._replace(fields=sent)}
        try:
            merged = _prune(merged, asking, manager, last, rules)
        except ConversionError as error:
            raise ConversionError(f"failed to prune fields: {error}") from error
    after, _ = transfer(now, manager, live, merged, rules=rules, force=force)
    if merged.value == live.value:
        merged = live
    return Merged(typed=merged, owners=after)


def _prune(merged: Typed, owners: Owners, manager: Manager, last: Owned, rules: Rules) -> Typed:
    """Take out what the manager owned, does not claim now, and no other manager owns."""
    claimed = owners[manager]
    if last.api_version == claimed.api_version and not last.fields.difference(claimed.fields):
        return merged
    at_last = "failed to convert {} object to last applied version"
    then = _at(merged, last.api_version, rules, at_last.format("merged"))
    if then is None:
        return merged
    schema = then.schema
    gone = _named(last.fields, schema)
    pruned = then._replace(value=without(then.value, gone, schema))
    given_back = _at(
        _give_back(then, pruned, owners, rules),
        last.api_version,
        rules,
        f"failed add back dangling items: {at_last.format('pruned')}",
    )
    if given_back is not None:
        # Only what the manager owned may go: what is in it without an owner stays.
        kept = _named(_fields_of(given_back), schema)
        missing = _named(_fields_of(then), schema).difference(kept).intersection(gone)
        then = then._replace(value=without(then.value, missing, schema))
    return _at(then, claimed.api_version, rules) or merged


def _at(typed: Typed, api_version: str, rules: Rules, why: str = "") -> Typed | None:
    """An object in a version, None where that is not served.

    Raises:
        ConversionError: it cannot be had in it; the text begins with `why`.
    """
    try:
        return rules.at(typed, api_version)
    except TypedError as error:
        raise ConversionError(f"{why}: {error}" if why else str(error)) from error


def _give_back(merged: Typed, pruned: Typed, owners: Owners, rules: Rules) -> Typed:
    """Put back what managers own, version by version, that of the pruned object first.

    Both objects go on from one version to the next, so that what is put back in one of them is
    there in all that follow; what comes back is in the last of them.
    """
    owned: dict[str, FieldSet] = {merged.api_version: EMPTY}
    for each in owners.values():
        owned[each.api_version] = owned.get(each.api_version, EMPTY).union(each.fields)
    failed = "failed add back owned items: failed to convert {} object at version {}"
    for version, fields in owned.items():
        whole = _at(merged, version, rules, failed.format("merged", version))
        part = _at(pruned, version, rules, failed.format("pruned", version))
        if whole is None or part is None:
            continue
        schema = whole.schema
        kept = _named(_fields_of(part), schema).union(_named(fields, schema))
        gone = _named(_fields_of(whole), schema).difference(kept)
        merged, pruned = whole, whole._replace(value=without(whole.value, gone, schema))
    return pruned


def _fields_of(typed: Typed) -> FieldSet:
    return field_set(typed.value, typed.schema)


def _named(fields: FieldSet, schema: TypeSchema) -> FieldSet:
    """A set with the declared members on the way to its paths, which claims leave out."""
    return FieldSet(_with_named(fields.root, schema))


def _with_named(node: Node, schema: TypeSchema | None) -> Node:
    out: Node = {}
    for step, child in node.items():
        if not child:
            out[step] = child
            continue
        inner: TypeSchema | None = None
        named = False
        if schema is not None and step[0] == "f":
            inner = schema.member(step[2:])
            named = step[2:] in schema.fields
        elif schema is not None and schema.kind is not TypeKind.MAP:
            inner = schema.element
        below = _with_named(child, inner)
        out[step] = {SELF: below.get(SELF, {}), **below} if named or is_member(child) else below
    return out


def conflict_error(conflicts: tuple[Conflict, ...] | ApplyConflict) -> ApiError:
    """409 with a cause for each field, in kube-apiserver's words."""
    if isinstance(conflicts, ApplyConflict):
        conflicts = conflicts.conflicts
    causes = [
        Cause("FieldManagerConflict", f"conflict with {_owner(each)}", path_text(each.path))
        for each in conflicts
    ]
    return ApiError(
        409,
        "Conflict",
        _conflict_message(conflicts),
        {"causes": [cause.as_dict() for cause in causes]},
    )


def _conflict_message(conflicts: tuple[Conflict, ...]) -> str:
    if len(conflicts) == 1:
        only = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {_owner(only)}: {path_text(only.path)}"
    lines: list[str] = []
    for each in conflicts:
        heading = f"conflicts with {_owner(each)}:"
        if heading not in lines:
            lines.append(heading)
        lines.append(f"- {path_text(each.path)}")
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def _owner(conflict: Conflict) -> str:
    manager = conflict.manager
    text = json.dumps(manager.name, ensure_ascii=False)
    if manager.subresource:
        text += f" with subresource {json.dumps(manager.subresource, ensure_ascii=False)}"
    return f"{text} using {conflict.api_version}" if manager.operation == UPDATE else text
