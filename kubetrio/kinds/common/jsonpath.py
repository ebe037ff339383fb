r"""JSONPath as kubectl and ``additionalPrinterColumns`` know it; missing members are no error.

============================  ==================================================
``.a.b``, ``['a']``           members; ``\.`` is a dot in a name
``[0]``, ``[-1]``             elements, from the start or the end
``[1:3]``, ``[::2]``          slices with an optional step
``[*]``, ``.*``               all elements or members
``..name``                    a member at any depth
``[0,2]``, ``['a','b']``      unions
``[?(@.type=="Ready")]``      elements for which a comparison (or existence) holds
============================  ==================================================

Two oddities are kept: the ``$`` and ``@`` signs both mean "here", and the name in ``['a.b']`` is
two members unless its dot is escaped.

Source: https://kubernetes.io/docs/reference/kubectl/jsonpath/ and the behaviour of
kube-apiserver 1.36.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kubetrio.machinery.remember import remembered


class JsonPathError(ValueError):
    """A path that does not parse, or that does not fit the object it is asked of."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of objects."""

    name: str


@dataclass(frozen=True, slots=True)
class Slice:
    """Elements of lists; ``stop`` is None for "to the end", ``single`` asks for one element."""

    start: int
    stop: int | None
    step: int
    single: bool


@dataclass(frozen=True, slots=True)
class Everything:
    """All members or elements."""


@dataclass(frozen=True, slots=True)
class Descend:
    """All objects and lists at any depth."""


@dataclass(frozen=True, slots=True)
class Union:
    """The results of several paths, one after the other."""

    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """Elements of lists for which a comparison holds; without an operator, for which left is."""

    left: Path
    operator: str
    right: Path


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant in a comparison."""

    value: str | float | bool


@dataclass(frozen=True, slots=True)
class Identifier:
    """A word that stands for nothing: it parses, and cannot be followed."""

    name: str


Node = Member | Slice | Everything | Descend | Union | Filter | Literal | Identifier
Path = tuple[Node, ...]

_MEMBER = re.compile(r"(?:\\.|[^\s.,\[\]$@{}\\])*", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[\d.]+")
_WORD = re.compile(r"\w[^\s.,\[\]$@{}]*")
_QUOTED = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""")
_KEY = re.compile(r"'([^']*)'")
_SLICE = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_WORDS = {"true": True, "false": False}


@remembered(1024, 1024)
def parse(path: str) -> Path:
    """Parse a path, without the braces of a template.

    Raises:
        JsonPathError: it is not one.
    """
    nodes: list[Node] = []
    position = 0
    while position < len(path):
        if path[position] == "}":  # the template goes on with text, up to the next brace
            opened = path.find("{", position)
            position = len(path) if opened < 0 else opened + 1
            continue
        position, more = _step(path, position)
        nodes.extend(more)
    return tuple(nodes)


def _step(path: str, position: int) -> tuple[int, Path]:
    """Parse one step; returns where it ends and what it is."""
    if path.startswith("[?(", position):
        return _filter(path, position + 3)
    if path.startswith("..", position):
        if path.startswith("..", position + 2):
            raise JsonPathError("invalid multiple recursive descent")
        # The second dot is that of the member, if one follows.
        follows = path[position + 2 : position + 3]
        end = position + 1 if follows.isalnum() or follows == "_" else position + 2
        return end, (Descend(),)
    sign = path[position]
    if sign in " @$":
        return position + 1, ()
    if sign == "[":
        return _brackets(path, position)
    if sign == ".":
        match = _matched(_MEMBER, path, position + 1)
        name = _ESCAPED.sub(r"\1", match.group())
        return match.end(), (Everything() if name == "*" else Member(name),)
    if sign in "\"'":
        match = _matched(_QUOTED, path, position, "unterminated quoted string")
        return match.end(), (Literal(_ESCAPED.sub(r"\1", match.group()[1:-1])),)
    if sign in "+-" or sign.isdigit():
        match = _matched(_NUMBER, path, position)
        return match.end(), (Literal(_number(match.group())),)
    match = _matched(_WORD, path, position)
    word = match.group()
    return match.end(), (Literal(_WORDS[word]) if word in _WORDS else Identifier(word),)


def _matched(pattern: re.Pattern[str], path: str, position: int, why: str = "") -> re.Match[str]:
    match = pattern.match(path, position)
    if match is None:
        sign = path[position]
        shown = f" '{sign}'" if sign.isprintable() else ""
        raise JsonPathError(why or f"unrecognized character in action: U+{ord(sign):04X}{shown}")
    return match


def _number(digits: str) -> int | float:
    try:
        return int(digits) if "." not in digits else float(digits)
    except ValueError:
        raise JsonPathError(f"cannot parse number {digits}") from None


