"""Label selectors: parse, match, print.

The grammar, the token rules and the error texts are those of kube-apiserver's ``labelSelector``
parameter; see "Labels and Selectors" in the Kubernetes documentation.  A selector is compiled to
one closure when it is made, because lists and watches call it for every object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubetrio.gotext.text import aggregate
from kubetrio.machinery.fielderrors import invalid, quote
from kubetrio.machinery.names_validation import label_key, label_value, label_values

Labels = Mapping[str, str]
_Test = Callable[[Labels], bool]

MOST_REQUIREMENTS = 1_000
_MOST_CAUSES = 100  # of one requirement that are told: a text of 100 KB may have 20,000
_BINARY_OPERATORS = ("in", "notin", "=", "==", "!=", "gt", "lt")
_SYMBOLS = {"=": "=", "==": "==", "!=": "!=", "in": "in", "notin": "notin", ">": "gt", "<": "lt"}
_PRINTED = {"gt": ">", "lt": "<"}
_EXPRESSION_OPERATORS = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "!",
}
_COUNT_MESSAGES = {
    "in": "for 'in', 'notin' operators, values set can't be empty",
    "=": "exact-match compatibility requires one single value",
    "exists": "values set must be empty for exists and does not exist",
}
_END = ""
_WORD = "word"  # the kind of a token that is a key or a value; other tokens are their own kind
_tokens = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>]|[^=!(),<> \t\r\n\0]+)\0?|\0|$)")
_integer = re.compile(r"[+-]?[0-9]+")


def _parse_integer(text: str) -> int | None:
    """A signed 64-bit integer in decimal, or None."""
    if not _integer.fullmatch(text) or len(text) > 1000:
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition of a selector.

    Args:
        key: label key.
        operator: one of ``=``, ``==``, ``!=``, ``in``, ``notin``, ``exists``, ``!`` (absent),
            ``gt``, ``lt``.
        values: sorted values; none for ``exists`` and ``!``.
    """

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.operator == "exists":
            return self.key
        if self.operator == "!":
            return f"!{self.key}"
        values = ",".join(self.values)
        if self.operator in ("in", "notin"):
            return f"{self.key} {self.operator} ({values})"
        return f"{self.key}{_PRINTED.get(self.operator, self.operator)}{values}"


def _no_labels(_: Labels) -> bool:
    return False


def _everything(_: Labels) -> bool:
    return True


def _compare(key: str, limit: str, above: bool) -> _Test:
    bound = _parse_integer(limit)

    def test(labels: Labels) -> bool:
        text = labels.get(key)
        number = None if text is None else _parse_integer(text)
        if number is None or bound is None:
            return False
        return number > bound if above else number < bound

    return test


def _compile_one(requirement: Requirement) -> _Test:
    key, operator, values = requirement.key, requirement.operator, requirement.values
    if operator == "exists":
        return lambda labels: key in labels
    if operator == "!":
        return lambda labels: key not in labels
    if operator in ("gt", "lt"):
        return _compare(key, values[0], operator == "gt")
    if len(values) == 1:
        value = values[0]
        if operator in ("=", "==", "in"):
            return lambda labels: labels.get(key) == value
        return lambda labels: labels.get(key) != value
    several = frozenset(values)
    if operator == "in":
        return lambda labels: labels.get(key) in several
    return lambda labels: labels.get(key) not in several


