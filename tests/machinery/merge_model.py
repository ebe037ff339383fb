"""A reference model of structured merge: sets of paths, values compared one by one, nothing shared.

Source: the rules of sigs.k8s.io/structured-merge-diff v6 (to field set, compare, merge, remove,
update, apply with its pruning), said again in the plainest form.  One version; types as in
``apply_types``; list items are named by ``(key, ...)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kubetrio.machinery.typeschema import TypeKind, TypeSchema

Path = tuple[Any, ...]
Paths = set[Path]
ABSENT: Any = object()


class ModelConflict(Exception):
    """Others own what would change."""

    def __init__(self, fields: set[tuple[str, str, Path]]) -> None:
        super().__init__(str(fields))
        self.fields = fields


def form(schema: TypeSchema, value: Any) -> str:
    """How a value is treated: as a map, a list or a scalar."""
    if schema.kind is not TypeKind.DEDUCED:
        return schema.kind.name
    if isinstance(value, list):
        return "LIST"
    return "MAP" if isinstance(value, dict) or value is None or value is ABSENT else "SCALAR"


def atomic(schema: TypeSchema, value: Any) -> bool:
    """Whether a value is one leaf whatever is in it."""
    return form(schema, value) == "SCALAR" or (
        schema.atomic if schema.kind is not TypeKind.DEDUCED else isinstance(value, list)
    )


def parts(schema: TypeSchema, value: Any) -> dict[Any, tuple[Any, TypeSchema]]:
    """What is in a map or list, by the step that leads there."""
    if not value or value is ABSENT:
        return {}
    if isinstance(value, dict):
        return {("f", k): (v, schema.member(k) or schema) for k, v in value.items()}
    assert schema.element is not None
    if schema.list_type == "set":
        return {("v", item): (item, schema.element) for item in value}
    return {
        ("k", *(item.get(key, schema.key_defaults.get(key)) for key in schema.keys)): (
            item,
            schema.element,
        )
        for item in value
    }


def claims(value: Any, schema: TypeSchema, path: Path = ()) -> Paths:
    """What an applied value claims."""
    if atomic(schema, value):
        return {path}
    out: Paths = set()
    for step, (inner, below) in parts(schema, value).items():
        here = (*path, step)
        out |= claims(inner, below, here)
        declared = step[0] == "f" and step[1] in schema.fields
        if not declared or inner is None or inner == {}:
            out.add(here)
    return out


@dataclass
class Changes:
    """Paths by what happened to them."""

    added: Paths = field(default_factory=set)
    modified: Paths = field(default_factory=set)
    removed: Paths = field(default_factory=set)


def compare(old: Any, new: Any, schema: TypeSchema, path: Path, out: Changes) -> None:
    """Collect what changed between two values, either of which may be absent."""
    forms = {form(schema, value) for value in (old, new) if value is not ABSENT}
    if old is None or new is None:
        forms = {form(schema, value) for value in (old, new) if value not in (ABSENT, None)} | {
            form(schema, None)
        }
    leaf = False
    for each in sorted(forms, key=lambda name: name == form(schema, new)):
        one, two = (_as(value, each, schema) for value in (old, new))
        whole = each == "SCALAR" or (schema.kind is TypeKind.DEDUCED and each == "LIST")
        whole = whole or (schema.kind is not TypeKind.DEDUCED and schema.atomic)
        leaf = whole or not (one or two)
        if leaf:
            if old is ABSENT:
                out.added.add(path)
            elif new is ABSENT:
                out.removed.add(path)
            elif old != new:
                out.modified.add(path)
            continue
        before, after = parts(schema, one), parts(schema, two)
        for step in {**before, **after}:
            below = (before.get(step) or after[step])[1]
            compare(
                before.get(step, (ABSENT,))[0],
                after.get(step, (ABSENT,))[0],
                below,
                (*path, step),
                out,
            )
    if not leaf and old is ABSENT:
        out.added.add(path)
    elif not leaf and new is ABSENT:
        out.removed.add(path)


def _as(value: Any, name: str, schema: TypeSchema) -> Any:
    """A value in a form, or nothing where it has another one."""
    if value is ABSENT or value is None or form(schema, value) != name:
        return None
    return value


def merge(live: Any, config: Any, schema: TypeSchema) -> Any:
    """What is there with what is applied."""
    if config is ABSENT:
        return live
    if live is ABSENT or atomic(schema, config):
        return config
    ours = live if live is None or form(schema, live) == form(schema, config) else None
    if config is None and live is not None:
        ours = live if form(schema, live) != "SCALAR" and not atomic(schema, live) else None
    if not ours and not config:
        return config
    if isinstance(ours or config, dict):
        keys = {**(ours or {}), **(config or {})}
        return {
            key: merge(
                (ours or {}).get(key, ABSENT),
                (config or {}).get(key, ABSENT),
                schema.member(key) or schema,
            )
            for key in keys
        }
    before, after = parts(schema, ours), parts(schema, config)
    return [
        merge(before.get(step, (ABSENT,))[0], after.get(step, (ABSENT,))[0], schema.element)
        for step in {**before, **after}
    ]


def remove(value: Any, gone: Paths, schema: TypeSchema, path: Path = ()) -> Any:
    """A value without paths and what is below them; what gets empty stays."""
    if form(schema, value) == "SCALAR" or value is None:
        return value
    if atomic(schema, value) or not value:
        return type(value)()
    kept = []
    for step, (inner, below) in parts(schema, value).items():
        here = (*path, step)
        if here in gone:
            continue
        if any(each[: len(here)] == here for each in gone):
            inner = remove(inner, gone, below, here)
        kept.append((step, inner))
    if isinstance(value, dict):
        return {step[1]: inner for step, inner in kept}
    return [inner for _, inner in kept]


def named(paths: Paths, schema: TypeSchema) -> Paths:
    """Paths with the declared members on the way to them."""
    return paths | {
        path[:length]
        for path in paths
        for length in range(1, len(path))
        if _declared(path[:length], schema)
    }


def _declared(path: Path, schema: TypeSchema) -> bool:
    inner: TypeSchema | None = schema
    for step in path[:-1]:
        if inner is None:
            return False
        inner = inner.member(step[1]) if step[0] == "f" else inner.element
    return inner is not None and path[-1][0] == "f" and path[-1][1] in inner.fields


@dataclass
class Model:
    """An object and its owners."""

    schema: TypeSchema
    live: Any = field(default_factory=dict)
    owners: dict[tuple[str, str], Paths] = field(default_factory=dict)

    def _others(self, who: tuple[str, str]) -> Iterator[tuple[str, str]]:
        return (owner for owner in list(self.owners) if owner != who)

    def _transfer(self, who: tuple[str, str], new: Any, *, force: bool) -> Changes:
        change = Changes()
        compare(self.live, new, self.schema, (), change)
        taken = change.added | change.modified
        conflicts = {
            (*other, path) for other in self._others(who) for path in self.owners[other] & taken
        }
        if conflicts and not force:
            raise ModelConflict(conflicts)
        for other in self._others(who):
            self.owners[other] -= taken | change.removed
        return change

    def _tidy(self, new: Any) -> None:
        self.live = new
        self.owners = {who: owned for who, owned in self.owners.items() if owned}

    def update(self, name: str, new: Any) -> None:
        """Replace the object."""
        who = (name, "Update")
        change = self._transfer(who, new, force=True)
        own = self.owners.get(who, set()) - change.removed
        self.owners[who] = own | change.added | change.modified
        self._tidy(new)

    def apply(self, name: str, config: Any, *, force: bool) -> None:
        """Say all that one manager wants to say."""
        who = (name, "Apply")
        last = self.owners.get(who, set())
        before = {other: set(owned) for other, owned in self.owners.items()}
        merged = merge(self.live, config, self.schema)
        self.owners[who] = claims(config, self.schema)
        new = self._pruned(merged, last) if last else merged
        try:
            self._transfer(who, new, force=force)
        except ModelConflict:
            self.owners = before
            raise
        self._tidy(new)

    def _pruned(self, merged: Any, last: Paths) -> Any:
        schema = self.schema
        gone = named(last, schema)
        whole = named(claims(merged, schema), schema)
        owned = named(set().union(*self.owners.values()), schema)
        first = remove(merged, gone, schema)
        back = whole - (named(claims(first, schema), schema) | owned)
        second = remove(merged, back, schema)
        dangling = (whole - named(claims(second, schema), schema)) & gone
        return remove(merged, dangling, schema)
