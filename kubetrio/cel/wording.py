"""Errors in cel-go's words: the engine's differ in a prefix, a suffix and some sentences.

Source: what a kube-apiserver answers ("compilation failed: ERROR: <input>:1:1: ...").
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kubetrio.cel.syntax import path_of, walk

_code = re.compile(r"^[A-Z_]+: ")
_suffix = re.compile(r" \[[A-Z_]+\]$")
_entry = re.compile(r"^ERROR: <input>:(\d+):(\d+): (.*)$")
_undeclared = re.compile(r"undeclared reference to '([^']*)'")
_applied = re.compile(r" applied to '.*'$")
_no_overload = re.compile(r"found no matching overload for '([^']*)' applied to '\((.*)\)'$")
_times = re.compile(r"google\.protobuf\.(Duration|Timestamp)")
_struct = re.compile(r"(undefined field '[^']*') not found in struct '[^']*'")

OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
"""What is said when an expression loops for too long."""

BUDGET_ERROR = "Iteration budget exceeded"
NO_MESSAGE = "Applying SELECT to non-message type"
"""The engine's words for a member of a null or a scalar: it does not say which."""

_RUNTIME: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), text)
    for pattern, text in (
        (r'Key not found in map : "(.*)"', r"no such key: \1"),
        (r"Key not found in map : (.*)", r"no such key: \1"),
        (r"Index error: index=(-?\d+) size=\d+", r"index out of bounds: \1"),
        (r"No matching overloads found : .*", "no such overload"),
        (r"No value with name \"(.*)\" found in Activation", r"no such attribute(s): \1"),
        (r"divide by zero", "division by zero"),
        (r"int64 overflow|uint64 overflow|int64 out of uint64 range", "integer overflow"),
        (
            r"cannot convert string to (int|uint|double|bool)",
            r"type conversion error from 'string' to '\1'",
        ),
        (
            r"String to (Duration|Timestamp) conversion failed",
            r"type conversion error from 'string' to 'google.protobuf.\1'",
        ),
        (r"optional.none\(\) dereference", "optional.none() dereference"),
        (r"invalid regular expression: (.*)", r"error parsing regexp: \1"),
        (
            r"(?:<string>\.)?(?:charAt|substring)\(.*\): .* (?:greater|less) than .*",
            "index out of range",
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an expression.

    Args:
        offset: where, in characters from the beginning.
        text: what.
    """

    offset: int
    text: str


def _offset(source: str, line: int, column: int) -> int:
    lines = source.split("\n")
    return sum(len(one) + 1 for one in lines[: line - 1]) + column - 1


def problems(message: str, source: str, parsed: Any = None) -> list[Problem]:
    """What the engine found, in cel-go's words.

    Args:
        message: the engine's error.
        source: the expression.
        parsed: its ``ParsedExpr``, None when it cannot be parsed.
    """
    result: list[Problem] = []
    text = _suffix.sub("", _code.sub("", message))
    for line in text.split("\n"):
        entry = _entry.match(line)
        if entry:
            at, what = _offset(source, int(entry[1]), int(entry[2])), entry[3]
            what = _applied.sub(_with_short_names, _struct.sub(r"\1", what))
            result.append(_translated(Problem(at, what), parsed))
    return result or [Problem(0, text)]


def _with_short_names(found: re.Match[str]) -> str:
    return _times.sub(lambda name: name[1].lower(), found[0]).replace("null_type", "null")


def _translated(problem: Problem, parsed: Any) -> Problem:
    """Name the first part of an undeclared ``a.b.c``, as cel-go does, and point to it."""
    if parsed is None:
        return problem
    positions = parsed.source_info.positions
    if overload := _no_overload.match(problem.text):
        return _of_a_method(problem, overload, parsed)
    undeclared = _undeclared.match(problem.text)
    if not undeclared or "." not in undeclared[1]:
        return problem
    for node in walk(parsed.expr):
        if path_of(node) == undeclared[1] and positions.get(node.id) == problem.offset:
            root = node
            while root.WhichOneof("expr_kind") == "select_expr":
                root = root.select_expr.operand
            name = root.ident_expr.name
            return Problem(
                positions[root.id], f"undeclared reference to '{name}' (in container '')"
            )
    return problem


def _of_a_method(problem: Problem, found: re.Match[str], parsed: Any) -> Problem:
    """Set what a method is called on apart from its arguments, as cel-go does."""
    for node in walk(parsed.expr):
        call = node.call_expr
        if (
            call.function == found[1]
            and call.HasField("target")
            and parsed.source_info.positions.get(node.id) == problem.offset
        ):
            first, _, rest = _first_type(found[2])
            text = f"found no matching overload for '{found[1]}' applied to '{first}.({rest})'"
            return Problem(problem.offset, text)
    return problem


def _first_type(types: str) -> tuple[str, str, str]:
    """The first of several types, and the rest."""
    depth = 0
    for at, char in enumerate(types):
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            return types[:at], ",", types[at + 1 :].lstrip()
    return types, "", ""


def listing(found: Iterable[Problem], source: str) -> str:
    """Problems as cel-go lists them, each with its line and a mark below it."""
    lines = source.split("\n")
    out: list[str] = []
    for problem in sorted(set(found), key=lambda one: (one.offset, one.text)):
        before = source[: problem.offset]
        row, column = before.count("\n"), problem.offset - (before.rfind("\n") + 1)
        out.append(
            f"ERROR: <input>:{row + 1}:{column + 1}: {problem.text}\n"
            f" | {lines[row]}\n | {'.' * column}^"
        )
    return "\n".join(out)


def runtime_error(message: str) -> str:
    """An error of an evaluation in cel-go's words."""
    text = _suffix.sub("", _code.sub("", message))
    for pattern, words in _RUNTIME:
        if pattern.fullmatch(text):
            return pattern.sub(words, text)
    return text
