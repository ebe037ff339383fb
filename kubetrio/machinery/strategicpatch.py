"""Strategic merge patch as kube-apiserver applies it.

A JSON merge patch in which the type of a field says how lists merge, and members that begin with
``$`` say what a merge cannot:

=====================================  =========================================================
``$patch: replace`` or ``delete``      in an object: take the patch's, or empty it; in an item of
                                       a merging list: drop all old items, or those like it
``$deleteFromPrimitiveList/<field>``   values that leave a list
``$setElementOrder/<field>``           order of the merged list; what it does not name keeps its
                                       own
``$retainKeys``                        members to keep, all others go
=====================================  =========================================================

Lists merge in the server's mode of apimachinery's ``util/strategicpatch``: parallel lists are
carried out, not kept (``MergeParallelList``), and nulls that match nothing vanish
(``IgnoreUnmatchedNulls``).  Rules: "Strategic Merge Patch" in the API conventions and the design
proposals "add new patchStrategy to clear fields not present in the patch" and "preserve order in
strategic merge patch".  What those leave open (a directive inside a new value drops that value, a
new item keeps its nulls, ...) follows the behaviour of release 1.36.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.jsonvalues import copy_json
from kubetrio.machinery.names import GroupKind
from kubetrio.machinery.status import ApiError, Cause, bad_request, invalid
from kubetrio.machinery.strategicvalues import (
    GONE,
    LIST,
    MAP,
    PATCH,
    Places,
    arrange,
    bad_directive,
    bad_type,
    discard_nulls,
    failed,
    go_text,
    go_type,
    identity,
    item_type,
    member,
    no_merge_key,
    without_directives,
)
from kubetrio.machinery.typeschema import DEDUCED, TypeKind, TypeSchema

Json = dict[str, Any]

RETAIN_KEYS = "$retainKeys"
"""Directive: members to keep."""
DELETE_FROM = "$deleteFromPrimitiveList"
"""Prefix of a directive: values that leave a list."""
SET_ORDER = "$setElementOrder"
"""Prefix of a directive: order of a list."""
_JSON_TYPES = {"bool": "bool", "string": "string", LIST: "array"}


class Merged(NamedTuple):
    """What a patch made.

    Args:
        doc: the new object; it shares what did not change with the old one.
        rest: the patch without the directives that were carried out, which is what kube-apiserver
            prints if ``doc`` does not decode; see :func:`undecodable`.
    """

    doc: Json
    rest: Json


def _go_kind(schema: TypeSchema) -> str:
    """Go's word for a type.

    A free-form value is a struct without members there: ``RawExtension``, ``JSON``.
    """
    if schema.kind is TypeKind.SCALAR:
        return "string"
    element = schema.element
    is_map = not schema.fields and element is not None and element.kind is not TypeKind.DEDUCED
    return "map" if is_map else "struct"


def field_of(schema: TypeSchema, name: str) -> TypeSchema:
    """The type of a member of an object.

    Raises:
        ApiError: 500, there is no such member: the object is a map, or free-form.
    """
    kind = _go_kind(schema)
    if kind != "struct":
        raise failed(f"merging an object in json but data type is not struct, instead is: {kind}")
    field = schema.fields.get(name)
    if field is None:
        # As Go's decoder finds members; it is the decoder that does not.
        folded = name.casefold()
        field = next((f for key, f in schema.fields.items() if key.casefold() == folded), None)
    if field is None:
        # What is free-form and has no name is nearly always this one.
        struct = schema.go_name or ("" if schema.fields else "RawExtension")
        raise failed(
            f"unable to find api field in struct {struct} for the json field {quote(name)}"
        )
    return field


def list_field_of(schema: TypeSchema, name: str) -> TypeSchema:
    """The type of a member that is a list.

    Raises:
        ApiError: 500, there is no such member or it is not a list.
    """
    field = field_of(schema, name)
    if field.kind is not TypeKind.LIST:
        raise failed("expected slice or array type, but got: struct")
    return field


def element_of(field: TypeSchema) -> TypeSchema:
    """The type of the items of a list."""
    return field.element or DEDUCED


def undecodable(rest: Json, why: str) -> ApiError:
    """422: the patched object does not decode.

    Args:
        rest: of :class:`Merged`.
        why: a decoding error, such as ``strict decoding error: unknown field "spec.x"``.
    """
    detail = f"Invalid value: {quote(go_text(rest))}: {why}"
    return invalid(GroupKind("", ""), "", [Cause("FieldValueInvalid", detail, "patch")])


# Merging.  The patch is the caller's own copy: directives leave it as they are carried out.


def _retain(out: Json, patch: Json) -> None:
    """Carry out ``$retainKeys``."""
    if RETAIN_KEYS not in patch:
        return
    keys = patch.pop(RETAIN_KEYS)
    if not isinstance(keys, list):
        raise bad_request("invalid patch format of retainKeys")
    kept = {identity(key)[1] for key in keys}
    for name, value in patch.items():
        directive = name.startswith((DELETE_FROM, SET_ORDER))
        if value is not None and not directive and name not in kept:
            raise bad_request("invalid patch format of retainKeys")
    for name in [name for name in out if name not in kept]:
        del out[name]


def _check_order(items: list[Any], order: list[Any], key: str) -> None:
    """Items of a patch must be in the order that it sets.

    Raises:
        ApiError: 500, they are not, or one lacks the merge key.
    """
    if not items or not order:
        return
    changed = items
    if key:
        for item in items:
            if not isinstance(item, dict):
                raise bad_type(MAP, item)
        changed = [item for item in items if item.get(PATCH) != "delete"]
    at = place = 0
    while at < len(changed) and place < len(order):
        item = changed[at]
        if isinstance(item, dict) and PATCH in item:
            at += 1
            continue
        if _same_item(item, order[place], key):
            at += 1
        place += 1
    if at < len(changed) and place >= len(order):
        raise failed(
            f"The order in patch list:\n{go_text(items)}\n doesn't match {SET_ORDER} list:\n"
            f"{go_text(order)}\n"
        )


def _same_item(one: Any, two: Any, key: str) -> bool:
    if not key:
        return identity(one) == identity(two)
    for item in (one, two):
        if not isinstance(item, dict):
            raise bad_type(MAP, item)
    return identity(member(one, key)) == identity(member(two, key))


def _set_orders(out: Json, patch: Json, schema: TypeSchema) -> None:
    """Merge the lists that come with ``$setElementOrder``."""
    for directive in [name for name in patch if name.startswith(SET_ORDER)]:
        order = patch.pop(directive)
        if not isinstance(order, list):
            raise bad_type(LIST, order)
        prefix, slash, name = directive.partition("/")
        if not slash or prefix != SET_ORDER:
            raise bad_request("invalid patch format of setElementOrder list")
        for holder in (out, patch):
            if name in holder and not isinstance(holder[name], list):
                raise bad_type(LIST, holder[name])
        present, changes = out.get(name), patch.get(name)
        field = list_field_of(schema, name)
        _check_order(changes or [], order, field.patch_merge_key)
        if changes is None:
            if present is None:
                continue
            merged = present
        elif present is None:
            merged = without_directives(changes)
        else:
            merged = _merge_list(present, changes, field)
        item_type(present or [], changes or [])
        out[name] = arrange(merged, order, present or [], field.patch_merge_key)
        patch.pop(name, None)


def _merge_object(doc: Json, patch: Json, schema: TypeSchema) -> Json:
    """Merge an object of a patch into one of a document."""
    if PATCH in patch:
        if patch[PATCH] == "replace":
            del patch[PATCH]
            return patch
        if patch[PATCH] == "delete":
            return {}
        raise bad_directive(patch[PATCH], patch)
    out = dict(doc)
    _retain(out, patch)
    _set_orders(out, patch, schema)
    for name, value in patch.items():
        deletes = name.startswith(DELETE_FROM)
        if deletes:
            prefix, slash, field_name = name.partition("/")
            if not slash or prefix != DELETE_FROM:
                raise bad_request("invalid patch format of primitive list")
            name = field_name or name
        present: Any = out.get(name)
        if value is None:
            out.pop(name, None)
        elif go_type(present) != go_type(value):
            if not deletes:
                _take(out, name, value)
        elif isinstance(value, dict):
            field = field_of(schema, name)
            if "replace" in field.patch_strategy:
                out[name] = value
            else:
                out[name] = _merge_object(present, value, field)
        elif isinstance(value, list):
            field = list_field_of(schema, name)
            out[name] = _merge_list(present, value, field, deletes=deletes)
        else:
            out[name] = value
    return out


def _take(out: Json, name: str, value: Any) -> None:
    """Set what the document does not have, or has with another type."""
    discard_nulls(value)
    settled = without_directives(value)
    if settled is GONE:
        out.pop(name, None)
    else:
        out[name] = settled


def _merge_list(
    present: list[Any], patch: list[Any], field: TypeSchema, *, deletes: bool = False
) -> list[Any]:
    """Merge a list of a patch into one of a document.

    Args:
        present: the document's.
        patch: the patch's.
        field: how they merge.
        deletes: whether the patch's values leave the list.
    """
    if "merge" not in field.patch_strategy and not deletes:
        return patch
    if not present and not patch:
        return present
    key = field.patch_merge_key
    if item_type(present, patch) == MAP:
        if not key:
            raise failed(f"cannot merge lists without merge key for {_go_kind(element_of(field))}")
        present, patch = _carry_out(present, patch, key)
        merged = _merge_items(present, patch, field)
    elif deletes:
        gone = {identity(item) for item in patch}
        return [item for item in present if identity(item) not in gone]
    else:
        merged = list({identity(item): item for item in [*present, *patch]}.values())
    return arrange(merged, patch, present, key)


def _carry_out(present: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Carry out the directives of items.

    Returns:
        What is left of the document's list, and items of the patch that are no directives.
    """
    changes: list[Any] = []
    gone = set()
    replace = False
    for item in patch:
        directive = item.get(PATCH)
        if PATCH not in item:
            changes.append(item)
        elif directive == "delete":
            if key not in item:
                raise no_merge_key(item, key)
            gone.add(identity(item[key]))
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise failed("merging lists cannot yet be specified in the patch")
        else:
            raise bad_directive(directive, item)
    if replace:
        return changes, []
    left = [item for item in present if key not in item or identity(item[key]) not in gone]
    return left, changes


