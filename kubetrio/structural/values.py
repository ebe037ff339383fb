"""Values against the schema of a custom resource, with the causes that kube-apiserver tells.

Between alternatives (anyOf, oneOf) the causes of the one are told of which most was checked and
found good; the numbers that checks return count that as kube-openapi does.

Source: k8s.io/kube-openapi/pkg/validation/validate;
k8s.io/apiextensions-apiserver/pkg/apiserver/validation (ratcheting: KEP-4008); OpenAPI 3.0.3
schema object.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from kubetrio.gotext.regexp.errors import RegexpError
from kubetrio.machinery.fielderrors import (
    invalid,
    quote,
    required,
    too_long,
    too_many,
    type_invalid,
)
from kubetrio.machinery.telling import untell
from kubetrio.runtime.effort import Effort
from kubetrio.structural.causes import Out
from kubetrio.structural.formats import is_known
from kubetrio.structural.jsonkeys import by_keys, deep_equal, keys_of, steps_of, type_name
from kubetrio.structural.patterns import Matcher
from kubetrio.structural.schemaparts import LISTS, LazyParts, Marks, making
from kubetrio.structural.structure import META_FIELDS
from kubetrio.structural.valueenums import Enum
from kubetrio.structural.valueformats import FORMATS
from kubetrio.structural.valuenumbers import FRACTIONS, is_whole, number_checks
from kubetrio.wire.gojson import Float

Json = dict[str, Any]
_NUMBERS = frozenset({int, float, Float})
_CONTAINERS = frozenset({dict, list})
_ALTERNATIVE = 3  # steps
_MADE = 20  # steps that it takes to make a checker
_GOOD_TEXT = 7
"""What is looked at of a text of which only a length is asked, as `Checker.check` counts it."""


class Old:
    """What stands for a value in the stored object.

    Args:
        schema: that both are of.
        value: the old one.
        effort: of the check, None for a new one.
    """

    __slots__ = ("_by_keys", "_effort", "_same", "schema", "value")

    def __init__(self, schema: Checker, value: Any, effort: Effort | None = None) -> None:
        self.schema = schema
        self.value = value
        self._effort = Effort() if effort is None else effort
        self._by_keys: dict[Any, Any] | None = None
        self._same: tuple[Any, bool] | None = None

    def key(self, new: Any, name: str) -> Old | None:
        """Return the old value of a member, None where there is none."""
        old = self.value
        if type(old) is not dict or type(new) is not dict or name not in old or name not in new:
            return None
        inner = self.schema.child(name)
        return None if inner is None else Old(inner, old[name], self._effort)

    def item(self, new: Any, index: int) -> Old | None:
        """Return the old value of an item of a list with keys; None of other lists."""
        schema = self.schema
        if schema.items is None or not schema.keys or type(self.value) is not list:
            return None
        mine = keys_of(schema.keys, new[index])
        if mine is None:
            return None
        if self._by_keys is None:
            self._effort.spend(len(self.value))
            self._by_keys = by_keys(schema.keys, self.value)
        old_item = self._by_keys.get(mine)
        return None if old_item is None else Old(schema.items, old_item, self._effort)

    def equals(self, new: Any) -> bool:
        """Whether nothing changed, as far as the schema can tell; the last answer is kept."""
        if self._same is None or self._same[0] is not new:
            self._same = new, self._equals(new)
        return self._same[1]

    def _equals(self, new: Any) -> bool:
        old = self.value
        if type(old) is not type(new) and not (type(old) in FRACTIONS and type(new) in FRACTIONS):
            return False
        if type(new) is dict:
            if len(old) != len(new):
                return False
            self._effort.spend(len(new))
            for name, item in new.items():
                inner = self.key(new, name)
                if inner is None or not inner.equals(item):
                    return False
            return True
        if type(new) is list:
            if len(old) != len(new):
                return False
            self._effort.spend(len(new))
            if not self.schema.keys:
                self._effort.spend(steps_of(new))
                return deep_equal(old, new)
            for index, item in enumerate(new):
                inner = self.item(new, index)
                if inner is None or not inner.equals(item):
                    return False
            return True
        return bool(old == new)


class Checker:
    """Checks values against one place in a schema.

    Args:
        schema: ``JSONSchemaProps`` as JSON.
        loose: whether ``x-kubernetes-int-or-string`` says nothing, as it does for defaults.
        marks: of the resource's schema, when it is large.

    Attributes:
        text: the least and the most characters of a text, where nothing else is asked of it.
    """

    __slots__ = (
        "_enum",
        "_format",
        "_is_format",
        "_junctors",
        "_limits",
        "_loose",
        "_number",
        "_pattern",
        "_plain",
        "items",
        "keys",
        "lists",
        "nullable",
        "others",
        "properties",
        "required",
        "schema",
        "text",
        "types",
    )

    lists: bool
    text: tuple[int, int] | None

    def __init__(
        self, schema: Mapping[str, Any], *, loose: bool = False, marks: Marks | None = None
    ) -> None:
        get = schema.get
        self.schema = schema
        kind = get("type") or ""
        self.types: tuple[str, ...] = (kind,) if kind else ()
        if get("x-kubernetes-int-or-string") and not loose:
            self.types = ("integer", "string")
        self.nullable = bool(get("nullable"))
        name = get("format") or ""
        self._format = name if name and is_known(kind, name) else ""
        self._is_format = FORMATS.get(self._format.replace("-", "")) if self._format else None
        allowed = get("enum")
        self._enum = Enum(allowed) if allowed else None
        self._number = number_checks(schema, self.types, self._format)
        self._limits = _Limits(
            *(get(key) for key in ("maxLength", "minLength", "maxItems", "minItems")),
            *(get(key) for key in ("maxProperties", "minProperties")),
        )
        pattern = get("pattern")
        self._pattern = Matcher(pattern) if pattern else None
        self._loose = loose
        make = partial(Checker, loose=loose, marks=marks)
        schemas = get("properties") or {}
        self.properties: dict[str, Checker] = (
            {name: make(inner) for name, inner in schemas.items()}
            if marks is None
            else LazyParts(schemas, make, marks)
        )
        others, items = get("additionalProperties"), get("items")
        self.others = make(others) if isinstance(others, Mapping) else None
        self.items = make(items) if isinstance(items, Mapping) else None
        self.required: Sequence[str] = tuple(get("required") or ())
        self.keys: Sequence[str] = ()
        if get("x-kubernetes-list-type") == "map":
            self.keys = tuple(get("x-kubernetes-list-map-keys") or ())
        self._plain = not any(get(name) for name in ("anyOf", "oneOf", "allOf"))
        self._plain = self._plain and get("not") is None
        self._junctors: _Junctors | None = None
        self.text = None
        if self.types == ("string",) and self._plain and not (name or pattern or allowed):
            shortest, longest = self._limits.min_length, self._limits.max_length
            self.text = (shortest or 0, sys.maxsize if longest is None else longest)
        if marks is None:
            listed = get("x-kubernetes-list-type") in ("set", "map")
            below = [*self.properties.values(), *filter(None, (self.others, self.items))]
            self.lists = listed or any(one.lists for one in below)
        else:
            self.lists = marks.has(schema, LISTS)

    def child(self, name: str) -> Checker | None:
        """The schema of a member, None where there is none."""
        return self.properties.get(name, self.others)

    def check(self, value: Any, name: str, old: Old | None, out: Out) -> int:
        """Check a value.

        Args:
            value: a JSON value.
            name: its path, empty for the whole of what is checked.
            old: what it was, None for what is not known.
            out: receives causes.

        Returns:
            How much was looked at, for the choice between alternatives.

        Raises:
            kubetrio.runtime.effort.Exhausted: it takes more steps than `out` has.
        """
        count = 0
        if self.types or self._format:
            count += self._type(value, name, out)
        if value is None:
            if self._enum is not None:
                self._enum.check(value, name, out)
            return count
        count += bool(self.types or self._format)
        count += 2 if self._plain else self._check_junctors(value, name, old, out) + 1
        kind = type(value)
        if kind is str:
            self._text(value, name, out)
            count += 1
            if self._is_format is not None:
                out.effort.spend(2 + (len(value) >> 2))
                count += 1
                if not self._is_format(value):
                    _type_error(self._format, value, name, out)
        elif kind in _NUMBERS:
            self._number(value, name, out)
            count += 2
        elif kind is list:
            count += self._list(value, name, old, out) + 2
        if self._enum is not None:
            self._enum.check(value, name, out)
        count += 1
        if kind is dict:
            count += self._object(value, name, old, out) + 1
        return count + 1

    def _type(self, value: Any, name: str, out: Out) -> int:
        types, format_ = self.types, self._format
        if value is None:
            if types and not self.nullable:
                _type_error(",".join(types), "null", name, out)
                return 0
            return 1
        mine = type_name(value)
        if mine in types:
            return 1
        fits = mine == "number" and "integer" in types and is_whole(value)
        fits = fits or (mine == "integer" and "number" in types)
        if fits:
            return 1
        numeric = "number" in types or "integer" in types
        if format_:
            if mine in ("string", "array"):
                if not numeric:
                    return 1
            else:
                form = {"integer": "int64", "number": "float64"}.get(mine, "")
                if form != format_:
                    _type_error(format_, form, name, out)
                    return 0
        if not types:
            return 1
        _type_error(",".join(types), mine, name, out)
        return 0

    # --- junctors ---

    def _check_junctors(self, value: Any, name: str, old: Old | None, out: Out) -> int:
        count = 1
        junctors = self._junctors
        if junctors is None:
            junctors = self._junctors = _Junctors.of(self.schema, loose=self._loose)
        if junctors.any:
            count += _any_of(junctors.any, value, name, old, out)
        if junctors.one:
            count += _one_of(junctors.one, value, name, old, out)
        if junctors.all:
            good = 0
            out.effort.spend(len(junctors.all))
            for one in junctors.all:
                before = len(out)
                count += one.check(value, name, old, out)
                good += len(out) == before
            if good != len(junctors.all):
                none = "" if good else ". None validated"
                out.plain(f"{quote(name)} must validate all the schemas (allOf){none}")
        if junctors.no is not None:
            out.effort.spend(_ALTERNATIVE)
            inner = Out(out.prefix, out.effort)
            junctors.no.check(value, name, old, inner)
            untell(inner)
            if not inner:
                out.plain(f"{quote(name)} must not validate the schema (not)")
        return count

    # --- values ---

    def _text(self, value: str, name: str, out: Out) -> None:
        limits = self._limits
        if limits.max_length is not None and len(value) > limits.max_length:
            out.append(too_long(out.path(name), limits.max_length))
        elif limits.min_length is not None and len(value) < limits.min_length:
            detail = f"{name} in body should be at least {limits.min_length} chars long"
            out.append(invalid(out.path(name), value, detail))
        elif self._pattern is not None and (detail := _mismatch(self._pattern, value, out.effort)):
            out.append(invalid(out.path(name), value, f"{name} in body {detail}"))

    def _list(self, value: list[Any], name: str, old: Old | None, out: Out) -> int:
        count, limits = 0, self._limits
        if self.items is not None:
            out.effort.spend(len(value) * (1 + (len(name) >> 10)))
            for index, item in enumerate(value):
                was = None if old is None else old.item(value, index)
                count += _ratcheted(self.items, item, f"{name}[{index}]", was, out)
        if limits.min_items is not None and len(value) < limits.min_items:
            detail = f"{name} in body should have at least {limits.min_items} items"
            out.append(invalid(out.path(name), len(value), detail))
        if limits.max_items is not None and len(value) > limits.max_items:
            out.append(too_many(out.path(name), len(value), limits.max_items))
        return count

    def _object(self, value: Json, name: str, old: Old | None, out: Out) -> int:
        count, limits = 0, self._limits
        if limits.min_properties is not None and len(value) < limits.min_properties:
            detail = f"{name} in body should have at least {limits.min_properties} properties"
            out.append(invalid(out.path(name), len(value), detail))
        if limits.max_properties is not None and len(value) > limits.max_properties:
            out.append(too_many(out.path(name), len(value), limits.max_properties))
        others, properties = self.others, self.properties
        effort = out.effort
        # A path is made of that of what it is in.
        effort.left -= len(value) * (2 + (len(name) >> 10)) + (len(self.required) >> 3)
        if effort.left < 0:
            effort.look_up()
        for key, item in value.items():
            inner = properties.get(key)
            if inner is not None:
                text = inner.text
                if text is not None and type(item) is str and text[0] <= len(item) <= text[1]:
                    count += _GOOD_TEXT
                    continue
                where = f"{name}.{key}" if name else key
            elif others is not None:
                inner, where = others, f"{name}.{key}"
            else:
                continue
            was = None
            if old is not None and (name or key not in META_FIELDS - {"metadata"}):
                was = old.key(value, key)
            count += _ratcheted(inner, item, where, was, out)
        for key in self.required:
            if key not in value and not out.full:
                out.append(required(out.path(f"{name}.{key}")))
        return count


class _Junctors(NamedTuple):
    """The schemas under the logical junctors of another, made when a value is first checked."""

    any: Sequence[Checker]
    one: Sequence[Checker]
    all: Sequence[Checker]
    no: Checker | None

    @classmethod
    def of(cls, schema: Mapping[str, Any], *, loose: bool) -> _Junctors:
        """Those of a schema."""
        effort = making()

        def made(inner: Mapping[str, Any]) -> Checker:
            effort.spend(_MADE)
            return Checker(inner, loose=loose)

        no = schema.get("not")
        return cls(
            list(map(made, schema.get("anyOf") or ())),
            list(map(made, schema.get("oneOf") or ())),
            list(map(made, schema.get("allOf") or ())),
            None if no is None else made(no),
        )


def _any_of(choices: Sequence[Checker], value: Any, name: str, old: Old | None, out: Out) -> int:
    best: tuple[int, Out] | None = None
    effort = out.effort
    for one in choices:
        effort.left -= _ALTERNATIVE
        if effort.left < 0:
            effort.look_up()
        inner = Out(out.prefix, effort)
        count = one.check(value, name, old, inner)
        if not inner:
            if best is not None:
                untell(best[1])
            return count
        best = _better(best, (count, inner))
    out.plain(f"{quote(name)} must validate at least one schema (anyOf)")
    count, causes = best or (0, Out(effort=out.effort))
    out.merge(causes)
    return count


def _one_of(choices: Sequence[Checker], value: Any, name: str, old: Old | None, out: Out) -> int:
    best: tuple[int, Out] | None = None
    good, first = 0, 0
    for one in choices:
        out.effort.spend(_ALTERNATIVE)
        inner = Out(out.prefix, out.effort)
        count = one.check(value, name, old, inner)
        if not inner:
            good += 1
            first = first or count
        elif not good:
            best = _better(best, (count, inner))
        else:
            untell(inner)
        if good and best is not None:
            untell(best[1])
            best = None
    if good == 1:
        return first
    outcome = f"Found {good} valid alternatives" if good else "Found none valid"
    out.plain(f"{quote(name)} must validate one and only one schema (oneOf). {outcome}")
    if best is None:
        return 0
    out.merge(best[1])
    return best[0]


def _mismatch(pattern: Matcher, value: str, effort: Effort) -> str:
    """What is wrong with a text by a pattern, empty for nothing."""
    try:
        return "" if pattern(value, effort) else f"should match '{pattern.pattern}'"
    except RegexpError as error:
        return f"cannot be compared with '{pattern.pattern}': {error}"


def _ratcheted(schema: Checker, value: Any, name: str, old: Old | None, out: Out) -> int:
    """Check a part; what was wrong before and did not change is let be."""
    before = len(out)
    count = schema.check(value, name, old, out)
    if old is not None and len(out) > before and old.equals(value):
        out.forget(before)
    return count


def _better(best: tuple[int, Out] | None, other: tuple[int, Out]) -> tuple[int, Out]:
    """Of two alternatives the one of which more was checked; the causes of the other go."""
    if best is None:
        return other
    kept, gone = (other, best) if other[0] > best[0] else (best, other)
    untell(gone[1])
    return kept


class _Limits(NamedTuple):
    """Bounds of sizes, None where there are none."""

    max_length: int | None
    min_length: int | None
    max_items: int | None
    min_items: int | None
    max_properties: int | None
    min_properties: int | None


def _type_error(wanted: str, given: str, name: str, out: Out) -> None:
    detail = f"{name} in body must be of type {wanted}: {quote(given)}"
    out.append(type_invalid(out.path(name), given, detail))
