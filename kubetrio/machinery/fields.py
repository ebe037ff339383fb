"""Field selectors: parse, match, print.

The grammar and the error texts are those of kube-apiserver's ``fieldSelector`` parameter; see
"Field Selectors" in the Kubernetes documentation.  Which fields a resource knows is in
:mod:`kubetrio.machinery.fieldsets`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

Requirement = tuple[str, str, str]
"""Field, operator (``=`` or ``!=``), value."""

MOST_REQUIREMENTS = 1_000
_operator = re.compile("!=|==|=")
_ESCAPABLE = "\\,="


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements must hold; a field an object does not have is the empty string.

    Args:
        requirements: in the order of their texts.
    """

    requirements: tuple[Requirement, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether every object is selected."""
        return not self.requirements

    def matches(self, values: Mapping[str, str]) -> bool:
        """Whether an object with these field values is selected.

        Args:
            values: field paths to values, as made by ``FieldSelectors.values``.
        """
        for field, operator, value in self.requirements:
            if (values.get(field, "") == value) is (operator == "!="):
                return False
        return True

    def exact(self, field: str) -> str | None:
        """The value the selector pins a field to, or None.

        Args:
            field: field path.
        """
        for name, operator, value in self.requirements:
            if name == field and operator == "=":
                return value
        return None

    def without(self, field: str) -> Selector:
        """The selector less every requirement on a field.

        Args:
            field: field path.
        """
        return Selector(tuple(item for item in self.requirements if item[0] != field))

    def __str__(self) -> str:
        return ",".join(
            f"{field}{operator}{escape(value)}" for field, operator, value in self.requirements
        )


EVERYTHING = Selector()
"""Selects every object."""


def escape(value: str) -> str:
    r"""A value as it is written in a selector: ``\``, ``,`` and ``=`` after a backslash.

    Args:
        value: any text.
    """
    for char in _ESCAPABLE:
        value = value.replace(char, f"\\{char}")
    return value


def _unescape(value: str) -> str:
    if not any(char in value for char in _ESCAPABLE):
        return value
    out: list[str] = []
    escaped = False
    for char in value:
        if escaped:
            if char not in _ESCAPABLE:
                raise ValueError(f"invalid field selector: invalid escape sequence: \\{char}")
            out.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in _ESCAPABLE:
            raise ValueError(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            out.append(char)
    if escaped:
        raise ValueError("invalid field selector: invalid escape sequence: \\")
    return "".join(out)


def _split(text: str) -> list[str]:
    """The parts between commas that have no backslash before them."""
    if "\\" not in text:
        return text.split(",")
    parts: list[str] = []
    start = 0
    escaped = False
    for index, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == ",":
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return parts


def _parse_part(part: str) -> Requirement | None:
    sign = _operator.search(part)
    if sign is None:
        return None
    operator = "!=" if sign[0] == "!=" else "="
    return part[: sign.start()], operator, _unescape(part[sign.end() :])


def parse(text: str) -> Selector:
    """Parse a ``fieldSelector`` parameter.

    Args:
        text: requirements separated by commas; empty selects everything.

    Raises:
        ValueError: not a selector, in kube-apiserver's words; or more than `MOST_REQUIREMENTS`.
    """
    if not text:
        return EVERYTHING
    requirements = []
    parts = [part for part in _split(text) if part]
    if len(parts) > MOST_REQUIREMENTS:
        raise ValueError(f"invalid field selector: more than {MOST_REQUIREMENTS} requirements")
    for part in sorted(parts):
        requirement = _parse_part(part)
        if requirement is None:
            raise ValueError(f"invalid selector: '{text}'; can't understand '{part}'")
        if requirement[0] or requirement[2]:  # one about nothing selects everything
            requirements.append(requirement)
    return Selector(tuple(requirements))
