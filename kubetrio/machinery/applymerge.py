"""Merging an applied object into the live one, and taking fields out of an object.

Both return new objects that share unchanged parts with those given; nothing given is changed.

Order of list items (KEP-555 and the documentation of Server-Side Apply): items of the applied list
come in its order; live items that it does not name keep their place before the next one it does.
"""

from __future__ import annotations

from typing import Any

from kubetrio.machinery import fieldpath
from kubetrio.machinery.applyvalues import TypedError, form_of, is_leaf, step_of
from kubetrio.machinery.fieldset import FieldSet, Node, is_member
from kubetrio.machinery.typeschema import TypeKind, TypeSchema

Json = dict[str, Any]

_ABSENT: Any = object()


def merge(live: Json, config: Json, schema: TypeSchema) -> Json:
    """The live object with what the applied one says.

    Returns:
        The live object itself if nothing is different.

    Raises:
        TypedError: a list has an item without a key, or the applied one has two with one key.
    """
    merged: Json = _value(live, config, schema)
    return live if merged == live else merged


def _value(live: Any, config: Any, schema: TypeSchema) -> Any:
    """Merge two values; the live one may be null or of another form."""
    if live is config:
        return live
    if config is None:
        return live if not is_leaf(live, schema) else None
    if is_leaf(config, schema) and (is_leaf(live, schema) or _another_form(live, config, schema)):
        return config
    if live is None or _another_form(live, config, schema):
        live = {} if isinstance(config, dict) else []
    if isinstance(config, dict):
        return _members(live, config, schema)
    return _items(live, config, schema)


def _another_form(live: Any, config: Any, schema: TypeSchema) -> bool:
    return form_of(live, schema) != form_of(config, schema)


def _members(live: Json, config: Json, schema: TypeSchema) -> Json:
    out = dict(live)
    for name, wanted in config.items():
        inner = schema.member(name)
        there = live.get(name, _ABSENT)
        if there is _ABSENT or inner is None:
            out[name] = wanted
        else:
            out[name] = _value(there, wanted, inner)
    return out


def _items(live: list[Any], config: list[Any], schema: TypeSchema) -> list[Any]:
    element = schema.element
    named = _by_step(config, schema)
    steps = [step_of(item, schema) for item in live]
    there: dict[str, Any] = {}
    for step, item in zip(steps, live, strict=True):
        # An item that is there twice has no parts to merge with.
        there[step] = None if step in there else item
    pending = list(named)
    shared = [step for step in pending if step in there]
    pending.reverse()
    shared.reverse()
    out: list[Any] = []

    def take() -> str:
        step = pending.pop()
        before, wanted = there.get(step), named[step]
        out.append(wanted if before is None or element is None else _value(before, wanted, element))
        return step

    for step, item in zip(steps, live, strict=True):
        if step not in named:
            out.append(item)
        elif shared and step == shared[-1]:
            # The next item that both have: what the applied list puts before it goes first.
            while take() != step:
                pass
            shared.pop()
        elif not shared and pending:
            take()  # a repetition of an item that is done; it gives way
    while pending:
        take()
    return out


def _by_step(items: list[Any], schema: TypeSchema) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for item in items:
        step = step_of(item, schema)
        if step in out:
            text = fieldpath.step_text(step)
            raise TypedError([("", f"duplicate entries for key {text}")])
        out[step] = item
    return out


def without(value: Json, fields: FieldSet, schema: TypeSchema) -> Json:
    """An object less these fields and what is below them; parts that get empty stay, as empty ones.

    Args:
        value: the object.
        fields: paths to take out.
        schema: type of the object.
    """
    if not fields:
        return value
    rest: Json = _without(value, fields.root, schema)
    return rest


def _without(value: Any, node: Node, schema: TypeSchema) -> Any:
    if not isinstance(value, dict | list):
        return value
    if is_leaf(value, schema):
        return value if schema.kind is TypeKind.SCALAR else type(value)()
    if isinstance(value, dict):
        members: Json = {}
        for name, member in value.items():
            gone = node.get("f:" + name)
            if gone is None:
                members[name] = member
            elif not is_member(gone):
                inner = schema.member(name)
                members[name] = member if inner is None else _without(member, gone, inner)
        return members
    items = []
    element = schema.element
    for item in value:
        gone = node.get(step_of(item, schema))
        if gone is None:
            items.append(item)
        elif not is_member(gone):
            items.append(item if element is None else _without(item, gone, element))
    return items
