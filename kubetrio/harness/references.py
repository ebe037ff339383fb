r"""References of a script's steps to earlier answers: ``{{N.path}}``.

``{{1.metadata.uid}}`` is the member ``uid`` of ``metadata`` of what step 1 answered; steps are
numbered from 1, and a number in a path is a place in a list, from 0.  A dot of a name is written
``\.``.  A text of a body that is one reference becomes the value itself, which may be a number or
an object; elsewhere the value is put into the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

_TEXT = r"\{\{(\d+)\.([^{}]+)\}\}"
REFERENCE = re.compile(_TEXT)
IN_JSON = re.compile(rf'"{_TEXT}"|{_TEXT}')
"""A text of JSON that is one reference, or a reference."""
_DOT = re.compile(r"(?<!\\)\.")
Answers = Callable[[int], Any]
"""The parsed body of the answer to a step, by its number; `LookupError` where there is none."""


class UnresolvedError(LookupError):
    """A reference leads nowhere; the text is the reference."""


def resolved(value: Any, answers: Answers) -> Any:
    """A value with its references replaced, those in keys of objects excepted.

    Args:
        value: JSON.
        answers: see `Answers`.

    Raises:
        UnresolvedError: a reference leads nowhere.
    """
    match value:
        case str():
            whole = REFERENCE.fullmatch(value)
            return value_at(whole, answers) if whole else in_text(value, answers)
        case Mapping():
            return {key: resolved(one, answers) for key, one in value.items()}
        case list() | tuple():
            return [resolved(one, answers) for one in value]
    return value


def in_text(text: str, answers: Answers) -> str:
    """A text with its references replaced.

    Raises:
        UnresolvedError: a reference leads nowhere.
    """
    return REFERENCE.sub(lambda match: shown(value_at(match, answers)), text)


def in_path(path: str, answers: Answers) -> str:
    """A path and query with its references replaced by escaped texts.

    Raises:
        UnresolvedError: a reference leads nowhere.
    """
    return REFERENCE.sub(lambda match: quote(shown(value_at(match, answers)), safe=""), path)


def shown(value: Any) -> str:
    """A value as it is put into a text."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def parts(path: str) -> list[str]:
    """Names of a reference's path."""
    return [part.replace("\\.", ".") for part in _DOT.split(path)]


def numbers(value: Any) -> set[int]:
    """Numbers of the steps that the references of a value lead to."""
    match value:
        case str():
            return {int(match[1]) for match in REFERENCE.finditer(value)}
        case Mapping():
            return {number for one in value.values() for number in numbers(one)}
        case list() | tuple():
            return {number for one in value for number in numbers(one)}
    return set()


def value_at(match: re.Match[str], answers: Answers) -> Any:
    """What a reference leads to.

    Raises:
        UnresolvedError: nowhere.
    """
    try:
        value = answers(int(match[1]))
        for part in parts(match[2]):
            value = value[int(part)] if isinstance(value, list) else value[part]
    except (LookupError, TypeError, ValueError):
        raise UnresolvedError(match[0]) from None
    return value
