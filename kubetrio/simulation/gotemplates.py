"""The part of Go's text/template in which stages write statuses.

``{{ .a.b }}``, ``{{ $x := ... }}``, ``if``/``else if``/``else``, ``range`` (with one or two
variables, and ``else``), ``with``, ``end``, pipelines, parentheses, comments and the trimming of
white space; functions are given.  What is beyond that, or is no function, is refused when the
template is read.

Source: pkg.go.dev/text/template.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kubetrio.simulation.goexpressions import Expressions, Functions, Scope, TemplateError, Value

_ACTION = re.compile(r"\{\{(-\s)?(.*?)(\s-)?\}\}", re.DOTALL)
_COMMENT = re.compile(r"/\*.*\*/", re.DOTALL)
_REFUSED = frozenset({"define", "template", "block", "break", "continue"})


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
                parts.append(_action(Expressions(piece.text, self._functions)))
        return _sequence(parts)

    def _control(self, word: str, rest: str) -> Part:
        expressions = Expressions(rest, self._functions)
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


def _action(expressions: Expressions) -> Part:
    name, new = expressions.assigned()
    value = expressions.whole()

    def rendered(scope: Scope) -> Iterator[str]:
        result = value(scope)
        if not name:
            yield shown(result)
        elif new:
            scope.variables[name] = [result]
        elif name in scope.variables:
            scope.variables[name][0] = result
        else:
            raise TemplateError(f"undefined variable {name}")

    return rendered


def _if(name: str, value: Value, body: Part, otherwise: Part, *, moves: bool) -> Part:
    def rendered(scope: Scope) -> Iterator[str]:
        result = value(scope)
        names = {name: result} if name else {}
        inner = scope.inner(result if moves and truth(result) else scope.dot, names)
        return body(inner) if truth(result) else otherwise(inner)

    return rendered


def _range(names: Sequence[str], value: Value, body: Part, otherwise: Part) -> Part:
    def rendered(scope: Scope) -> Iterator[str]:
        result = value(scope)
        if result is None or result == [] or result == {}:
            yield from otherwise(scope)
            return
        if isinstance(result, dict):
            items: list[tuple[Any, Any]] = sorted(result.items())
        elif isinstance(result, list):
            items = list(enumerate(result))
        else:
            raise TemplateError(f"range can't iterate over {result}")
        for key, item in items:
            pair = (item,) if len(names) == 1 else (key, item)
            yield from body(scope.inner(item, dict(zip(names, pair, strict=False))))

    return rendered
