"""Steps of a path to a field, in the text form of ``fieldsV1``.

A step is a string: ``f:<name>`` is a member of an object, ``k:<object>`` an item of a list with
these key fields, ``v:<scalar>`` an item of a set, ``i:<number>`` an item by its place.  The text is
canonical (key fields sorted, no spaces, whole numbers without a fraction), so that equal steps are
equal strings, and a set of fields can be what it is on the wire.

Sources: the API reference of ``FieldsV1`` in ``meta/v1``; KEP-555.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from kubetrio.machinery.remember import remembered
from kubetrio.machinery.sorting import sorted_in_steps

Path = tuple[str, ...]
"""Steps from the root of an object."""

_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
_RANKS = {"f": 0, "k": 1, "v": 2, "i": 3}


class UnknownStep(ValueError):
    """A step of a kind that is not known here; readers skip it, as it may come to be known."""


def field(name: str) -> str:
    """The step to a member of an object."""
    return f"f:{name}"


def key(fields: Iterable[tuple[str, Any]]) -> str:
    """The step to the list item with these key fields, whatever their order."""
    inner = ",".join([f"{_quote(name)}:{scalar_text(value)}" for name, value in sorted(fields)])
    return f"k:{{{inner}}}"


def value(scalar: Any) -> str:
    """The step to a member of a set."""
    return f"v:{scalar_text(scalar)}"


def index(place: int) -> str:
    """The step to the list item at a place, counted from zero."""
    return f"i:{place}"


def scalar_text(scalar: Any) -> str:
    """JSON as Go writes it, for a scalar; whole numbers are written without a fraction.

    Raises:
        ValueError: it is none, and is nested too deeply to be written.
    """
    if type(scalar) is str:
        return _quote(scalar)
    if isinstance(scalar, float) and scalar.is_integer() and abs(scalar) < 1e21:
        return str(int(scalar))
    try:
        return orjson.dumps(scalar, float, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError as error:
        raise ValueError("exceeded max depth") from error


def _quote(text: str) -> str:
    quoted = orjson.dumps(text).decode()
    for plain, escaped in _ESCAPES.items():
        if plain in quoted:
            quoted = quoted.replace(plain, escaped)
    return quoted


@remembered(4096, 512)
def parse(text: str) -> str:
    """The canonical form of a step that someone else wrote.

    Raises:
        UnknownStep: the kind of the step is not known.
        ValueError: the text is not a step.
    """
    if text[1:2] != ":":
        raise ValueError(f"not a path element: {text!r}")
    kind, rest = text[0], text[2:]
    if kind == "f":
        return text
    if kind == "k":
        fields = orjson.loads(rest)
        if not isinstance(fields, dict):
            raise ValueError(f"not a set of key fields: {text!r}")
        return key(fields.items())
    if kind == "v":
        return value(orjson.loads(rest))
    if kind == "i":
        return index(int(rest))
    raise UnknownStep(text)


@remembered(4096, 512)
def order(step: str) -> tuple[Any, ...]:
    """Sort key of canonical steps: members, keyed items, set items, places; numbers by size."""
    kind, rest = step[0], step[2:]
    if kind == "k":
        fields: Mapping[str, Any] = orjson.loads(rest)
        return (_RANKS[kind], *((name, *_scalar_order(fields[name])) for name in sorted(fields)))
    if kind == "v":
        return (_RANKS[kind], *_scalar_order(orjson.loads(rest)))
    if kind == "i":
        return (_RANKS[kind], int(rest))
    return (_RANKS[kind], rest)


def _scalar_order(scalar: Any) -> tuple[int, Any]:
    if isinstance(scalar, bool):
        return (2, scalar)
    if isinstance(scalar, int | float):
        return (0, scalar)
    if isinstance(scalar, str):
        return (1, scalar)
    return (3, scalar_text(scalar))


def in_order(steps: Iterable[str]) -> list[str]:
    """Steps in the order in which they are written."""
    ordered = sorted_in_steps(list(steps))
    if not ordered or (ordered[0][0] == "f" and ordered[-1][0] == "f"):
        return ordered
    return sorted_in_steps(ordered, order)


def step_text(step: str) -> str:
    """A step as messages print it: ``.name``, ``[port=80,protocol="TCP"]``, ``[="a"]``, ``[0]``."""
    kind, rest = step[0], step[2:]
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        fields = orjson.loads(rest)
        inner = ",".join(f"{name}={_shown(fields[name])}" for name in sorted(fields))
        return f"[{inner}]"
    if kind == "v":
        return f"[={_shown(orjson.loads(rest))}]"
    return f"[{rest}]"


def _shown(scalar: Any) -> str:
    if isinstance(scalar, str):
        return orjson.dumps(scalar).decode()
    if isinstance(scalar, dict):
        return "".join(f"{name}={_shown(item)}" for name, item in scalar.items())
    if isinstance(scalar, list):
        return f"[{','.join(map(_shown, scalar))}]"
    return scalar_text(scalar)


def path_text(path: Path) -> str:
    """A path as messages print it, such as ``.spec.ports[port=80,protocol="TCP"].name``."""
    return "".join(map(step_text, path))
