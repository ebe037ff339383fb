"""JSON values as keys and in messages: what equal values have in common.

Source: k8s.io/kube-openapi/pkg/validation/validate (types); k8s.io/apimachinery (map lists).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.gotext.numbers import is_int64
from kubetrio.wire.gojson import Float
from kubetrio.wire.jsonwire import encode, exact

_CONTAINERS = frozenset({dict, list})
_NAMES: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    float: "number",
    Float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}


def type_name(value: Any) -> str:
    """The JSON type of a value as kube-openapi names it."""
    if type(value) is int:
        return "integer" if is_int64(value) else "number"
    return _NAMES[type(value)]


def steps_of(value: Any) -> int:
    """How many steps it takes to look at all of a JSON value, by its size."""
    return len(encode([value])) >> 3 if type(value) in _CONTAINERS else 1


def canonical(value: Any) -> bytes:
    """A JSON value as text, the same for equal values: members are sorted."""
    return exact(encode([sorted_json(value)]))


def sorted_json(value: Any) -> Any:
    """A JSON value with the members of objects sorted, as Go prints maps."""
    if type(value) is dict:
        return {key: sorted_json(value[key]) for key in sorted(value)}
    return [sorted_json(item) for item in value] if type(value) is list else value


def deep_equal(one: Any, two: Any) -> bool:
    """Whether two JSON values are the same, numbers of other types told apart."""
    return bool(one == two) and canonical(one) == canonical(two)


def keys_of(keys: Sequence[str], item: Any) -> tuple[Any, ...] | None:
    """The values of the keys of an item, None of what is no object."""
    if type(item) is not dict:
        return None
    values = (item.get(name, _MISSING) for name in keys)
    return tuple(_key(one) for one in values)


def _key(value: Any) -> Any:
    if type(value) in _CONTAINERS:
        return canonical(value)
    # 1.0 is another key than 1, as it is another value to Go, until it is stored.
    return ("float64", value) if type(value) in (float, Float) else value


def by_keys(keys: Sequence[str], items: list[Any]) -> dict[Any, Any]:
    """The items of a list by their keys, of items with the same keys the first."""
    by_key: dict[Any, Any] = {}
    for item in items:
        if (mine := keys_of(keys, item)) is not None:
            by_key.setdefault(mine, item)
    return by_key


_MISSING = object()
