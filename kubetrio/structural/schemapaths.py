"""Paths that point into the schema of a custom resource: ``fieldPath`` of rules, selectable fields.

Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go (``ValidFieldPath``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]

_token = re.compile(
    r"""
    [.\[\]]                                   # a delimiter
    | '(?:[^']|(?<=\\)')*+(?:(?<!\\)')?        # a text in quotes, or one that never ends
    | [^.\[\]]+                                # a name
    """,
    re.VERBOSE | re.DOTALL,
)
_escape = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "'": "'",
    "\\": "\\",
}
_NO_FIELD = "does not refer to a valid field"
_ENDS = "unexpected end of JSON path"


class NoField(ValueError):
    """A path that does not point to a part of a schema."""


@dataclass(frozen=True, slots=True)
class FoundField:
    """The part of a schema that a path points to.

    Args:
        schema: that part.
        path: the path as kube-apiserver prints it, without a dot before it.
        steps: the names in it.
    """

    schema: Schema
    path: str
    steps: Sequence[str]


def find_field(schema: Schema, path: str, *, brackets: bool = True) -> FoundField:
    """The part of a schema that a path points to.

    Args:
        schema: where the path starts.
        path: such as ``.spec.replicas`` or ``.labels['a.b']``.
        brackets: whether names may be in brackets.

    Raises:
        NoField: it points to none.
    """
    current, text, steps = schema, "", []
    for name in _names(path, brackets=brackets):
        properties, others = current.get("properties"), current.get("additionalProperties")
        if properties:
            member = properties.get(name)
            text += f".{name}" if text else name
        else:
            anything: Schema | None = None if others is None else {}
            member = others if isinstance(others, Mapping) else anything
            text += f"[{name}]"
        if member is None:
            raise NoField(_NO_FIELD)
        current = member
        steps.append(name)
    return FoundField(current, text, steps)


def _names(path: str, *, brackets: bool) -> Iterator[str]:
    tokens = (token[0] for token in _token.finditer(path))
    for part in tokens:
        if part == "[" and not brackets:
            raise NoField("array notation is not allowed")
        if part not in ("[", "."):
            raise NoField(f"expected [ or . but got: {part}")
        name = next(tokens, None)
        if name is None:
            raise NoField(_ENDS)
        yield _quoted(name) if part == "[" else name
        if part == "[" and (end := next(tokens, None)) != "]":
            raise NoField(_ENDS if end is None else f"expected ] but got {end}")


def _quoted(token: str) -> str:
    if len(token) < 2 or not token.startswith("'") or not token.endswith("'"):
        raise NoField(f"expected single quoted string but got {token}")
    return _escape.sub(_unescaped, token[1:-1])


def _unescaped(found: re.Match[str]) -> str:
    try:
        return _ESCAPES[found[1]]
    except KeyError:
        raise NoField(f"invalid string literal: invalid escape char {found[0]}") from None
