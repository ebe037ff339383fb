"""Tables to functions: names resolved against the Go structs once, then nothing but dict access.

Members that a default adds would come last in a dict; a struct that grew is put in the order of
its Go declaration again, so that what is printed is what kube-apiserver prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from kubetrio.kinds.common.defaulting import (
    Amounts,
    Call,
    Change,
    Default,
    Each,
    Json,
    Rules,
    Within,
)
from kubetrio.machinery.quantity import Quantity, parse
from kubetrio.schema.structural_shapes import ShapeKind, Struct, struct

_MILLI = -3
_Items = tuple[tuple[str, Any], ...]
_Children = Mapping[str, Change]


def compile_rules(type_name: str, rules: Rules) -> Change:
    """The function that applies a table.

    Args:
        type_name: full name of the type the table is about.
        rules: the table.

    Returns:
        A function that changes an object of that type in place.

    Raises:
        KeyError: a rule names a member that the type does not have.
        TypeError: a rule does not fit the type of its member.
    """
    return _Compiler().change(struct(type_name), rules)


@cache
def _order(type_name: str) -> tuple[str, ...]:
    return tuple(struct(type_name).fields)


def ordered(type_name: str, obj: Json) -> Json:
    """A copy of an object with its members in the order of the Go struct."""
    return {name: obj[name] for name in _order(type_name) if name in obj}


class _Compiler:
    """Compiles tables; a table that several members share is compiled once per type."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], Change] = {}

    def change(self, target: Struct, rules: Rules) -> Change:
        key = (target.type_name, id(rules))
        if key not in self._known:
            self._known[key] = self._compile(target, rules)
        return self._known[key]

    def _compile(self, target: Struct, rules: Rules) -> Change:
        pointers: list[tuple[str, Any]] = []
        values: list[tuple[str, Any]] = []
        calls: list[Change] = []
        structs: dict[str, list[Change]] = {}
        lists: dict[str, list[Change]] = {}
        for rule in rules:
            match rule:
                case Default():
                    member = target.fields[rule.name]
                    (pointers if member.pointer else values).append((rule.name, rule.value))
                case Call(change, grows):
                    for name in grows:
                        change = _growing(
                            change,
                            name,
                            _order(_struct_of(target, name, ShapeKind.STRUCT).type_name),
                        )
                    calls.append(change)
                case Within():
                    child = self.change(_struct_of(target, rule.name, ShapeKind.STRUCT), rule.rules)
                    structs.setdefault(rule.name, []).append(child)
                case Each():
                    child = self.change(_struct_of(target, rule.name, ShapeKind.LIST), rule.rules)
                    lists.setdefault(rule.name, []).append(child)
                case Amounts():
                    if target.fields[rule.name].shape.kind is not ShapeKind.MAP:
                        raise TypeError(f"{target.type_name}.{rule.name} is not a map")
                    structs.setdefault(rule.name, []).append(round_up)
        return _function(
            order=_order(target.type_name),
            pointers=tuple(pointers),
            values=tuple(values),
            calls=tuple(calls),
            structs={name: _all(changes) for name, changes in structs.items()},
            lists={name: _all(changes) for name, changes in lists.items()},
        )


def _struct_of(target: Struct, name: str, kind: ShapeKind) -> Struct:
    shape = target.fields[name].shape
    inner = shape.element if shape.kind is ShapeKind.LIST else shape
    if shape.kind is not kind or inner is None or inner.struct is None:
        raise TypeError(f"{target.type_name}.{name} is not a {kind.name.lower()} of structs")
    return inner.struct


def _growing(change: Change, name: str, order: tuple[str, ...]) -> Change:
    def grow(obj: Json) -> None:
        before = len(obj.get(name) or ())
        change(obj)
        member = obj.get(name)
        if member and len(member) != before:
            _reorder(member, order)

    return grow


def _all(changes: list[Change]) -> Change:
    if len(changes) == 1:
        return changes[0]

    def change(obj: Json) -> None:
        for one in changes:
            one(obj)

    return change


def _function(
    *,
    order: tuple[str, ...],
    pointers: _Items,
    values: _Items,
    calls: tuple[Change, ...],
    structs: _Children,
    lists: _Children,
) -> Change:
    struct_items, list_items = tuple(structs.items()), tuple(lists.items())

    def change(obj: Json) -> None:
        before = len(obj)
        get = obj.get
        for name, value in pointers:
            if get(name) is None:
                obj[name] = value if type(value) not in _COPIED else value.copy()
        for name, value in values:
            if not get(name):
                obj[name] = value if type(value) not in _COPIED else value.copy()
        if calls:
            shape = tuple(obj)
            for call in calls:
                call(obj)
            if shape != tuple(obj):
                before = -1
        for name, child in struct_items:
            value = get(name)
            if value is not None:
                child(value)
        for name, child in list_items:
            value = get(name)
            if value:
                for item in value:
                    child(item)
        if len(obj) != before:
            _reorder(obj, order)

    return change


_COPIED = frozenset({dict, list})


def _reorder(obj: Json, order: tuple[str, ...]) -> None:
    members = {}
    for name in order:
        if name in obj:
            members[name] = obj[name]
    obj.clear()
    obj.update(members)


def round_up(amounts: Json) -> None:
    """Round every quantity of a map away from zero to thousandths, in place.

    Only texts with a suffix below milli, or an exponent, can need it.
    """
    for name, text in amounts.items():
        if text[-1] in "nu" or "e-" in text:
            amounts[name] = _rounded(text)


def _rounded(text: str) -> str:
    quantity = parse(text)
    if quantity.exponent >= _MILLI:
        return text
    return str(Quantity(quantity.milli_value(), _MILLI, quantity.format))
