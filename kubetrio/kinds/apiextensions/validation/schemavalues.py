"""Values against the schema of a custom resource, in the words of kube-openapi.

Used for defaults inside CustomResourceDefinitions.  Source: OpenAPI 3.0.3 schema object; the
wording is that of answers recorded from kube-apiserver.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from kubetrio.kinds.common.checks import Causes, Json
from kubetrio.kinds.common.goregexp import is_found
from kubetrio.machinery.fielderrors import (
    format_value,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
    type_invalid,
)
from kubetrio.machinery.timestamps import parse_time

_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array"}


def type_name(value: Any) -> str:
    """The JSON type of a value.

    Args:
        value: a JSON value.
    """
    return "null" if value is None else _NAMES.get(type(value), "object")


def check_value(schema: Mapping[str, Any], value: Any, path: str, out: Causes) -> None:
    """Check a value.

    Args:
        schema: a structural schema.
        value: the value.
        path: its path, which messages leave out.
        out: receives causes.
    """
    _check(schema, value, path, "", out)


def _is_type(value: Any, wanted: str) -> bool:
    mine = type_name(value)
    if mine == wanted:
        return True
    if wanted == "number":
        return mine == "integer"
    return wanted == "integer" and mine == "number" and float(value).is_integer()


def _check(schema: Mapping[str, Any], value: Any, path: str, name: str, out: Causes) -> None:
    if value is None and schema.get("nullable"):
        return
    wanted = schema.get("type") or ""
    if schema.get("x-kubernetes-int-or-string"):
        if type_name(value) not in ("integer", "string"):
            out.append(_type_error(path, name, "integer,string", value))
            return
    elif wanted and not _is_type(value, wanted):
        out.append(_type_error(path, name, wanted, value))
        return
    _enum(schema, value, path, out)
    if isinstance(value, str):
        _text(schema, value, path, name, out)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        _number(schema, value, path, name, out)
    elif isinstance(value, list):
        _list(schema, value, path, name, out)
    elif isinstance(value, dict):
        _object(schema, value, path, name, out)
    for item in schema.get("allOf") or ():
        _check(item, value, path, name, out)


def _type_error(path: str, name: str, wanted: str, value: Any) -> Any:
    mine = type_name(value)
    detail = f'{name} in body must be of type {wanted}: "{mine}"'
    return type_invalid(path, mine, detail)


def _enum(schema: Mapping[str, Any], value: Any, path: str, out: Causes) -> None:
    options = schema.get("enum")
    if options and value not in options:
        shown = [item if isinstance(item, str) else format_value(item) for item in options]
        out.append(not_supported(path, value, shown))


def _text(schema: Mapping[str, Any], value: str, path: str, name: str, out: Causes) -> None:
    longest, shortest = schema.get("maxLength"), schema.get("minLength")
    if longest is not None and len(value) > longest:
        out.append(too_long(path, longest))
    if shortest is not None and len(value) < shortest:
        detail = f"{name} in body should be at least {shortest} chars long"
        out.append(invalid(path, value, detail))
    pattern = schema.get("pattern")
    if pattern and not is_found(pattern, value):
        out.append(invalid(path, value, f"{name} in body should match '{pattern}'"))
    if schema.get("format") == "date-time" and not _is_time(value):
        detail = f'{name} in body must be of type date-time: "{value}"'
        out.append(type_invalid(path, value, detail))


def _is_time(text: str) -> bool:
    try:
        parse_time(text)
    except ValueError:
        return False
    return True


def _number(schema: Mapping[str, Any], value: float, path: str, name: str, out: Causes) -> None:
    low, high, step = (schema.get(key) for key in ("minimum", "maximum", "multipleOf"))
    if high is not None and (value > high or (value == high and schema.get("exclusiveMaximum"))):
        words = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        out.append(invalid(path, value, f"{name} in body should be {words} {_shown(high)}"))
    if low is not None and (value < low or (value == low and schema.get("exclusiveMinimum"))):
        words = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        out.append(invalid(path, value, f"{name} in body should be {words} {_shown(low)}"))
    if step and (Fraction(str(value)) / Fraction(str(step))).denominator != 1:
        detail = f"{name} in body should be a multiple of {_shown(step)}"
        out.append(invalid(path, value, detail))


def _shown(number: float) -> str:
    return format_value(int(number) if float(number).is_integer() else number)


def _list(schema: Mapping[str, Any], value: list[Any], path: str, name: str, out: Causes) -> None:
    most, least = schema.get("maxItems"), schema.get("minItems")
    if most is not None and len(value) > most:
        out.append(too_many(path, len(value), most))
    if least is not None and len(value) < least:
        detail = f"{name} in body should have at least {least} items"
        out.append(invalid(path, len(value), detail))
    items = schema.get("items")
    if isinstance(items, dict):
        for index, item in enumerate(value):
            _check(items, item, f"{path}[{index}]", f"{name}[{index}]", out)


def _object(schema: Mapping[str, Any], value: Json, path: str, name: str, out: Causes) -> None:
    most, least = schema.get("maxProperties"), schema.get("minProperties")
    if most is not None and len(value) > most:
        out.append(too_many(path, len(value), most))
    if least is not None and len(value) < least:
        detail = f"{name} in body should have at least {least} properties"
        out.append(invalid(path, len(value), detail))
    for key in schema.get("required") or ():
        if key not in value:
            out.append(required(f"{path}.{key}"))
    known, others = schema.get("properties") or {}, schema.get("additionalProperties")
    for key, item in value.items():
        inner = known.get(key, others)
        if isinstance(inner, dict):
            _check(inner, item, f"{path}.{key}", f"{name}.{key}" if name else key, out)


def has_unknown(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether a value has members that pruning would remove.

    Args:
        schema: a structural schema.
        value: a JSON value.
    """
    if isinstance(value, list):
        items = schema.get("items")
        return isinstance(items, dict) and any(has_unknown(items, item) for item in value)
    if not isinstance(value, dict):
        return False
    known, others = schema.get("properties") or {}, schema.get("additionalProperties")
    keeps = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    for key, item in value.items():
        if embedded and key in ("apiVersion", "kind", "metadata"):
            continue
        inner = known.get(key, others)
        if inner is None or inner is False:
            if not keeps:
                return True
        elif isinstance(inner, dict) and has_unknown(inner, item):
            return True
    return False
