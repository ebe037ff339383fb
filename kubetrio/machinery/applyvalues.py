"""Values seen through their type: which field a list item is, and whether a value fits.

Source: KEP-555 and the documentation of Server-Side Apply, "Merge strategy".  Messages are those
that kube-apiserver puts behind ``failed to create typed patch object``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from kubetrio.gotext.text import go_literal, go_type, go_value
from kubetrio.machinery import fieldpath
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.fieldset import LEAF, SELF, FieldSet, Node
from kubetrio.machinery.typeschema import Scalar, TypeKind, TypeSchema

Json = dict[str, Any]


class TypedError(ValueError):
    """A value does not fit its type.

    Args:
        problems: path of the field in Kubernetes' notation (or empty) and what is wrong with it.
    """

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        texts = [f"{path}: {text}" if path else text for path, text in problems]
        super().__init__(texts[0] if len(texts) == 1 else "\n  ".join(["errors:", *texts]))
        self.problems = tuple(problems)


def step_of(item: Any, schema: TypeSchema) -> str:
    """The step that identifies an item of a set or of a list with keys.

    Args:
        item: the item.
        schema: type of the list; not an atomic one.

    Raises:
        TypedError: the item lacks a key field, or is of the wrong form; the path is empty.
    """
    if schema.list_type == "map":
        return _keyed_step(item, schema)
    if isinstance(item, dict):
        raise _problem("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise _problem("not supported: associative list with lists as elements")
    if item is None:
        raise _problem("associative list without keys has an element that's an explicit null")
    return fieldpath.value(item)


def _keyed_step(item: Any, schema: TypeSchema) -> str:
    if not isinstance(item, dict):
        if item is None:
            raise _problem("associative list with keys may not have a null element")
        raise _problem("associative list with keys may not have non-map elements")
    members = []
    for name in schema.keys:
        if name in item:
            members.append((name, item[name]))
        elif name in schema.key_defaults:
            members.append((name, schema.key_defaults[name]))
    # A key that is not there makes another item than one that is.
    if not members:
        names = " ".join(map(quote, schema.keys))
        raise _problem(
            f"associative list with keys has an element that omits all key fields [{names}]"
            " (and doesn't have default values for any key fields)"
        )
    return fieldpath.key(members)


def _problem(text: str) -> TypedError:
    return TypedError([("", text)])


def form_of(value: Any, schema: TypeSchema) -> TypeKind:
    """The form in which a value is treated: that of its type, or its own where none is declared."""
    if schema.kind is not TypeKind.DEDUCED:
        return schema.kind
    if isinstance(value, dict):
        return TypeKind.MAP
    if isinstance(value, list):
        return TypeKind.LIST
    return TypeKind.SCALAR


def is_leaf(value: Any, schema: TypeSchema) -> bool:
    """Whether a value is owned as a whole: scalars, atomic and empty ones."""
    if not value or schema.atomic:
        return True
    if isinstance(value, dict):
        return schema.kind is TypeKind.SCALAR or schema.kind is TypeKind.LIST
    return not isinstance(value, list) or schema.kind is not TypeKind.LIST


_DUPLICATE = "duplicate entries for key "


_SCALARS: Mapping[Scalar, frozenset[type]] = {
    "string": frozenset({str}),
    "numeric": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "untyped": frozenset({str, int, float, bool}),
}


def _fits(value: Any, schema: TypeSchema) -> bool:
    """Whether a value surely fits its type, but for items that share a key.

    Without paths, and so in a fraction of the time that `_validate` takes.
    """
    if value is None or schema.kind is TypeKind.DEDUCED:
        return True
    if schema.kind is TypeKind.SCALAR:
        return type(value) in _SCALARS[schema.scalar]
    if schema.kind is TypeKind.LIST:
        return type(value) is list and _items_fit(value, schema)
    if type(value) is not dict:
        return False
    fields, element = schema.fields, schema.element
    for name, member in value.items():
        inner = fields.get(name) or element
        if inner is None:
            return False
        if inner.kind is TypeKind.SCALAR:
            if member is not None and type(member) not in _SCALARS[inner.scalar]:
                return False
        elif not _fits(member, inner):
            return False
    return True


def _items_fit(items: list[Any], schema: TypeSchema) -> bool:
    if schema.list_type == "map" and not schema.key_defaults:
        keys = schema.keys
        if not all(type(item) is dict and any(key in item for key in keys) for item in items):
            return False
    elif schema.list_type != "atomic" and not all(
        type(item) is dict if schema.list_type == "map" else type(item) not in _NO_VALUES
        for item in items
    ):
        return False
    element = schema.element
    return element is None or all(_fits(item, element) for item in items)


_NO_VALUES = frozenset({dict, list, type(None)})


def validate(value: Any, schema: TypeSchema, *, duplicates: bool = False) -> None:
    """Check that an object fits its type and that no list has two items with one key.

    Args:
        value: the object.
        schema: its type.
        duplicates: let lists have two items with one key.

    Raises:
        TypedError: listing every problem; of unknown members, the first of each object.
    """
    if duplicates and _fits(value, schema):
        return
    problems: list[tuple[str, str]] = []
    _validate(value, schema, "", problems)
    if duplicates and problems:
        problems = [one for one in problems if not one[1].startswith(_DUPLICATE)]
    if problems:
        raise TypedError(problems)


def _validate(value: Any, schema: TypeSchema, path: str, problems: list[tuple[str, str]]) -> None:
    if value is None:
        return
    kind = form_of(value, schema)
    match kind:
        case TypeKind.SCALAR | TypeKind.DEDUCED:
            _validate_scalar(value, schema, path, problems)
        case TypeKind.LIST:
            _validate_list(value, schema, path, problems)
        case TypeKind.MAP:
            _validate_map(value, schema, path, problems)
        case _:
            assert_never(kind)


def _validate_map(
    value: Any, schema: TypeSchema, path: str, problems: list[tuple[str, str]]
) -> None:
    if not isinstance(value, dict):
        problems.append((path, f"expected map, got {go_value(value)}"))
        return
    for name, member in value.items():
        inner = schema.member(name)
        if inner is None:
            problems.append((f"{path}.{name}", "field not declared in schema"))
            return
        _validate(member, inner, f"{path}.{name}", problems)


def _validate_list(
    value: Any, schema: TypeSchema, path: str, problems: list[tuple[str, str]]
) -> None:
    if not isinstance(value, list):
        problems.append((path, f"expected list, got {go_value(value)}"))
        return
    element = schema.element
    seen = set()
    for place, item in enumerate(value):
        if schema.list_type == "atomic" or element is None:
            step = fieldpath.index(place)
        else:
            try:
                step = step_of(item, schema)
            except TypedError as error:
                problems.append((path, f"element {place}: {error}"))
                return
            if step in seen:
                key = fieldpath.step_text(step)
                problems.append((path, f"{_DUPLICATE}{key}"))
            seen.add(step)
        if element is not None:
            _validate(item, element, path + fieldpath.step_text(step), problems)


def _validate_scalar(
    value: Any, schema: TypeSchema, path: str, problems: list[tuple[str, str]]
) -> None:
    if schema.scalar == "numeric":
        if isinstance(value, bool) or not isinstance(value, int | float):
            problems.append((path, f"expected numeric (int or float), got {go_type(value)}"))
    elif schema.scalar == "string":
        if not isinstance(value, str):
            problems.append((path, f"expected string, got {go_literal(value)}"))
    elif schema.scalar == "boolean":
        if not isinstance(value, bool):
            problems.append((path, f"expected boolean, got {go_value(value)}"))
    elif isinstance(value, dict | list):
        problems.append((path, f"expected any scalar, got {go_value(value)}"))


def field_set(value: Any, schema: TypeSchema) -> FieldSet:
    """The fields that an applied object claims.

    Scalars, atomic values, null and empty maps, members that are not declared one by one, list
    items; not the declared objects and lists around them, even if nothing in them is claimed.
    Items that occur twice count as one, and nothing in them.

    Raises:
        TypedError: a list item has no key.
    """
    below = _claimed(value, schema)
    return FieldSet({} if below is LEAF else below)


def _claimed(value: Any, schema: TypeSchema) -> Node:
    """The node of a value; ``LEAF`` says that it is claimed as a whole."""
    if is_leaf(value, schema):
        return LEAF
    if isinstance(value, dict):
        return _claimed_members(value, schema)
    out: Node = {}
    element = schema.element
    twice = set()
    for item in value:
        step = step_of(item, schema)
        if step in out:
            twice.add(step)
            continue
        node = LEAF if element is None else _claimed(item, element)
        out[step] = {SELF: LEAF, **node} if node else LEAF
    for step in twice:
        out[step] = LEAF
    return out


def _claimed_members(value: Json, schema: TypeSchema) -> Node:
    out: Node = {}
    fields = schema.fields
    element = schema.element
    for name, member in value.items():
        declared = fields.get(name)
        inner = declared or element
        if inner is None:
            continue
        if member == [] and declared and inner.kind is TypeKind.LIST and not inner.atomic:
            continue  # of such a list its items are owned, and here there are none
        node = _claimed(member, inner)
        if declared is None:
            node = {SELF: LEAF, **node} if node else LEAF
        elif not node and node is not LEAF:
            continue  # nothing in it is claimed: empty lists, and objects of such
        out["f:" + name] = node
    return out
