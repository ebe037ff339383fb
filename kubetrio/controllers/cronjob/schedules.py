"""When a schedule is due: fields of a cron line, descriptors and fixed periods, in a time zone.

Times are seconds since the epoch.  Where clocks are set forward or back, what Go's ``time.Date``
makes of a local time decides.

Source: github.com/robfig/cron/v3 (``SpecSchedule.Next``); docs "CronJob".
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMES: tuple[dict[str, int], ...] = (
    {},
    {},
    {},
    {name: number for number, name in enumerate(_MONTHS, 1)},
    {name: number for number, name in enumerate(_DAYS)},
)
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = "@every "
_PART = re.compile(r"([0-9.]+)(ns|us|µs|μs|ms|s|m|h)")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_HOUR_S, _NOON, _YEARS = 3600, 12, 5


class Schedule(Protocol):
    """When something is due."""

    def after(self, time: float) -> int | None:
        """The next time that is due, None where there is none in five years."""
        ...


@dataclass(frozen=True, slots=True)
class Every:
    """A fixed period.

    Args:
        period_s: in seconds.
    """

    period_s: int

    def after(self, time: float) -> int | None:
        """See `Schedule`."""
        return int(time) + self.period_s


@dataclass(frozen=True, slots=True)
class Spec:
    """The five fields of a cron line.

    Args:
        minutes: of an hour.
        hours: of a day.
        days: of a month.
        months: of a year.
        weekdays: from Sunday on.
        any_day: whether one of the two kinds of days is ``*``, so that both have to fit.
        zone: whose clock counts.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    zone: dt.tzinfo

    def _local(self, time: int) -> dt.datetime:
        return dt.datetime.fromtimestamp(time, self.zone)

    def _offset(self, time: int) -> int:
        return int((self._local(time).utcoffset() or dt.timedelta()).total_seconds())

    def _date(self, year: int, month: int, day: int, hour: int = 0) -> int:
        """A local time as Go makes it, also one that clocks leave out."""
        first = dt.datetime(year, month, 1, hour, tzinfo=dt.UTC) + dt.timedelta(days=day - 1)
        civil = int(first.timestamp())
        offset = self._offset(civil)
        if offset and self._offset(civil - offset) != offset:
            offset = self._offset(civil - offset)
        return civil - offset

    def _day_fits(self, local: dt.datetime) -> bool:
        by_month = local.day in self.days
        by_week = (local.weekday() + 1) % 7 in self.weekdays
        return (by_month and by_week) if self.any_day else (by_month or by_week)

    def after(self, time: float) -> int | None:
        """See `Schedule`."""
        at, reset = int(time) + 1, False
        last_year = self._local(at).year + _YEARS
        while self._local(at).year <= last_year:
            time_, reset = self._step(at, reset)
            if time_ == at:
                return at
            at = time_
        return None

    def _step(self, at: int, reset: bool) -> tuple[int, bool]:
        """The time itself where it fits, or one that is nearer, and whether fields were reset."""
        now = self._local(at)
        if now.month not in self.months:
            year, month = (now.year + 1, 1) if now.month == len(_MONTHS) else (
                now.year, now.month + 1)  # fmt: skip
            return self._date(year, month, 1), True
        if not self._day_fits(now):
            base = now if reset else self._local(self._date(now.year, now.month, now.day))
            day = self._date(base.year, base.month, base.day + 1, base.hour)
            hour = self._local(day).hour
            if hour:
                day += (24 - hour if hour > _NOON else -hour) * _HOUR_S
            return day, True
        if now.hour not in self.hours:
            begin = at if reset else self._date(now.year, now.month, now.day, now.hour)
            return begin + _HOUR_S, True
        if now.minute not in self.minutes:
            return (at if reset else at - at % 60) + 60, True
        return (at, reset) if now.second == 0 else (at - now.second + 60, True)


def _numbers(word: str, place: int) -> tuple[frozenset[int], bool]:
    """Numbers of a field, and whether it is ``*``."""
    low, high = _BOUNDS[place]
    numbers_, star = set[int](), False
    for part in filter(None, word.split(",")):
        span, _, step = part.partition("/")
        ends = [end.lower() for end in span.split("-")]
        if ends[0] in ("*", "?"):
            first, last = low, high
            star = star or int(step or 1) == 1
        else:
            numbers = [int(_NAMES[place].get(end, end)) for end in ends]
            first, last = numbers[0], numbers[-1]
            if step and len(ends) == 1:
                last = high
        numbers_.update(range(first, last + 1, int(step or 1)))
    return frozenset(numbers_), star


def _every(text: str) -> Every:
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return Every(max(int(seconds), 1))


def zone_of(name: str) -> dt.tzinfo:
    """A time zone by its name.

    Raises:
        ValueError: there is none of that name.
    """
    if name in ("", "UTC", "Local"):
        return dt.UTC
    try:
        return ZoneInfo(name)
    except (OSError, KeyError) as error:
        raise ValueError(f"unknown time zone {name}") from error


@lru_cache(maxsize=256)
def parsed(text: str, zone: str | None = None) -> Schedule:
    """A schedule.

    Args:
        text: a cron line, maybe after the name of a zone.
        zone: name of the time zone, where the line does not say.

    Raises:
        ValueError: it cannot be read.
    """
    if text.startswith(("TZ=", "CRON_TZ=")):
        named, _, text = text.partition(" ")
        zone, text = named.partition("=")[2], text.strip()
    if text.startswith(_EVERY):
        return _every(text.removeprefix(_EVERY))
    words: Sequence[str] = _DESCRIPTORS.get(text, text).split()
    if len(words) != len(_BOUNDS):
        raise ValueError(f"expected exactly 5 fields, found {len(words)}: [{' '.join(words)}]")
    fields = [_numbers(word, place) for place, word in enumerate(words)]
    numbers = [one for one, _ in fields]
    any_day = fields[2][1] or fields[4][1]
    minutes, hours, days, months, weekdays = numbers
    return Spec(minutes, hours, days, months, weekdays, any_day, zone_of(zone or ""))
