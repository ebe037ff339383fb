"""What changed between two objects, as three sets of fields.

Ownership of writes that are not applies follows from this comparison (KEP-555): a manager owns what
it added or modified, and what is gone has no owner.  Parts that did not change are skipped whole:
the same object in memory at once, an equal one after a comparison in C.

One comparison is coarser than Go's: a part that only turns ``true`` into ``1`` where no type is
declared counts as unchanged, as those are equal to Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubetrio.machinery.applyvalues import TypedError, form_of, is_leaf, step_of
from kubetrio.machinery.fieldset import EMPTY, LEAF, SELF, FieldSet, Node, without_self
from kubetrio.machinery.typeschema import TypeKind, TypeSchema

Json = dict[str, Any]

_ABSENT: Any = object()


@dataclass(frozen=True)
class Comparison:
    """Fields by what happened to them.

    Args:
        added: there now, not there before.
        modified: leaves with another value.
        removed: there before, not there now.
    """

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    def __bool__(self) -> bool:
        return bool(self.added or self.modified or self.removed)

    @property
    def set_now(self) -> FieldSet:
        """Fields that have a new value."""
        return self.modified.union(self.added)


UNCHANGED = Comparison(EMPTY, EMPTY, EMPTY)


@dataclass(frozen=True, slots=True)
class _Changes:
    """Changes below one path, being collected."""

    added: Node
    modified: Node
    removed: Node


def compare(old: Json, new: Json, schema: TypeSchema) -> Comparison:
    """Compare two objects of one type.

    Args:
        old: before; it need not have been valid.
        new: after.
        schema: their type.

    Raises:
        TypedError: a changed list has an item without a key, or a value is of the wrong form.
    """
    if old is new or old == new:
        return UNCHANGED
    changes = _Changes({}, {}, {})
    _members(old, new, schema, changes)
    return Comparison(
        FieldSet(changes.added), FieldSet(changes.modified), FieldSet(changes.removed)
    )


def _members(old: Json, new: Json, schema: TypeSchema, found: _Changes) -> None:
    fields = schema.fields
    element = schema.element
    common = 0
    for name, after in new.items():
        before = old.get(name, _ABSENT)
        if before is not _ABSENT:
            common += 1
            if before is after:
                continue
        inner = fields.get(name) or element
        if inner is None:
            continue
        if before is _ABSENT:
            found.added["f:" + name] = whole(after, inner)
        elif before != after:
            _child("f:" + name, before, after, inner, found)
    if common == len(old):
        return
    for name, before in old.items():
        if name not in new:
            inner = fields.get(name) or element
            if inner is not None:
                found.removed["f:" + name] = whole(before, inner)


def whole(value: Any, schema: TypeSchema) -> Node:
    """The node of a value that came or went: every path in it is a member."""
    if not value or schema.atomic:
        return LEAF
    form, kind = type(value), schema.kind  # `is_leaf`, for which each member would be a call
    if form is dict:
        if kind is TypeKind.SCALAR or kind is TypeKind.LIST:
            return LEAF
    elif form is not list or kind is not TypeKind.LIST:
        return LEAF
    out: Node = {SELF: LEAF}
    element = schema.element
    if form is dict:
        fields = schema.fields
        for name, member in value.items():
            inner = fields.get(name) or element
            if inner is not None:
                # Atomic values and scalars are leaves, which needs no call to find out.
                owned = not member or inner.kind is TypeKind.SCALAR or inner.atomic
                out["f:" + name] = LEAF if owned else whole(member, inner)
        return out
    for item in value:
        step = step_of(item, schema)
        # An item that is there twice is one field, with nothing below it.
        out[step] = LEAF if step in out or element is None else whole(item, element)
    return out


def _child(step: str, old: Any, new: Any, schema: TypeSchema, found: _Changes) -> None:
    """Compare two values that differ and are both there, though either may be null."""
    if schema.kind is TypeKind.SCALAR or schema.atomic:
        found.modified[step] = LEAF
        return
    declared = schema.kind is not TypeKind.DEDUCED  # then both have the form of the type
    if (
        not declared
        and old is not None
        and new is not None
        and form_of(old, schema) != form_of(new, schema)
    ):
        _changed_form(step, old, new, schema, found)
        return
    if (not old or is_leaf(old, schema)) and (not new or is_leaf(new, schema)):
        found.modified[step] = LEAF
        return
    if type(old or new) is not type(new or old):
        raise TypedError([("", "one of two values is of the wrong form")])
    inner = _Changes({}, {}, {})
    if isinstance(old or new, dict):
        _members(old or {}, new or {}, schema, inner)
    else:
        _items(old or [], new or [], schema, inner)
    _hang(step, inner, found)


def _changed_form(step: str, old: Any, new: Any, schema: TypeSchema, found: _Changes) -> None:
    """Where no type is declared: an object that became a scalar, or the reverse."""
    inner = _Changes({}, {}, {})
    if is_leaf(old, schema) or is_leaf(new, schema):
        inner.modified[SELF] = LEAF
    if not is_leaf(old, schema):
        inner.removed.update(without_self(whole(old, schema)))
    if not is_leaf(new, schema):
        inner.added.update(without_self(whole(new, schema)))
    _hang(step, inner, found)


def _hang(step: str, inner: _Changes, found: _Changes) -> None:
    if inner.added:
        found.added[step] = inner.added
    if inner.modified:
        found.modified[step] = LEAF if inner.modified.keys() == {SELF} else inner.modified
    if inner.removed:
        found.removed[step] = inner.removed


def _items(old: list[Any], new: list[Any], schema: TypeSchema, found: _Changes) -> None:
    element = schema.element
    if element is None:
        return
    before = _by_step(old, schema)
    after = _by_step(new, schema)
    for step, now in after.items():
        then = before.get(step)
        if then is None:
            found.added[step] = whole(now[0], element) if len(now) == 1 else LEAF
        elif len(then) == 1 and len(now) == 1:
            if then[0] is not now[0] and then[0] != now[0]:
                _child(step, then[0], now[0], element, found)
        else:
            _repeated(step, then, now, element, found)
    for step, then in before.items():
        if step not in after:
            found.removed[step] = whole(then[0], element) if len(then) == 1 else LEAF


def _repeated(
    step: str, then: list[Any], now: list[Any], element: TypeSchema, found: _Changes
) -> None:
    """Items that share a key are one field; with a single item again, its parts are fields."""
    if len(then) > 1 and len(now) > 1:
        if then != now:
            found.modified[step] = LEAF
    elif len(then) > 1:
        found.added[step] = whole(now[0], element)
        found.removed[step] = LEAF
    else:
        found.removed[step] = whole(then[0], element)
        found.added[step] = LEAF


def _by_step(items: list[Any], schema: TypeSchema) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {}
    for item in items:
        out.setdefault(step_of(item, schema), []).append(item)
    return out