def _merge_items(present: list[Any], patch: list[Any], field: TypeSchema) -> list[Any]:
    """Merge objects with equal merge keys; the others are added at the end."""
    out = list(present)
    places = Places(out, field.patch_merge_key)
    for item in patch:
        member(item, field.patch_merge_key)
        place = places.find(item)
        if place is None:
            places.add(item, len(out))
            out.append(item)
        else:
            out[place] = _merge_object(out[place], item, element_of(field))
    return out


def merge_strategic_patch(doc: Json, patch: Any, schema: TypeSchema) -> Merged:
    """Apply a strategic merge patch, and keep what is left of it.

    Args:
        doc: an object; not changed.
        patch: the patch as parsed from JSON; not changed.
        schema: type of the object.

    Raises:
        ApiError: 400 the patch or a directive has no such form, 422 lists of lists, 500 an item
            without merge key, an unknown ``$patch``, items of several types, a list that is not in
            the order it sets, a map or free-form value that would have to be merged.
    """
    if patch is None:
        return Merged(doc, {})
    if not isinstance(patch, dict):
        word = _JSON_TYPES.get(go_type(patch), "number")
        raise bad_request(f"json: cannot unmarshal {word} into Go value of type {MAP}")
    rest = copy_json(patch)
    return Merged(_merge_object(doc, rest, schema), rest)


def apply_strategic_patch(doc: Json, patch: Any, schema: TypeSchema) -> Json:
    """Apply a strategic merge patch.

    Args:
        doc: an object; not changed.
        patch: the patch as parsed from JSON; not changed.
        schema: type of the object.

    Returns:
        The new object; it shares what did not change with the old one.

    Raises:
        ApiError: as for :func:`merge_strategic_patch`.
    """
    return merge_strategic_patch(doc, patch, schema).doc
