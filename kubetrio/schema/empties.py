"""What a client gave that Go prints in another way: empty members, and rewritten quantities.

Of empty lists, maps and bytes nothing is printed; a quantity is printed in its canonical form.

An object as it is decoded does not have them, as what is stored does not.  kube-apiserver has them
until it stores the object: to Go an empty list is another value than none, and a quantity knows
how it was written; who compares or prints values of Go sees it.  So decoders note them beside the
object (`Empties`), and the few that tell them apart put them back into a copy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubetrio.machinery.typeschema import TypeKind, TypeSchema
from kubetrio.schema.structural_shapes import SCHEMA_PROPS, Shape, ShapeKind, Struct, struct
from kubetrio.schema.structural_values import canonical_quantity, quantity_as_given
from kubetrio.wire.report import Empties

Json = dict[str, Any]
NILABLE = frozenset({ShapeKind.LIST, ShapeKind.MAP, ShapeKind.BYTES})
"""What Go tells apart from its empty value when it is not there."""
_SCHEMAS = frozenset(
    {ShapeKind.SCHEMA_OR_BOOL, ShapeKind.SCHEMA_OR_LIST, ShapeKind.SCHEMA_OR_STRINGS}
)


def found_in(target: Struct, raw: Json) -> Empties | None:
    """The empty members that are given in a value, and not printed.

    Args:
        target: the type.
        raw: a value that fits it.
    """
    out: Empties = {}
    fields = target.fields
    for name, value in raw.items():
        field = fields.get(name)
        if field is None or value is None:
            continue
        if field.shape.kind is ShapeKind.QUANTITY:
            if text := _rewritten(value):
                out[name] = text
        elif not value:
            if field.omit and not field.pointer and field.shape.kind in NILABLE:
                out[name] = value
        elif type(value) in (dict, list) and (inner := _found(field.shape, value)):
            out[name] = inner
    return out or None


def _found(shape: Shape, value: Any) -> Empties | None:
    if shape.kind in _SCHEMAS:
        shape = Shape(ShapeKind.STRUCT, "", struct=struct(SCHEMA_PROPS))
        if type(value) is list:
            shape = Shape(ShapeKind.LIST, "", shape)
    if shape.struct is not None:
        return found_in(shape.struct, value) if type(value) is dict else None
    element = shape.element
    if element is None or type(value) not in (dict, list):
        return None
    if element.kind is ShapeKind.QUANTITY:
        return _rewritten_in(value)
    if element.struct is None and element.element is None:
        return None
    steps: Iterable[tuple[Any, Any]] = (
        value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
    )
    children = ((step, _found(element, item)) for step, item in steps if item)
    return {step: inner for step, inner in children if inner} or None


def _rewritten(value: Any) -> str:
    """A quantity as it was given, if it is printed in another way; else nothing."""
    try:
        text = quantity_as_given(value)
        return "" if text == canonical_quantity(value) else text
    except ValueError:
        return ""


def _rewritten_in(values: Json) -> Empties | None:
    steps = values.items() if type(values) is dict else ()
    return {name: text for name, value in steps if (text := _rewritten(value))} or None


def known_in(target: Struct, empties: Empties) -> Empties | None:
    """Those of the empty members, which may be of another version, that a type has."""
    out: Empties = {}
    for name, inner in empties.items():
        field = target.fields.get(name) if type(name) is str else None
        if field is None or (type(inner) is str and inner):
            continue
        if not inner:
            if field.shape.kind in NILABLE:
                out[name] = inner
        elif kept := _known(field.shape, inner):
            out[name] = kept
    return out or None


def _known(shape: Shape, empties: Empties) -> Empties | None:
    if shape.kind in _SCHEMAS:
        return empties
    if shape.struct is not None:
        return known_in(shape.struct, empties)
    if shape.element is None:
        return None
    element = shape.element
    if element.kind is ShapeKind.QUANTITY:
        return None
    kept = ((step, _known(element, inner)) for step, inner in empties.items() if inner)
    return {step: inner for step, inner in kept if inner} or None


def put_back(obj: Any, empties: Empties | None) -> Any:
    """A value with empty members that were given, where there is nothing now.

    Args:
        obj: a JSON value; it is not changed, and what does not change is shared with it.
        empties: what was given; what has no place in the value (any more) is left out.
    """
    if not empties:
        return obj
    if type(obj) is dict:
        out = dict(obj)
        for name, inner in empties.items():
            there = out.get(name)
            if not inner:
                if there is None:
                    out[name] = inner
            elif type(inner) is str:
                out[name] = inner
            elif there is not None:
                out[name] = put_back(there, inner)
        return out
    if type(obj) is list:
        items = list(obj)
        for place, inner in empties.items():
            if type(place) is int and place < len(items):
                items[place] = put_back(items[place], inner)
        return items
    return obj


def in_wholes(empties: Empties | None, schema: TypeSchema) -> Empties | None:
    """Those of the empty members that ownership sees.

    Empty members are no fields.  But lists that are owned as a whole are compared as values of Go.

    Args:
        empties: of an object.
        schema: its type.
    """
    return _in_wholes(empties, schema, whole=False) if empties else None


def _in_wholes(empties: Empties, schema: TypeSchema | None, *, whole: bool) -> Empties | None:
    if schema is None:
        return None
    whole = whole or schema.atomic
    if whole and schema.kind is TypeKind.LIST:
        return empties
    out: Empties = {}
    for step, inner in empties.items():
        if not inner or type(inner) is str:
            continue
        below = schema.member(step) if type(step) is str else schema.element
        kept = _in_wholes(inner, below, whole=whole)
        if kept:
            out[step] = kept
    return out or None


def below(empties: Empties | None, *steps: str) -> Any:
    """What is noted at a place: an empty value, what is below it, or None."""
    node: Any = empties
    for step in steps:
        if not node:
            return None
        node = node.get(step)
    return node