def _compile(requirements: tuple[Requirement, ...]) -> _Test:
    tests = tuple(map(_compile_one, requirements))
    if not tests:
        return _everything
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        first, second = tests
        return lambda labels: first(labels) and second(labels)

    def every(labels: Labels) -> bool:
        for test in tests:  # noqa: SIM110 -- all() with a generator takes twice as long
            if not test(labels):
                return False
        return True

    return every


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements must hold.

    Args:
        requirements: ordered by key.
        nothing: whether no object at all is selected.
    """

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False
    _test: _Test = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        test = _no_labels if self.nothing else _compile(self.requirements)
        object.__setattr__(self, "_test", test)

    def matches(self, labels: Labels) -> bool:
        """Whether an object with these labels is selected.

        Args:
            labels: label keys to values, empty when the object has none.
        """
        return self._test(labels)

    @property
    def empty(self) -> bool:
        """Whether every object is selected because there is no requirement."""
        return not self.requirements and not self.nothing

    def exact(self, key: str) -> str | None:
        """The one value the selector allows for a key, or None.

        Args:
            key: label key.
        """
        for requirement in self.requirements:
            if requirement.key == key:
                pinned = requirement.operator in ("=", "==", "in") and len(requirement.values) == 1
                return requirement.values[0] if pinned else None
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING = Selector()
"""Selects every object."""
NOTHING = Selector(nothing=True)
"""Selects no object."""


def _ordered(requirements: Iterable[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def _count_message(operator: str, count: int) -> str:
    """What is wrong with the number of values, or an empty text."""
    if operator in ("in", "notin"):
        return "" if count else _COUNT_MESSAGES["in"]
    if operator in ("exists", "!"):
        return "" if not count else _COUNT_MESSAGES["exists"]
    return "" if count == 1 else _COUNT_MESSAGES["="]


def _requirement(key: str, operator: str, values: list[str]) -> Requirement:
    """A checked requirement.

    Raises:
        ValueError: one message, or several in brackets.
    """
    causes = []
    if messages := label_key(key):
        causes.append(invalid("key", key, "; ".join(messages)))
    if message := _count_message(operator, len(values)):
        causes.append(invalid("values", values or None, message))
    if operator in ("gt", "lt"):
        causes.extend(
            invalid(
                f"values[{index}]",
                value,
                "for 'Gt', 'Lt' operators, the value must be an integer",
            )
            for index, value in enumerate(values)
            if _parse_integer(value) is None
        )
    for index, value in enumerate(() if label_values(values) else values):
        if messages := label_value(value):
            causes.append(invalid(f"values[{index}][{key}]", value, "; ".join(messages)))
            if len(causes) == _MOST_CAUSES:
                break
    if causes:
        raise ValueError(aggregate(map(str, causes)))
    # Those of a text are sorted, and sorting them again costs nothing as long as they stay so.
    return Requirement(key, operator, tuple(sorted(dict.fromkeys(values))))


class _Parser:
    """Recursive descent over the tokens of one selector."""

    def __init__(self, text: str) -> None:
        # A NUL ends the token before it; on its own it ends the text.  Behind the end there may be
        # more that is never looked at.
        self._tokens: list[str] = _tokens.findall(text)
        self._next = 0

    def peek(self) -> str:
        return self._tokens[self._next]

    def take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1]

    @staticmethod
    def kind(found: str) -> str:
        """``word`` for what can be a key or a value: keywords can be both."""
        return found if found in _NOT_WORDS else _WORD

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while True:
            part = self.peek()
            if part == _END:
                return requirements
            if self.kind(part) not in (_WORD, "!"):
                raise ValueError(f"found '{part}', expected: !, identifier, or 'end of string'")
            if len(requirements) == MOST_REQUIREMENTS:
                raise ValueError(f"more than {MOST_REQUIREMENTS} requirements")
            try:
                requirements.append(self._parse_requirement())
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from None
            separator = self.take()
            if separator == _END:
                return requirements
            if separator != ",":
                raise ValueError(f"found '{separator}', expected: ',' or 'end of string'")
            following = self.peek()
            if self.kind(following) not in (_WORD, "!"):
                raise ValueError(f"found '{following}', expected: identifier after ','")

    def _parse_requirement(self) -> Requirement:
        key = self.take()
        negated = key == "!"
        if negated:
            key = self.take()
        if self.kind(key) != _WORD:
            raise ValueError(f"found '{key}', expected: identifier")
        if messages := label_key(key):
            raise ValueError(str(invalid("<nil>", key, "; ".join(messages))))
        if negated:  # an operator after it is left for the caller to refuse
            return _requirement(key, "!", [])
        if self.peek() in (_END, ","):
            return _requirement(key, "exists", [])
        symbol = self.take()
        operator = _SYMBOLS.get(symbol)
        if operator is None:
            raise ValueError(f"found '{symbol}', expected: {', '.join(_BINARY_OPERATORS)}")
        values = self._parse_set() if operator in ("in", "notin") else [self._parse_value()]
        return _requirement(key, operator, sorted(values))

    def _parse_value(self) -> str:
        if self.peek() in (_END, ","):
            return ""
        part = self.take()
        if self.kind(part) != _WORD:
            raise ValueError(f"found '{part}', expected: identifier")
        return part

    def _parse_set(self) -> set[str]:
        part = self.take()
        if part != "(":
            raise ValueError(f"found '{part}' expected: '('")
        first = self.peek()
        if first == ")":
            self.take()
            return {""}
        if first != "," and self.kind(first) != _WORD:
            raise ValueError(f"found '{first}', expected: ',', ')' or identifier")
        values = self._parse_items()
        self.take()  # the parenthesis that ended the items
        return values

    def _parse_items(self) -> set[str]:
        """Words between commas, up to the closing parenthesis; nothing between two is a value."""
        values = self._good_items()
        if values:
            return values
        while True:
            part = self.take()
            if self.kind(part) == _WORD:
                values.add(part)
                following = self.peek()
                if following == ")":
                    return values
                if following != ",":
                    raise ValueError(f"found '{following}', expected: ',' or ')'")
            elif part == ",":
                following = self.peek()
                if not values or following in (",", ")"):
                    values.add("")
                if following == ")":
                    return values
            else:
                raise ValueError(f"found '{part}', expected: ',', or identifier")

    def _good_items(self) -> set[str]:
        """Take all items at once if none is wrong; otherwise return none and take nothing."""
        tokens, begin = self._tokens, self._next
        try:
            items = tokens[begin : tokens.index(")", begin)]
        except ValueError:
            return set()
        commas = bytes(map(",".__eq__, items))
        if b"\0\0" in commas or not _NOT_ITEMS.isdisjoint(items):
            return set()
        self._next += len(items)
        values = set(items)
        values.discard(",")
        if b"\1\1" in commas or commas[0] or commas[-1]:
            values.add("")
        return values


_NOT_WORDS = frozenset((_END, ")", ",", "!", "==", "=", ">", "<", "!=", "("))
_NOT_ITEMS = _NOT_WORDS - {","}


def parse(text: str) -> Selector:
    """Parse a ``labelSelector`` parameter.

    Args:
        text: requirements separated by commas; empty selects everything.

    Raises:
        ValueError: not a selector, in kube-apiserver's words; or more than `MOST_REQUIREMENTS`.
    """
    if not text:
        return EVERYTHING
    return _ordered(_Parser(text).parse())


def from_label_selector(selector: Mapping[str, Any] | None) -> Selector:
    """The selector of a ``LabelSelector`` object.

    Args:
        selector: with ``matchLabels`` and ``matchExpressions``; empty selects everything, None
            selects nothing.

    Raises:
        ValueError: a bad operator, key or value, in kube-apiserver's words.
    """
    if selector is None:
        return NOTHING
    requirements = [
        _requirement(key, "=", [value])
        for key, value in sorted((selector.get("matchLabels") or {}).items())
    ]
    for expression in selector.get("matchExpressions") or ():
        name = expression.get("operator", "")
        operator = _EXPRESSION_OPERATORS.get(name)
        if operator is None:
            raise ValueError(f"{quote(name)} is not a valid label selector operator")
        values = list(expression.get("values") or ())
        requirements.append(_requirement(expression.get("key", ""), operator, values))
    return _ordered(requirements)
