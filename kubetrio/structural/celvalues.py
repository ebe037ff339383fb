"""What rules see of a custom resource: its JSON values, as its schema types them.

What a schema needs is found out once: where JSON values do, they are taken as they are.

Source: docs "Extend the Kubernetes API with CustomResourceDefinitions" (validation rules: types,
escaping of names, accessible members); k8s.io/apiserver/pkg/cel/common/valuesunstructured.go.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from kubetrio.gotext.numbers import is_int64
from kubetrio.structural.valueformats import span

Json = dict[str, Any]
Wrong = list[str]
"""Receives what is wrong with values that cannot be what their schema says."""
Convert = Callable[[Any, Wrong], Any]

_META = ("apiVersion", "kind", "metadata")
_moment = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_FIRST, _LAST = -62_135_596_800, 253_402_300_799  # seconds: the years 1 to 9999
_MOST_HOURS, _MOST_MINUTES = 24, 60  # of the offset of a zone, as Go reads it


class Converters:
    """What makes the values that expressions see of JSON values, for the parts of one schema."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, bool], Convert | None] = {}

    def of(self, schema: Mapping[str, Any], *, whole: bool = False) -> Convert | None:
        """What makes the values of a part; None to take them as they are.

        Args:
            schema: a structural schema, or a part of one; it stays as it is, as long as this is
                asked.
            whole: whether it is that of a resource.
        """
        key = id(schema), whole
        if key not in self._made:
            self._made[key] = self._converter(schema, whole=whole)
        return self._made[key]

    def _converter(self, schema: Mapping[str, Any], *, whole: bool) -> Convert | None:
        kind = schema.get("type") or ""
        if schema.get("x-kubernetes-int-or-string"):
            return _whole_or_text
        if kind in ("number", "integer"):
            return _number if kind == "number" else _integer
        if kind == "string":
            return _text(schema.get("format") or "")
        items, others = schema.get("items"), schema.get("additionalProperties")
        if kind == "array" and isinstance(items, Mapping):
            inner = self._part(items)
            return None if inner is None else _each(inner)
        if isinstance(others, Mapping):
            inner = self._part(others)
            return None if inner is None else _values(inner)
        return self._object(schema, whole=whole)

    def _object(self, schema: Mapping[str, Any], *, whole: bool) -> Convert | None:
        from kubetrio.cel.escaping import escaped, is_reserved

        members: dict[str, tuple[str, Convert | None]] = {}
        # Undeclared members are not seen; where they are pruned, there are none.
        hides = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        nullable = False
        for name, part in (schema.get("properties") or {}).items():
            inner = self._part(part)
            field = name if is_reserved(name) else escaped(name)
            nullable = nullable or bool(part.get("nullable"))
            if hides or inner is not None or field != name:
                members[name] = (field, inner)
        if not hides:
            return _members(members) if members or nullable else None
        if whole:
            members.update((name, (name, None)) for name in _META if name not in members)
        return _members(members, hides=True)

    def _part(self, schema: Mapping[str, Any]) -> Convert | None:
        return self.of(schema, whole=bool(schema.get("x-kubernetes-embedded-resource")))


def _number(value: Any, _: Wrong) -> Any:
    return float(value)


def _integer(value: Any, wrong: Wrong) -> Any:
    if type(value) is not int or not is_int64(value):
        return _unusable("invalid data, expected int, got float64", wrong)
    return value


def _whole_or_text(value: Any, wrong: Wrong) -> Any:
    if type(value) is not str and (type(value) is not int or not is_int64(value)):
        what = "invalid data, expected XIntOrString value to be either a string or integer"
        return _unusable(what, wrong)
    return value


def _unusable(what: str, wrong: Wrong) -> Any:
    from kubetrio.cel.declarations import UNUSABLE
    from kubetrio.cel.messages import opaque

    wrong.append(what)
    return opaque(UNUSABLE, what)


def _each(inner: Convert) -> Convert:
    def convert(value: Any, wrong: Wrong) -> Any:
        if type(value) is not list:
            return value
        return [item if item is None else inner(item, wrong) for item in value]

    return convert


def _values(inner: Convert) -> Convert:
    def convert(value: Any, wrong: Wrong) -> Any:
        if type(value) is not dict:
            return value
        return {key: item if item is None else inner(item, wrong) for key, item in value.items()}

    return convert


def _members(members: Mapping[str, tuple[str, Convert | None]], *, hides: bool = False) -> Convert:
    def convert(value: Any, wrong: Wrong) -> Any:
        if type(value) is not dict:
            return value
        result: Json = {}
        for key, item in value.items():
            field, inner = members.get(key, ("" if hides else key, None))
            if field and item is not None:  # a member that is null is as good as absent
                result[field] = item if inner is None else inner(item, wrong)
        return result

    return convert


# --- texts whose format makes them something else ---


def _text(format_: str) -> Convert | None:
    """What makes values of the texts of a format; None for formats that are but texts."""
    if format_ not in _READS:
        return None
    from kubetrio.cel import messages

    read, name = _READS[format_]
    make: Callable[..., Any] = getattr(messages, name)

    def convert(value: Any, _: Wrong) -> Any:
        # What cannot be read was stored before the schema asked for it: as in kube-apiserver, only
        # a rule that looks at it fails, as a text is nothing that it can calculate with.
        if type(value) is not str:
            return value
        try:
            return make(*read(value))
        except ValueError:
            return value

    return convert


def _instant(text: str) -> tuple[int, int]:
    parts = _moment.fullmatch(text)
    if parts is None:
        raise ValueError(f"no date-time: {text}")
    moment, fraction, sign, hours, minutes = parts.groups()
    seconds = int(datetime.fromisoformat(f"{moment}+00:00").timestamp())
    if sign:
        if int(hours) > _MOST_HOURS or int(minutes) > _MOST_MINUTES:
            raise ValueError(f"time zone offset out of range: {text}")
        offset = (int(hours) * 60 + int(minutes)) * 60
        seconds += offset if sign == "-" else -offset
    if not _FIRST <= seconds <= _LAST:
        raise ValueError(f"out of the range of the engine: {text}")
    return seconds, int(fraction[:9].ljust(9, "0")) if fraction else 0


def _day(text: str) -> tuple[int, int]:
    return _instant(f"{text}T00:00:00Z")


def _span(text: str) -> tuple[int]:
    return (span(text),)


def _bytes(text: str) -> tuple[bytes]:
    return (binascii.a2b_base64(text, strict_mode=True),)


_READS: Mapping[str, tuple[Callable[[str], tuple[Any, ...]], str]] = {
    "date-time": (_instant, "timestamp"),
    "date": (_day, "timestamp"),
    "duration": (_span, "duration"),
    "byte": (_bytes, "octets"),
}
"""By formats: what a value is made of, a ValueError where a text is none; and what makes it."""
