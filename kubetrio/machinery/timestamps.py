"""Times of API objects: RFC 3339 with seconds (``Time``) or microseconds (``MicroTime``).

The parser accepts and refuses exactly what Go's ``time.Parse`` does with the two layouts, because
clients see its error texts; that is a little more than RFC 3339 (hours of one digit, a comma before
the fraction, offsets up to 24:60).  Printing is always in UTC.  Years 0 to 9999 are read; nothing
here needs ``datetime``, which starts at year 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache

TIME_LAYOUT = "2006-01-02T15:04:05Z07:00"
"""Go's name of RFC 3339 with seconds, as it appears in messages."""
MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
"""Go's name of RFC 3339 with exactly six decimals."""

_DAY = 86_400
_MICRO = 1_000_000
_DIGITS = frozenset("0123456789")
_ZERO_SECONDS = -62_135_596_800  # 0001-01-01T00:00:00Z, the zero value, which prints as null
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_NANO_DIGITS = 9
PRINTED = (
    "[0-9]{4}-"
    "(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)"
    "|(?:0[13578]|1[02])-31)"
    "T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
)
"""Pattern of times as they are printed, up to the fraction and the zone; without leap days.

Most times that are read are those printed before: they are recognised at once.
"""
_canonical = re.compile(f"{PRINTED}Z")
_ZERO_TIME = "0001-01-01T00:00:00Z"


class _Mismatch(Exception):
    """The text has no such element here."""


class _OutOfRange(Exception):
    """The element is a number that cannot be; the argument says of what."""


def _quote(text: str) -> str:
    out = []
    for char in text:
        if char in '"\\':
            out.append(f"\\{char}")
        elif " " <= char < "\x80":
            out.append(char)
        else:
            out.extend(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
    return f'"{"".join(out)}"'


def _digit(text: str, index: int) -> bool:
    return len(text) > index and text[index] in _DIGITS


def _number(text: str, fixed: bool) -> tuple[int, str]:
    """One or two digits (two if fixed) and the rest."""
    if not _digit(text, 0) or (fixed and not _digit(text, 1)):
        raise _Mismatch
    width = 2 if _digit(text, 1) else 1
    return int(text[:width]), text[width:]


class _Parser:
    """State of one parse: the text left and the elements read so far."""

    def __init__(self, text: str) -> None:
        self.rest = text
        self.year = self.month = self.day = 0
        self.hour = self.minute = self.second = 0
        self.nanos = 0
        self.offset = 0

    def read_year(self) -> None:
        head = self.rest[:4]
        if len(head) < 4 or not _DIGITS.issuperset(head):
            raise _Mismatch
        self.year, self.rest = int(head), self.rest[4:]

    def read_month(self) -> None:
        self.month, self.rest = _number(self.rest, True)
        if not 1 <= self.month <= 12:
            raise _OutOfRange("month")

    def read_day(self) -> None:
        self.day, self.rest = _number(self.rest, True)

    def read_hour(self) -> None:
        self.hour, self.rest = _number(self.rest, False)
        if self.hour >= 24:
            raise _OutOfRange("hour")

    def read_minute(self) -> None:
        self.minute, self.rest = _number(self.rest, True)
        if self.minute >= 60:
            raise _OutOfRange("minute")

    def read_second(self) -> None:
        self.second, self.rest = _number(self.rest, True)
        if self.second >= 60:
            raise _OutOfRange("second")

    def read_second_and_fraction(self) -> None:
        """Seconds, and a fraction of any length although the layout has none."""
        self.read_second()
        if self.rest[:1] in (".", ",") and _digit(self.rest, 1):
            end = 2
            while _digit(self.rest, end):
                end += 1
            self._take_fraction(end)

    def read_six_decimals(self) -> None:
        if len(self.rest) < 7 or self.rest[0] not in ".,":
            raise _Mismatch
        if not _DIGITS.issuperset(self.rest[1:7]):
            raise _Mismatch
        self._take_fraction(7)

    def _take_fraction(self, end: int) -> None:
        self.nanos = int(self.rest[1:end][:_NANO_DIGITS].ljust(_NANO_DIGITS, "0"))
        self.rest = self.rest[end:]

    def read_offset(self) -> None:
        text = self.rest
        if text.startswith("Z"):
            self.rest = text[1:]
            return
        if len(text) < 6 or text[3] != ":":
            raise _Mismatch
        self.rest = text[6:]
        hours, _ = _number(text[1:3], True)
        minutes, _ = _number(text[4:6], True)
        if hours > 24:
            raise _OutOfRange("time zone offset hour")
        if minutes > 60:
            raise _OutOfRange("time zone offset minute")
        if text[0] not in "+-":
            raise _Mismatch
        self.offset = (hours * 60 + minutes) * 60 * (-1 if text[0] == "-" else 1)


_Step = tuple[str, str, Callable[[_Parser], None]]
_DATE: tuple[_Step, ...] = (
    ("", "2006", _Parser.read_year),
    ("-", "01", _Parser.read_month),
    ("-", "02", _Parser.read_day),
    ("T", "15", _Parser.read_hour),
    (":", "04", _Parser.read_minute),
)
_ZONE: _Step = ("", "Z07:00", _Parser.read_offset)
_TIME_STEPS: tuple[_Step, ...] = (*_DATE, (":", "05", _Parser.read_second_and_fraction), _ZONE)
_MICRO_STEPS: tuple[_Step, ...] = (
    *_DATE,
    (":", "05", _Parser.read_second),
    ("", ".000000", _Parser.read_six_decimals),
    _ZONE,
)


def _parse(text: str, layout: str, steps: tuple[_Step, ...]) -> tuple[int, int]:
    """Seconds since the epoch (floor) and nanoseconds."""

    def unparsable(rest: str, element: str) -> ValueError:
        return ValueError(
            f"parsing time {_quote(text)} as {_quote(layout)}: "
            f"cannot parse {_quote(rest)} as {_quote(element)}"
        )

    parser = _Parser(text)
    for separator, element, read in steps:
        if separator:
            if not parser.rest.startswith(separator):
                raise unparsable(parser.rest, separator)
            parser.rest = parser.rest[1:]
        before = parser.rest
        try:
            read(parser)
        except _Mismatch:
            raise unparsable(before, element) from None
        except _OutOfRange as what:
            raise ValueError(f"parsing time {_quote(text)}: {what} out of range") from None
    if parser.rest:
        raise ValueError(f"parsing time {_quote(text)}: extra text: {_quote(parser.rest)}")
    if not 1 <= parser.day <= _days_in(parser.year, parser.month):
        raise ValueError(f"parsing time {_quote(text)}: day out of range")
    days = _days_from_civil(parser.year, parser.month, parser.day)
    seconds = days * _DAY + parser.hour * 3600 + parser.minute * 60 + parser.second
    return seconds - parser.offset, parser.nanos


def _days_in(year: int, month: int) -> int:
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return _MONTH_DAYS[month - 1] + leap


# The proleptic Gregorian calendar is counted in eras of 400 years that start on 1 March, so that
# the leap day is the last of its year.
_ERA_DAYS = 146_097
_EPOCH_SHIFT = 719_468  # days from 0000-03-01 to 1970-01-01


def _days_from_civil(year: int, month: int, day: int) -> int:
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _ERA_DAYS + day_of_era - _EPOCH_SHIFT


def _civil_from_days(days: int) -> tuple[int, int, int]:
    era, day_of_era = divmod(days + _EPOCH_SHIFT, _ERA_DAYS)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    return year_of_era + era * 400 + (month <= 2), month, day


@lru_cache(maxsize=256)  # the same seconds are printed again and again
def _format(seconds: int) -> str:
    """Date and time of whole seconds since the epoch, without a zone."""
    days, rest = divmod(seconds, _DAY)
    year, month, day = _civil_from_days(days)
    hour, rest = divmod(rest, 3600)
    minute, second = divmod(rest, 60)
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}"