def _brackets(path: str, position: int) -> tuple[int, Path]:
    """Parse ``[...]``, which is a union, a key or a slice."""
    end = path.find("]", position)
    if end < 0:
        raise JsonPathError("unterminated array")
    inside = path[position + 1 : end]
    if "," in inside:
        paths = tuple(parse(f"[{part.strip(' ')}]") for part in inside.split(","))
        return end + 1, (Union(paths),)
    key = _KEY.fullmatch(inside)
    if key is not None:
        return end + 1, parse(f".{key.group(1)}")
    match = _SLICE.fullmatch(":" if inside == "*" else inside)
    if match is None:
        raise JsonPathError(f"invalid array index {inside}")
    start, stop, step = (_bound(group) for group in match.groups())
    single = match.group(2) is None
    last = (start or 0) + 1 if single else stop
    return end + 1, (Slice(start or 0, last, 1 if step is None else step, single),)


def _bound(digits: str | None) -> int | None:
    """One number of a slice, with or without its colon."""
    digits = (digits or "").removeprefix(":")
    if not digits:
        return None
    try:
        return int(digits)
    except ValueError:
        raise JsonPathError(f"invalid array index {digits}") from None


def _filter_end(path: str, position: int) -> int:
    """Where the closing parenthesis of a filter is: not within a quoted text."""
    quote = ""
    while position < len(path):
        sign = path[position]
        if quote:
            if sign == "\\":
                position += 1
            elif sign == quote:
                quote = ""
        elif sign in "\"'":
            quote = sign
        elif sign == ")":
            return position
        position += 1
    raise JsonPathError("unterminated filter")


def _filter(path: str, position: int) -> tuple[int, Path]:
    """Parse the rest of ``[?(...)]``."""
    end = _filter_end(path, position)
    if not path.startswith("]", end + 1):
        raise JsonPathError("unclosed array expect ]")
    inside = path[position:end]
    match = _COMPARISON.fullmatch(inside)
    if match is None:
        return end + 2, (Filter(parse(inside), "", ()),)
    left, sign, right = match.groups()
    return end + 2, (Filter(parse(left), sign, parse(right)),)


def find(path: Path, value: Any) -> list[Any]:
    """Everything in ``value`` that a path leads to.

    Args:
        path: a parsed path.
        value: a JSON value.

    Raises:
        JsonPathError: the path asks something impossible, such as an element of a string.
    """
    values = [value]
    for node in path:
        values = _follow(node, values)
    return values


def _follow(node: Node, values: Sequence[Any]) -> list[Any]:
    match node:
        case Member(name):
            return [v[name] for v in values if isinstance(v, dict) and name in v]
        case Slice():
            return [element for v in values if v is not None for element in _sliced(node, v)]
        case Everything():
            return [child for value in values for child in _children(value)]
        case Descend():
            return [below for value in values for below in _descend(value)]
        case Union(paths):
            return [each for path in paths for value in values for each in find(path, value)]
        case Filter():
            return [element for value in values for element in _filtered(node, value)]
        case Literal(constant):
            return [constant] * len(values)
        case Identifier(name):
            raise JsonPathError(f"unrecognized identifier {name}")


def _sliced(node: Slice, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise JsonPathError("not an array or slice")
    size = len(value)
    start, stop = node.start, size if node.stop is None else node.stop
    if start < 0:
        start += size
    if stop < 0 or (stop == 0 and node.single):  # [-1] ends where the list does
        stop += size
    if start == stop:
        return []
    if not 0 <= start < size or not 0 <= stop <= size or start > stop:
        raise JsonPathError(f"array index out of bounds: index {start}, length {size}")
    if node.step <= 0:
        raise JsonPathError("step must be > 0")
    return value[start : stop : node.step]


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return value if isinstance(value, list) else []


def _descend(value: Any) -> Iterator[Any]:
    """A value and all below it that have children, parents first."""
    children = _children(value)
    if children:
        yield value
        for child in children:
            yield from _descend(child)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _holds(node: Filter, element: Any) -> bool:
    left = find(node.left, element)
    if not node.operator:
        return bool(left)
    right = find(node.right, element)
    if not left or not right:
        return False
    if len(left) > 1 or len(right) > 1:
        raise JsonPathError("can only compare one element at a time")
    if node.operator not in _COMPARE:
        raise JsonPathError(f"unrecognized filter operator {node.operator}")
    kind = type(left[0])
    ordered = node.operator not in ("==", "!=")
    if kind is not type(right[0]) or kind not in (bool, int, float, str) or (
        kind is bool and ordered
    ):  # fmt: skip
        raise JsonPathError("incompatible types for comparison")
    return _COMPARE[node.operator](left[0], right[0])


def _filtered(node: Filter, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise JsonPathError("not an array or slice and cannot be filtered")
    return [element for element in value if _holds(node, element)]
