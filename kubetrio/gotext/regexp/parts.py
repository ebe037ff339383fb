"""What is known of the parts of a pattern: what RE2 needs to compile them, and Go's limits.

RE2 compiles a pattern in one step that nothing else in the process can run beside.  So that is
estimated before: its instructions, and the alternatives that are followed from each of them, which
grow with the square of what is optional.

Source: regexp/syntax of Go 1.26 (``repeatIsValid``, ``calcHeight``); RE2's prog.cc (``Flatten``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

WIDE = 12
"""Instructions for a class beyond ASCII."""


class Part(NamedTuple):
    """A part of a pattern.

    Args:
        size: instructions.
        paths: alternatives that are followed within it.
        begin: alternatives at its beginning.
        end: places in it from which its end is reached without a character.
        empty: whether it matches nothing at all.
        repeat: the least limit of repetitions that it is within.
        height: of its tree.
        kind: what it is to the parts around it.
        operated: whether an operator ends it.
    """

    size: int = 1
    paths: int = 1
    begin: int = 1
    end: int = 1
    empty: bool = False
    repeat: int = 0
    height: int = 1
    kind: str = ""
    operated: bool = False


LITERAL = Part(kind="literal")
FOLDED = Part(kind="folded")
WIDE_LITERAL = Part(3, 3, kind="literal")
WIDE_FOLDED = Part(6, 6, kind="folded")
EMPTY = Part(empty=True)
ANY = Part(WIDE, WIDE)
ASCII_CLASS = Part(2, 2)


def then(one: Part | None, two: Part) -> Part:
    """One part and another behind it."""
    if one is None:
        return two
    if one.kind == two.kind and one.kind in ("literal", "folded"):
        return one._replace(size=one.size + two.size, paths=one.paths + two.paths)
    # What is joined already is joined with more, in one node of the tree.
    below = one.height - 1 if one.kind == "concat" else one.height
    beside = two.height - 1 if two.kind == "concat" else two.height
    return Part(
        one.size + two.size,
        one.paths + two.paths + one.end * two.begin,
        one.begin + (two.begin if one.empty else 0),
        two.end + (one.end if two.empty else 0),
        one.empty and two.empty,
        max(one.repeat, two.repeat),
        1 + max(below, beside),
        "concat",
        two.operated,
    )


def either(one: Part | None, two: Part) -> Part:
    """One part or another."""
    if one is None:
        return two
    below = one.height - 1 if one.kind == "alternate" else one.height
    beside = two.height - 1 if two.kind == "alternate" else two.height
    return Part(
        one.size + two.size + 1,
        one.paths + two.paths,
        one.begin + two.begin,
        one.end + two.end,
        one.empty or two.empty,
        max(one.repeat, two.repeat),
        1 + max(below, beside),
        "alternate",
    )


def looped(one: Part, operator: str) -> Part:
    """A part with ``*``, ``+`` or ``?`` behind it."""
    again = 0 if operator == "?" else one.end * one.begin
    return Part(
        one.size + 2,
        one.paths + again,
        one.begin + 1,
        one.end + 1,
        one.empty or operator != "+",
        one.repeat,
        one.height + 1,
        operated=True,
    )


def counted(one: Part, least: int, most: int) -> Part:
    """A part so many times; ``most`` is -1 for without end."""
    times = max(most, least, 1)
    begin, end, paths = one.begin + 1, one.end, one.paths * times + one.end * one.begin * times
    if one.empty:
        begin, end = begin * times, end * times
        paths += one.end * one.begin * times * times // 2
    elif most > least:
        end *= most - least
    bound = least if most < 0 else most
    # Two repetitions in one another may copy what is inside a thousand times together.
    repeat = 0 if most == 0 else bound * max(1, one.repeat) if bound else one.repeat
    empty = one.empty or least == 0
    size, height = one.size * times + times, one.height + 1
    return Part(size, paths, begin, end, empty, repeat, height, operated=True)


@dataclass(slots=True)
class Group:
    """A group that is open.

    Args:
        captures: whether it has a number.
        flags: that hold behind it.
        before: its alternatives so far.
        parts: of the present one, but for the last.
        last: the last part, which an operator can be behind.
    """

    captures: bool
    flags: str
    before: Part | None = None
    parts: Part | None = None
    last: Part | None = None

    def joined(self) -> Part:
        """The present alternative."""
        if self.last is None:
            return EMPTY
        return then(self.parts, self.last)

    def closed(self) -> Part:
        """All of it."""
        found = either(self.before, self.joined())
        if self.captures:
            return found._replace(height=found.height + 1, kind="")
        return found
