"""Functions that make texts, lists and bytes: what they will make is known before it is made.

The engine has most of them and counts none.

Source: the strings extension of cel-go, version 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubetrio.cel.budget import spend

_SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
_SPACES += "\u200a\u2028\u2029\u202f\u205f\u3000"
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_QUOTED = str.maketrans(
    {
        "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t",
        "\v": r"\v", "\\": r"\\", '"': r"\"",
    }
)  # fmt: skip


def joined(parts: list[Any], between: str = "") -> str:
    """Texts with something between them."""
    size = len(between) * max(len(parts) - 1, 0)
    for part in parts:
        if not isinstance(part, str):
            raise ValueError("no such overload")
        size += len(part)
    spend(size)
    return between.join(parts)


def concatenated(parts: list[Any]) -> Any:
    """Texts, or bytes, one behind the other."""
    if parts and isinstance(parts[0], bytes | bytearray):
        size = 0
        for part in parts:
            if not isinstance(part, bytes | bytearray):
                raise ValueError("no such overload")
            size += len(part)
        spend(size)
        return b"".join(parts)
    return joined(parts)


def replaced(text: str, old: str, new: str, count: int = -1) -> str:
    """A text with something for something else."""
    found = len(text) + 1 if not old else text.count(old)
    if count >= 0:
        found = min(found, count)
    spend(len(text) + found * len(new))
    return text.replace(old, new, count)


def quoted(text: str) -> str:
    """A text in quotes."""
    spend(2 * len(text) + 2)
    return f'"{text.translate(_QUOTED)}"'


def split(text: str, separator: str, count: int = -1) -> list[str]:
    """The parts of a text."""
    if count == 0:
        return []
    if not separator:
        cut = len(text) if count < 0 else min(len(text), count)
        spend(10 * cut + len(text))
        return [*text[: cut - 1], text[cut - 1 :]] if cut else []
    found = text.count(separator) + 1
    spend(10 * (found if count < 0 else min(found, count)) + len(text))
    return text.split(separator, count - 1 if count > 0 else -1)


def lower(text: str) -> str:
    """A text with small letters of ASCII."""
    return text.translate(_LOWER)


def upper(text: str) -> str:
    """A text with capital letters of ASCII."""
    return text.translate(_UPPER)


def trimmed(text: str) -> str:
    """A text without spaces around it."""
    return text.strip(_SPACES)


def substring(text: str, begin: int, end: int | None = None) -> str:
    """A part of a text."""
    if end is not None and begin > end:
        raise ValueError(f"invalid substring range. start: {begin}, end: {end}")
    for index in (begin, len(text) if end is None else end):
        if not 0 <= index <= len(text):
            raise ValueError(f"index out of range: {index}")
    return text[begin:end]


def char_at(text: str, index: int) -> str:
    """A character of a text, nothing at its end."""
    if not 0 <= index <= len(text):
        raise ValueError(f"index out of range: {index}")
    return text[index : index + 1]


Row = tuple[str, str, str, Callable[..., Any]]
TEXTS: list[Row] = [
    ("join", ".list<dyn>", "string", joined),
    ("join", ".list<dyn> string", "string", joined),
    ("replace", ".string string string", "string", replaced),
    ("replace", ".string string string int", "string", replaced),
    ("strings.quote", "string", "string", quoted),
    ("split", ".string string", "list<string>", split),
    ("split", ".string string int", "list<string>", split),
    ("lowerAscii", ".string", "string", lower),
    ("upperAscii", ".string", "string", upper),
    ("trim", ".string", "string", trimmed),
    ("substring", ".string int", "string", substring),
    ("substring", ".string int int", "string", substring),
    ("charAt", ".string int", "string", char_at),
]
"""Functions of the extension, as `functions.rows`."""
