"""Durations in texts, as Go's ``time.ParseDuration`` reads them and ``Duration.String`` writes."""

from __future__ import annotations

import re

from kubetrio.gotext.text import quote

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_MAX_NS = 2**63 - 1
_MAX_DIGITS = 40  # of a part; more cannot be in range, and would only cost time
_MAX_PARTS = 1000  # Go reads more; no client means them, and each costs time
_part = re.compile(r"([0-9]*)(\.([0-9]*))?([^0-9.]*)")


def parse_duration(text: str) -> float:
    """Seconds of a duration such as ``1h30m`` or ``-1.5s``.

    Raises:
        ValueError: no such duration; Go's message.
    """
    return nanoseconds(text) / 1e9


def nanoseconds(text: str) -> int:
    """Nanoseconds of a duration; see `parse_duration`.

    Raises:
        ValueError: no such duration; Go's message.
    """
    at = 1 if text[:1] in ("+", "-") else 0
    sign = -1 if text[:1] == "-" else 1
    if text[at:] == "0":
        return 0
    if at == len(text):
        raise _invalid(text)
    total = parts = 0
    while at < len(text):
        part = _part.match(text, at)
        whole, point, fraction, unit = part.groups() if part else ("", None, "", "")
        if not whole and not fraction:
            raise _invalid(text)
        if not unit:
            raise ValueError(f"time: missing unit in duration {quote(text)}")
        if unit not in _UNITS:
            raise ValueError(f"time: unknown unit {quote(unit)} in duration {quote(text)}")
        whole = whole.lstrip("0")
        if len(whole) > _MAX_DIGITS:
            raise _invalid(text)
        scale = _UNITS[unit]
        total += int(whole or "0") * scale
        if point and fraction:
            kept = fraction[:_MAX_DIGITS]
            total += int(kept) * scale // 10 ** len(kept)
        parts += 1
        if total > _MAX_NS or parts > _MAX_PARTS:
            raise _invalid(text)
        at = part.end() if part else len(text)
    return sign * total


def duration_text(seconds: float) -> str:
    """A duration as Go prints it: ``1h2m3.5s``, ``250ms``, ``12.3µs``, ``0s``."""
    count = round(abs(seconds) * 1e9)
    if not count:
        return "0s"
    sign = "-" if seconds < 0 else ""
    for unit in ("ns", "µs", "ms"):
        if count < 1000 * _UNITS[unit]:
            return f"{sign}{_decimal(count, _UNITS[unit])}{unit}"
    hours, rest = divmod(count, _UNITS["h"])
    minutes, rest = divmod(rest, _UNITS["m"])
    larger = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{larger}{_decimal(rest, _UNITS['s'])}s"


def _decimal(count: int, unit: int) -> str:
    """So many nanoseconds in a unit, without zeros at the end."""
    whole, rest = divmod(count, unit)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0").rstrip(".")


def _invalid(text: str) -> ValueError:
    return ValueError(f"time: invalid duration {quote(text)}")
