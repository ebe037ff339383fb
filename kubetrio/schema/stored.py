"""What storing does to an object of a built-in kind.

kube-apiserver stores built-in kinds as protobuf, which cannot tell an empty list from none: a list
that is always printed (no ``omitempty``) comes back as null.  Null bytes in a map come back as an
empty text.  Custom resources, their definitions and APIServices are stored as JSON and keep what
they were given.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from kubetrio.schema.structural_shapes import Shape, ShapeKind, Struct, struct

Json = dict[str, Any]
Change = Callable[[Json], None]

MAX_DEPTH = 12  # schemas that contain themselves (JSONSchemaProps) are not followed for ever


def _nothing(_obj: Json) -> None:
    """For types without such members."""


@cache
def as_stored(type_name: str) -> Change:
    """Replaces empty lists that are always printed, and null bytes in maps, in place.

    Args:
        type_name: full name of a built-in type.
    """
    change = _of_struct(struct(type_name), 0)
    return _nothing if change is None else change


def _no_bytes_to_empty(values: Json) -> None:
    for key, value in values.items():
        if value is None:
            values[key] = ""


def _of_struct(shape: Struct, depth: int) -> Change | None:
    lists: list[str] = []
    inner: list[tuple[str, Callable[[Any], None]]] = []
    if depth > MAX_DEPTH:
        return None
    for name, field in shape.fields.items():
        if field.shape.kind is ShapeKind.LIST and not field.omit and not field.pointer:
            lists.append(name)
        element = field.shape.element
        if (
            field.shape.kind is ShapeKind.MAP
            and element is not None
            and element.kind is ShapeKind.BYTES
        ):
            inner.append((name, _no_bytes_to_empty))
        nested = _of_shape(field.shape, depth + 1)
        if nested is not None:
            inner.append((name, nested))
    if not lists and not inner:
        return None

    def change(obj: Json) -> None:
        for name in lists:
            if obj.get(name) == []:
                obj[name] = None
        for name, nested in inner:
            value = obj.get(name)
            if value:
                nested(value)

    return change


@cache
def free_form(type_name: str) -> bool:
    """Whether objects of a type may hold JSON of any shape, or numbers with fractions.

    Of these the text of numbers matters, and how deep they are.
    """
    return bool(type_name) and _free_form(struct(type_name), set())


_FREE = frozenset({ShapeKind.RAW, ShapeKind.DOUBLE})


def _free_form(shape: Struct, seen: set[str]) -> bool:
    if shape.type_name in seen:
        return False
    seen.add(shape.type_name)
    for field in shape.fields.values():
        inner: Shape | None = field.shape
        while inner is not None:
            if inner.kind in _FREE or (inner.struct and _free_form(inner.struct, seen)):
                return True
            inner = inner.element
    return False


def _of_shape(shape: Shape, depth: int) -> Callable[[Any], None] | None:
    if shape.struct is not None:
        return _of_struct(shape.struct, depth)
    if shape.kind is not ShapeKind.LIST or shape.element is None:
        return None
    element = _of_shape(shape.element, depth)
    if element is None:
        return None

    def each(values: list[Any]) -> None:
        for value in values:
            element(value)

    return each
