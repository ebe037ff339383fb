"""The part of Go's text/template in which stages write statuses.

``{{ .a.b }}``, ``{{ $x := ... }}``, ``if``/``else if``/``else``, ``range`` (with one or two
variables, and ``else``), ``with``, ``end``, pipelines, parentheses, comments and the trimming of
white space; functions are given.  What is beyond that, or is no function, is refused when the
template is read.

Source: pkg.go.dev/text/template.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

Function = Callable[..., Any]
Functions = Mapping[str, Function]
_ACTION = re.compile(r"\{\{(-\s)?(.*?)(\s-)?\}\}", re.DOTALL)
_COMMENT = re.compile(r"/\*.*\*/", re.DOTALL)
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
_REFUSED = frozenset({"define", "template", "block", "break", "continue"})


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
Part = Callable[[Scope], Iterator[str]]


def truth(value: Any) -> bool:
    """Whether a value counts as true."""
    return bool(value)


def shown(value: Any) -> str:
    """A value as it is printed.

    Raises:
        TemplateError: it is a list or an object, which only Go prints as Go does.
    """
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        raise TemplateError("a list or an object cannot be printed; use YAML")
    return str(value)


@dataclass(slots=True)
class Template:
    """A template that was read.

    Args:
        body: renders it.
    """

    body: Part

    def render(self, root: Any, functions: Functions) -> str:
        """Render it of a value.

        Args:
            root: what ``.`` and ``$`` are.
            functions: by name; those that it was read with.

        Raises:
            TemplateError: a function refuses its arguments.
        """
        scope = Scope(root, {"$": [root]}, functions)
        try:
            return "".join(self.body(scope))
        except (TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise TemplateError(str(error)) from error


def read(text: str, functions: Functions) -> Template:
    """Read a template.

    Args:
        text: of it.
        functions: that it may call.

    Raises:
        TemplateError: it is not of the part of the language that is read.
    """
    reader = _Blocks(_pieces(text), functions)
    body = reader.block()
    if reader.ended:
        raise TemplateError(f"unexpected {{{{ {reader.ended} }}}}")
    return Template(body)


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    action: bool


def _pieces(text: str) -> list[_Piece]:
    """Texts and actions in turn, white space trimmed where an action says so."""
    pieces: list[_Piece] = []
    place, trim = 0, False
    for match in _ACTION.finditer(text):
        between = text[place : match.start()]
        between = between.lstrip() if trim else between
        pieces.append(_Piece(between.rstrip() if match.group(1) else between, action=False))
        action = match.group(2).strip()
        if not _COMMENT.fullmatch(action):
            pieces.append(_Piece(action, action=True))
        place, trim = match.end(), bool(match.group(3))
    rest = text[place:].lstrip() if trim else text[place:]
    if "{{" in rest:
        raise TemplateError("an action does not end")
    pieces.append(_Piece(rest, action=False))
    return pieces


# ---------------------------------------------------------------------- blocks


class _Blocks:
    """Makes parts of pieces.

    Attributes:
        ended: the words that ended the last block; empty for the end of the text.
    """

    def __init__(self, pieces: list[_Piece], functions: Functions) -> None:
        self._pieces = iter(pieces)
        self._functions = functions
        self.ended = ""

    def block(self) -> Part:
        """Read up to the words that end a block."""
        parts: list[Part] = []
        self.ended = ""
        for piece in self._pieces:
            if not piece.action:
                if piece.text:
                    parts.append(_text(piece.text))
                continue
            word, _, rest = piece.text.partition(" ")
            if word in ("end", "else"):
                self.ended = piece.text
                break
            if word in _REFUSED:
                raise TemplateError(f"{word} is not supported")
            if word in ("if", "with", "range"):
                parts.append(self._control(word, rest))
                self.ended = ""
            else:
                parts.append(_action(_Expressions(piece.text, self._functions)))
        return _sequence(parts)

    def _control(self, word: str, rest: str) -> Part:
        expressions = _Expressions(rest, self._functions)
        names = expressions.declared()
        if len(names) > (2 if word == "range" else 1):
            raise TemplateError(f"too many variables in {word} {rest}")
        value = expressions.whole()
        body = self.block()
        otherwise = self._otherwise()
        if word == "range":
            return _range(names, value, body, otherwise)
        return _if(names[0] if names else "", value, body, otherwise, moves=word == "with")

    def _otherwise(self) -> Part:
        """Read what stands behind ``else``, up to the end."""
        ended = self.ended.split(None, 2)
        if not ended:
            raise TemplateError("a block does not end")
        if ended[0] == "end":
            if len(ended) > 1:
                raise TemplateError(f"unexpected {self.ended}")
            return _nothing
        if len(ended) > 2 and ended[1] in ("if", "with"):
            return self._control(ended[1], ended[2])
        if len(ended) > 1:
            raise TemplateError(f"unexpected {self.ended}")
        body = self.block()
        if self.ended != "end":
            raise TemplateError(f"unexpected {self.ended or 'end of the text'}")
        return body


def _text(text: str) -> Part:
    return lambda _: iter((text,))


def _nothing(_: Scope) -> Iterator[str]:
    return iter(())


def _sequence(parts: Sequence[Part]) -> Part:
    def rendered(scope: Scope) -> Iterator[str]:
        for part in parts:
            yield from part(scope)

    return rendered


def _action(expressions: _Expressions) -> Part:
    name, new = expressions.assigned()
    value = expressions.whole()

    def rendered(scope: Scope) -> Iterator[str]:
        found = value(scope)
        if not name:
            yield shown(found)
        elif new:
            scope.variables[name] = [found]
        elif name in scope.variables:
            scope.variables[name][0] = found
        else:
            raise TemplateError(f"undefined variable {name}")

    return rendered


def _if(name: str, value: Value, body: Part, otherwise: Part, *, moves: bool) -> Part:
    def rendered(scope: Scope) -> Iterator[str]:
        found = value(scope)
        names = {name: found} if name else {}
        inner = scope.inner(found if moves and truth(found) else scope.dot, names)
        return body(inner) if truth(found) else otherwise(inner)

    return rendered


def _range(names: Sequence[str], value: Value, body: Part, otherwise: Part) -> Part:
    def rendered(scope: Scope) -> Iterator[str]:
        found = value(scope)
        if found is None or found == [] or found == {}:
            yield from otherwise(scope)
            return
        if isinstance(found, dict):
            items: list[tuple[Any, Any]] = sorted(found.items())
        elif isinstance(found, list):
            items = list(enumerate(found))
        else:
            raise TemplateError(f"range can't iterate over {found}")
        for key, item in items:
            pair = (item,) if len(names) == 1 else (key, item)
            yield from body(scope.inner(item, dict(zip(names, pair, strict=False))))

    return rendered


# ---------------------------------------------------------------------- expressions


@dataclass(slots=True)
class _Expressions:
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
        found = self._peek()[1] or "the end"
        return TemplateError(f"unexpected {found} in {{{{ {self.text} }}}}")

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
        found = value(scope)
        return found.get(name) if isinstance(found, dict) else None

    return member