def parse_time(text: str) -> float:
    """Parse a ``Time``.

    Args:
        text: RFC 3339, with a fraction of a second or without.

    Returns:
        Seconds since the epoch; exact for whole seconds, else to about a microsecond.

    Raises:
        ValueError: not such a text, in the words of Go's ``time`` package.
    """
    seconds, nanos = _parse(text, TIME_LAYOUT, _TIME_STEPS)
    return seconds + nanos / 1e9


def parse_micro(text: str) -> float:
    """Parse a ``MicroTime``.

    Args:
        text: RFC 3339 with exactly six decimals.

    Returns:
        Seconds since the epoch, to about a microsecond.

    Raises:
        ValueError: not such a text, in the words of Go's ``time`` package.
    """
    seconds, nanos = _parse(text, MICRO_LAYOUT, _MICRO_STEPS)
    return seconds + nanos / 1e9


def normalise_time(text: str) -> str | None:
    """A ``Time`` as the server prints it: UTC, the fraction cut off.

    Args:
        text: RFC 3339, with a fraction of a second or without.

    Returns:
        The text, or None for the zero time (year 1), which prints as null.

    Raises:
        ValueError: not such a text, in the words of Go's ``time`` package.
    """
    if _canonical.fullmatch(text):
        return None if text == _ZERO_TIME else text
    seconds, nanos = _parse(text, TIME_LAYOUT, _TIME_STEPS)
    if seconds == _ZERO_SECONDS and not nanos:
        return None
    return f"{_format(seconds)}Z"


def normalise_micro(text: str) -> str | None:
    """A ``MicroTime`` as the server prints it: UTC with six decimals.

    Args:
        text: RFC 3339 with exactly six decimals.

    Returns:
        The text, or None for the zero time (year 1), which prints as null.

    Raises:
        ValueError: not such a text, in the words of Go's ``time`` package.
    """
    seconds, nanos = _parse(text, MICRO_LAYOUT, _MICRO_STEPS)
    if seconds == _ZERO_SECONDS and not nanos:
        return None
    return f"{_format(seconds)}.{nanos // 1000:06d}Z"


def format_time(epoch_seconds: float) -> str:
    """A point in time as a ``Time``.

    Args:
        epoch_seconds: seconds since the epoch; the fraction is cut off.
    """
    return f"{_format(math.floor(epoch_seconds))}Z"


def format_micro(epoch_seconds: float) -> str:
    """A point in time as a ``MicroTime``.

    Args:
        epoch_seconds: seconds since the epoch, taken to the nearest microsecond.
    """
    # The two parts are split first: the product of both would lose bits of the fraction.
    whole = math.floor(epoch_seconds)
    micros = whole * _MICRO + round((epoch_seconds - whole) * _MICRO)
    seconds, rest = divmod(micros, _MICRO)
    return f"{_format(seconds)}.{rest:06d}Z"
