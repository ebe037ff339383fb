"""Cron schedules: whether one can be read, in the words of the parser that kube-apiserver uses.

Five fields (minute, hour, day of month, month, day of week) of lists of ranges with steps, or one
of the descriptors.  Source: "CronJob" (schedule syntax) in the Kubernetes documentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

_DESCRIPTORS = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_EVERY = "@every "
_ZONE_PREFIXES = ("TZ=", "CRON_TZ=")
# The parser looks for the end of the zone and does not look whether it found one.
_PANIC = "invalid schedule format: runtime error: slice bounds out of range [:-1]"
_duration = re.compile(r"[+-]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_integer = re.compile("[+-]?[0-9]+")
_zone_part = re.compile("[A-Za-z._0-9+-]{1,14}")


@dataclass(frozen=True, slots=True)
class _Bounds:
    """What one field may be.

    Args:
        low: least number.
        high: greatest number.
        names: names of numbers, in lower case.
    """

    low: int
    high: int
    names: dict[str, int] = field(default_factory=dict)


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


def schedule_problem(text: str) -> str:
    """What is wrong with a schedule, empty when nothing is.

    Args:
        text: the schedule, maybe after a ``TZ=`` or ``CRON_TZ=`` word.
    """
    if not text:
        return "empty spec string"
    if text.startswith(_ZONE_PREFIXES):
        zone, space, rest = text.partition(" ")
        if not space:
            return _PANIC
        name = zone.partition("=")[2]
        if problem := zone_problem(name):
            return f"provided bad location {name}: {problem}"
        text = rest.strip()
    if text.startswith("@"):
        return _descriptor(text)
    words = text.split()
    if len(words) != len(_FIELDS):
        return f"expected exactly 5 fields, found {len(words)}: [{' '.join(words)}]"
    try:
        for word, bounds in zip(words, _FIELDS, strict=True):
            for part in filter(None, word.split(",")):
                _check_range(part, bounds)
    except ValueError as error:
        return str(error)
    return ""


def _descriptor(text: str) -> str:
    if text in _DESCRIPTORS:
        return ""
    if not text.startswith(_EVERY):
        return f"unrecognized descriptor: {text}"
    period = text[len(_EVERY) :]
    if _duration.fullmatch(period):
        return ""
    return f'failed to parse duration {text}: time: invalid duration "{period}"'


def _number(text: str) -> int:
    if not _integer.fullmatch(text) or len(text) > 18:
        reason = f'strconv.Atoi: parsing "{text}": invalid syntax'
        raise ValueError(f"failed to parse int from {text}: {reason}")
    number = int(text)
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number


def _number_or_name(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _number(text) if named is None else named


def _check_range(text: str, bounds: _Bounds) -> None:
    """Raise ValueError for a range that cannot be."""
    span, *steps = text.split("/")
    ends = span.split("-")
    if ends[0] in ("*", "?"):
        start, end = bounds.low, bounds.high
    else:
        start = end = _number_or_name(ends[0], bounds)
        if len(ends) > 2:
            raise ValueError(f"too many hyphens: {text}")
        if len(ends) == 2:
            end = _number_or_name(ends[1], bounds)
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {text}")
    step = _number(steps[0]) if steps else 1
    if steps and len(ends) == 1:
        end = bounds.high
    if start < bounds.low:
        raise ValueError(f"beginning of range ({start}) below minimum ({bounds.low}): {text}")
    if end > bounds.high:
        raise ValueError(f"end of range ({end}) above maximum ({bounds.high}): {text}")
    if start > end:
        raise ValueError(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if not step:
        raise ValueError(f"step of range should be a positive number: {text}")


# --- time zones ---


@cache
def _zones() -> Callable[[str], bool]:
    """Whether this machine knows a zone; all are known where it has no time zone data."""
    from zoneinfo import available_timezones

    known = available_timezones()
    return known.__contains__ if known else lambda _: True


def zone_problem(name: str) -> str:
    """What is wrong with the name of a time zone, empty when nothing is.

    Args:
        name: such as ``Europe/Paris``.
    """
    if name in ("", "UTC"):
        return ""
    for part in name.split("/"):
        if part in (".", "..") or part.startswith("-") or not _zone_part.fullmatch(part):
            return f"unknown time zone {name}"
    return "" if name == "Local" or _zones()(name) else f"unknown time zone {name}"
