"""The part of jq in which stages say which values of an object they mean.

=====================================  ===============================================
``.a.b``, ``.a["b"]``, ``.a."b"``      members
``.a[]``, ``.a.[]``                    all elements of a list, all values of an object
``.a[0]``                              an element
``F | G``                              what G finds in what F finds
``select(.type == "Ready")``           what a comparison (``==``, ``!=``) holds for
=====================================  ===============================================

What is missing is nothing, and no error.  Anything else of jq is refused when it is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import orjson

Filter = Callable[[Any], Iterator[Any]]
"""Finds values in a value."""

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<number>-?\d+(?:\.\d+)?)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<sign>==|!=|[.|()\[\]])
    )""",
    re.VERBOSE,
)
_WORDS = {"true": True, "false": False, "null": None}


class PathError(ValueError):
    """A path that is not of the part of jq that is read; the text says why."""


def path_of(text: str) -> Callable[[Any], list[Any]]:
    """Read a path; returns what finds its values, nulls left out.

    Raises:
        PathError: it is not of that part of jq.
    """
    reader = _Reader(text)
    path = reader.pipe()
    if reader.peek() != ("", ""):
        raise reader.refused()
    return lambda value: [one for one in path(value) if one is not None]


def _here(value: Any) -> Iterator[Any]:
    yield value


def _member(name: str) -> Filter:
    def member(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return member


def _element(index: int) -> Filter:
    def element(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return element


def _all(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _then(first: Filter, second: Filter) -> Filter:
    def piped(value: Any) -> Iterator[Any]:
        for one in first(value):
            yield from second(one)

    return piped


def _select(left: Filter, wanted: object, *, same: bool) -> Filter:
    def selected(value: Any) -> Iterator[Any]:
        first = next(left(value), None)
        equal = type(first) is type(wanted) and first == wanted
        if equal is same:
            yield value

    return selected


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0

    def refused(self) -> PathError:
        """What to raise at the place that was come to."""
        rest = self._text[self._place :].strip()
        return PathError(f"{self._text!r}: {rest or 'the end'!r} is not understood here")

    def peek(self) -> tuple[str, str]:
        """The kind and the text of the next token, both empty at the end."""
        match = _TOKEN.match(self._text, self._place)
        if match is None:
            if self._text[self._place :].strip():
                raise self.refused()
            return "", ""
        return str(match.lastgroup), match.group(str(match.lastgroup))

    def take(self, *texts: str) -> str:
        """Take the next token if it is one of some, or any; empty if it is not."""
        kind, text = self.peek()
        if not kind or (texts and text not in texts):
            return ""
        match = _TOKEN.match(self._text, self._place)
        self._place = self._place if match is None else match.end()
        return text

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise self.refused()

    def pipe(self) -> Filter:
        path = self._filter()
        while self.take("|"):
            path = _then(path, self._filter())
        return path

    def _filter(self) -> Filter:
        if self.peek() == ("name", "select"):
            return self._selection()
        self.expect(".")
        path = self._after_dot(_here)
        while True:
            if self.take("."):
                path = self._after_dot(path)
            elif self.take("["):
                path = _then(path, self._bracket())
            else:
                return path

    def _after_dot(self, found: Filter) -> Filter:
        kind, text = self.peek()
        if kind == "name":
            self.take()
            return _then(found, _member(text))
        if kind == "string":
            self.take()
            return _then(found, _member(orjson.loads(text)))
        if self.take("["):
            return _then(found, self._bracket())
        if found is _here:
            return found
        raise self.refused()

    def _bracket(self) -> Filter:
        if self.take("]"):
            return _all
        kind, text = self.peek()
        if kind == "string":
            step = _member(orjson.loads(text))
        elif kind == "number" and "." not in text:
            step = _element(int(text))
        else:
            raise self.refused()
        self.take()
        self.expect("]")
        return step

    def _selection(self) -> Filter:
        self.take()
        self.expect("(")
        left = self._filter()
        sign = self.take("==", "!=")
        kind, text = self.peek()
        if not sign or kind not in ("string", "number", "name"):
            raise self.refused()
        if kind == "name" and text not in _WORDS:
            raise self.refused()
        self.take()
        constant = _WORDS[text] if kind == "name" else orjson.loads(text)
        self.expect(")")
        return _select(left, constant, same=sign == "==")
