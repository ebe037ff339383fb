"""Expressions in Go's templates: operands, functions, pipelines and variables.

Source: pkg.go.dev/text/template (arguments, pipelines, variables).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

Function = Callable[..., Any]
Functions = Mapping[str, Function]
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>"(?:[^"\\\n]|\\.)*" | `[^`]*`)
      | (?P<number>-?\d+(?:\.\d+)?)
      | (?P<variable>\$\w*)
      | (?P<field>\.[A-Za-z_]\w*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<sign>:=|[=|(),.])
    )""",
    re.VERBOSE,
)
_WORDS = {"true": True, "false": False, "nil": None}


class TemplateError(ValueError):
    """A template that cannot be read, or not be rendered of an object; the text says why."""


@dataclass(slots=True)
class Scope:
    """What a part of a template is rendered of.

    Args:
        dot: the value that ``.`` is.
        variables: by name, ``$`` among them; each in a list of its own, for parts inside change
            those of parts around them.
        functions: by name.
    """

    dot: Any
    variables: dict[str, list[Any]]
    functions: Functions

    def inner(self, dot: Any, variables: Mapping[str, Any]) -> Scope:
        """A part inside, whose variables end with it."""
        new = {name: [value] for name, value in variables.items()}
        return Scope(dot, {**self.variables, **new}, self.functions)


Value = Callable[[Scope], Any]


@dataclass(slots=True)
class Expressions:
    """Reads the inside of an action.

    Args:
        text: of it.
        functions: that it may call.
    """

    text: str
    functions: Functions
    _tokens: list[tuple[str, str, bool]] = field(init=False)  # kind, text, whether a space is first
    _at: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._tokens, place = [], 0
        text = self.text.rstrip()
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise TemplateError(f"{text[place:]!r} is not understood in {{{{ {text} }}}}")
            kind = str(match.lastgroup)
            self._tokens.append((kind, match.group(kind), match.start(kind) > place))
            place = match.end()

    def _peek(self, ahead: int = 0) -> tuple[str, str, bool]:
        place = self._at + ahead
        return self._tokens[place] if place < len(self._tokens) else ("", "", True)

    def _wrong(self) -> TemplateError:
        text = self._peek()[1] or "the end"
        return TemplateError(f"unexpected {text} in {{{{ {self.text} }}}}")

    def declared(self) -> tuple[str, ...]:
        """Take ``$a, $b :=``, the variables of a block; none where there are none."""
        first, second = self._peek(), self._peek(1)
        if first[0] == "variable" and second[1] == ":=":
            self._at += 2
            return (first[1],)
        if first[0] == "variable" and second[1] == "," and self._peek(3)[1] == ":=":
            names = (first[1], self._peek(2)[1])
            self._at += 4
            return names
        return ()

    def assigned(self) -> tuple[str, bool]:
        """Take ``$a :=`` or ``$a =``; the name, and whether the variable is new."""
        first, second = self._peek(), self._peek(1)
        if first[0] == "variable" and second[1] in (":=", "="):
            self._at += 2
            return first[1], second[1] == ":="
        return "", False

    def whole(self) -> Value:
        """Read a pipeline that goes on to the end."""
        value = self._pipeline()
        if self._peek()[0]:
            raise self._wrong()
        return value

    def _pipeline(self) -> Value:
        value = self._command(None)
        while self._peek()[1] == "|":
            self._at += 1
            value = self._command(value)
        return value

    def _command(self, piped: Value | None) -> Value:
        kind, text, _ = self._peek()
        if kind == "name" and text not in _WORDS:
            self._at += 1
            if text not in self.functions:
                raise TemplateError(f"function {text} is not defined")
            arguments = list[Value]()
            while self._peek()[0] and self._peek()[1] not in ("|", ")"):
                arguments.append(self._operand())
            if piped is not None:
                arguments.append(piped)
            return _call(text, arguments)
        if piped is not None:
            raise TemplateError(f"{text} is no function, and nothing can be piped into it")
        return self._operand()

    def _operand(self) -> Value:
        kind, text, _ = self._peek()
        self._at += 1
        value: Value
        if kind == "string":
            constant = text[1:-1] if text.startswith("`") else orjson.loads(text)
            return lambda _: constant
        if kind == "number":
            number = float(text) if "." in text else int(text)
            return lambda _: number
        if kind == "name" and text in _WORDS:
            word = _WORDS[text]
            return lambda _: word
        if kind == "name" and text in self.functions:
            return _call(text, ())
        if kind == "variable":
            value = _variable(text)
        elif kind == "field":
            value = _member(lambda scope: scope.dot, text[1:])
        elif text == ".":
            value = lambda scope: scope.dot  # noqa: E731  (one of several)
        elif text == "(":
            value = self._pipeline()
            if self._peek()[1] != ")":
                raise self._wrong()
            self._at += 1
        else:
            self._at -= 1
            raise self._wrong()
        while (after := self._peek())[0] == "field" and not after[2]:
            self._at += 1
            value = _member(value, after[1][1:])
        return value


def _call(name: str, arguments: Sequence[Value]) -> Value:
    return lambda scope: scope.functions[name](*(one(scope) for one in arguments))


def _variable(name: str) -> Value:
    def found(scope: Scope) -> Any:
        if name not in scope.variables:
            raise TemplateError(f"undefined variable {name}")
        return scope.variables[name][0]

    return found


def _member(value: Value, name: str) -> Value:
    def member(scope: Scope) -> Any:
        result = value(scope)
        return result.get(name) if isinstance(result, dict) else None

    return member
