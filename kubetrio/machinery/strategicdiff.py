"""The strategic merge patch that leads from one object to another.

What clients such as ``kubectl edit`` send: members that changed, null for those that went, lists
by the rules of :mod:`kubetrio.machinery.strategicpatch` with ``$setElementOrder`` wherever a
merging list changed, and ``$retainKeys`` where a type asks for it.
"""

from __future__ import annotations

from typing import Any

from kubetrio.machinery.jsonvalues import copy_json
from kubetrio.machinery.strategicpatch import (
    DELETE_FROM,
    RETAIN_KEYS,
    SET_ORDER,
    element_of,
    field_of,
    list_field_of,
)
from kubetrio.machinery.strategicvalues import (
    MAP,
    PATCH,
    go_type,
    identity,
    item_type,
    member,
)
from kubetrio.machinery.typeschema import TypeSchema

Json = dict[str, Any]


def _same(old: Any, new: Any) -> bool:
    """Deep equality in which 1, 1.0 and true differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_same(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_same, old, new))
    return go_type(old) == go_type(new) and bool(old == new)


def _retains(field: TypeSchema) -> bool:
    return "retainKeys" in field.patch_strategy


def _diff_object(old: Json, new: Json, schema: TypeSchema, *, retain_keys: bool) -> Json:
    patch: Json = {}
    for name, value in new.items():
        before = old.get(name)
        if _same(before, value) and name in old:
            continue
        if name not in old or go_type(before) != go_type(value):
            patch[name] = value
        elif isinstance(before, dict):
            field = field_of(schema, name)
            if "replace" in field.patch_strategy:
                patch[name] = value
            elif inner := _diff_object(before, value, field, retain_keys=_retains(field)):
                patch[name] = inner
        elif isinstance(before, list):
            field = list_field_of(schema, name)
            if "merge" in field.patch_strategy:
                patch.update(_diff_list(name, before, value, field))
            else:
                patch[name] = value
        else:
            patch[name] = value
    patch.update(dict.fromkeys(name for name in old if name not in new))
    if patch and retain_keys and (kept := sorted(n for n, v in new.items() if v is not None)):
        patch[RETAIN_KEYS] = kept
    return patch


def _diff_list(name: str, old: list[Any], new: list[Any], field: TypeSchema) -> Json:
    """Members of a patch that turn one merging list into another that differs from it."""
    if not old:
        return {name: new}
    if item_type(old, new) == MAP:
        changes = _diff_items(old, new, field)
        leaving: list[Any] = []
        order = [{field.patch_merge_key: item[field.patch_merge_key]} for item in new]
    else:
        before, after = set(map(identity, old)), set(map(identity, new))
        changes = [item for item in new if identity(item) not in before]
        leaving = [item for item in old if identity(item) not in after]
        order = new
    members = {name: changes, f"{DELETE_FROM}/{name}": leaving, f"{SET_ORDER}/{name}": order}
    return {key: value for key, value in members.items() if value}


def _diff_items(old: list[Any], new: list[Any], field: TypeSchema) -> list[Any]:
    """Items of a patch: changed and new ones in their order, then directives that delete."""
    key, element, retain = field.patch_merge_key, element_of(field), _retains(field)
    before = {identity(member(item, key)): item for item in old}
    after = {identity(member(item, key)) for item in new}
    changes: list[Any] = []
    for item in new:
        known = before.get(identity(item[key]))
        if known is None:
            changes.append(item)
        elif diff := _diff_object(known, item, element, retain_keys=retain):
            changes.append({**diff, key: item[key]})
    deletions = [
        {key: item[key], PATCH: "delete"} for name, item in before.items() if name not in after
    ]
    return [*changes, *deletions]


def create_two_way_patch(old: Json, new: Json, schema: TypeSchema) -> Json:
    """The patch that makes ``new`` of ``old``.

    Args:
        old: an object; not changed.
        new: an object of the same type; not changed.  Lists that merge hold no two items that
            are equal or have the same merge key, and no value is null; the patch of others may
            lead elsewhere.
        schema: their type.

    Returns:
        The patch, empty if they are equal; it shares nothing with them.

    Raises:
        ApiError: 500, an item has no merge key, items are of several types, or a map of objects or
            a free-form value changed inside; 422, lists of lists.
    """
    patch: Json = copy_json(_diff_object(old, new, schema, retain_keys=False))
    return patch
