"""Parsing of the ``Accept`` header and of media types, in the very way kube-apiserver does it.

That is not RFC 9110: there are no quoted strings, ``q=0`` refuses nothing, and the order of clauses
comes from a comparison that is not transitive (a clause goes first if it has more weight, or else
if it is less of a wildcard, whatever the weights).  Source: observed; goautoneg, Go's ``mime``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_SPACE = " \t\r\n"
_WORD = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_QUOTED = r'"(?:[^"\\\r\n]|\\.)*"'
_media_type = re.compile(
    rf"\s*({_WORD}/{_WORD})\s*(?:;\s*{_WORD}\s*=\s*(?:{_WORD}|{_QUOTED})\s*)*(?:;\s*)?"
).fullmatch
_MAX_CHARS = 4096  # of a Content-Type
_parameter = re.compile(rf";\s*({_WORD})\s*=").findall


@dataclass(frozen=True, slots=True)
class Clause:
    """One media range of an ``Accept`` header.

    Args:
        type: before the slash, or ``*``.
        subtype: after it, or ``*``.
        weight: the ``q`` parameter.
        parameters: the others.
    """

    type: str
    subtype: str
    weight: float = 1.0
    parameters: Mapping[str, str] = field(default_factory=dict)

    def goes_before(self, other: Clause) -> bool:
        """Whether this one is sorted before another that stands to its left."""
        return (
            self.weight > other.weight
            or (self.type != "*" and other.type == "*")
            or (self.subtype != "*" and other.subtype == "*")
        )

    def rank(self) -> tuple[float, bool, bool]:
        """A key for sorting that agrees with ``goes_before`` where that makes sense."""
        return (-self.weight, self.type == "*", self.subtype == "*")


# Up to so many, Go sorts by insertion, which shows as the comparison is not transitive.  What it
# does with more is not worth imitating.
_INSERTION_SORTED = 12


def parse_accept(header: str) -> list[Clause]:
    """Clauses of a header, the preferred ones first; what is malformed is skipped.

    Of a longer list the first clauses count.
    """
    clauses = list(_clauses(header))
    if len(clauses) > _INSERTION_SORTED:
        return sorted(clauses, key=Clause.rank)
    ordered: list[Clause] = []
    for clause in clauses:
        index = len(ordered)
        while index and clause.goes_before(ordered[index - 1]):
            index -= 1
        ordered.insert(index, clause)
    return ordered


# No client sends as many; kube-apiserver has no limit of its own but that of all headers together.
_MAX_CLAUSES = 100
_MAX_PARAMETERS = 100


def _parts(header: str) -> list[str]:
    return header.split(",", _MAX_CLAUSES)[:_MAX_CLAUSES]


def _clauses(header: str) -> Iterator[Clause]:
    for part in _parts(header):
        media, *parameters = part.split(";")[: _MAX_PARAMETERS + 1]
        type_, *subtypes = media.split("/")
        type_ = type_.strip(_SPACE)
        if len(subtypes) == 1 and subtypes[0]:
            subtype = subtypes[0].strip(_SPACE)
        elif type_ == "*" and not any(subtypes):
            subtype = "*"
        else:
            continue
        weight = 1.0
        known = {}
        for parameter in parameters:
            name, *values = parameter.split("=")
            if len(values) != 1 or not values[0]:
                continue
            name = name.strip(_SPACE)
            if name == "q":
                weight = _weight(values[0])
            else:
                known[name] = values[0].strip(_SPACE)
        yield Clause(type_, subtype, weight, known)


def _weight(value: str) -> float:
    try:
        weight = float(value)
    except ValueError:
        return 0.0
    return weight if weight == weight else 0.0


def names(header: str) -> Iterator[str]:
    """Media ranges of a header without parameters, in order, as the router sees them."""
    for part in _parts(header):
        yield part.partition(";")[0].strip(" ")


def media_type(content_type: str) -> str:
    """Media type of a ``Content-Type`` in lower case, or empty if the header is malformed."""
    match = _media_type(content_type) if len(content_type) <= _MAX_CHARS else None
    if not match:
        return ""
    parameters = [name.lower() for name in _parameter(content_type)]
    return match[1].lower() if len(set(parameters)) == len(parameters) else ""
