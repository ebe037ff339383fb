"""Formats of texts that schemas of custom resources may name, as kube-apiserver reads them.

Source: k8s.io/kube-openapi/pkg/validation/strfmt; OpenAPI 3.0.3 "format".
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Callable, Mapping

from kubetrio.gotext.durations import nanoseconds
from kubetrio.gotext.mailaddresses import is_address
from kubetrio.gotext.urls import GoURLError, parse_url
from kubetrio.machinery.names_validation import byte_length

_SHORT = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_BYTE = r"(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"
_FLAGS = re.ASCII
_short_name = re.compile(_SHORT, _FLAGS)
_long_name = re.compile(rf"{_SHORT}(\.{_SHORT})*", _FLAGS)
_card = re.compile(
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})",
    _FLAGS,
)
_color = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_rgb = re.compile(rf"rgb\(\s*{_BYTE}\s*,\s*{_BYTE}\s*,\s*{_BYTE}\s*\)", _FLAGS)
_ssn = re.compile(r"\d{3}[- ]\d{2}[- ]\d{4}", _FLAGS)
_base64 = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
)
_between = re.compile(r"[\s-]+", _FLAGS)  # digits of an ISBN
_isbn10 = re.compile(r"[0-9]{9}[0-9X]")
_isbn13 = re.compile(r"[0-9]{13}")
_object_id = re.compile(r"[0-9a-fA-F]{24}")
_date = re.compile(r"(\d{4})-(\d\d)-(\d\d)", _FLAGS)
_time = re.compile(r"\d\d:\d\d:\d\d(.\d+)?(z|[+-]\d\d:\d\d)", _FLAGS)
_macs = tuple(
    re.compile(pattern)
    for pattern in (
        r"([0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}\2){4}[0-9a-fA-F]{2}",
        r"([0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}\2){6}[0-9a-fA-F]{2}",
        r"([0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}\2){18}[0-9a-fA-F]{2}",
        r"[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}",
        r"[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){3}",
        r"[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){9}",
        r"[0-9a-fA-F]{12}(?:[0-9a-fA-F]{4})?",
        r"[0-9a-fA-F]{40}",
    )
)
_spans = re.compile(r"(?<!\d)(\d+)\s*([A-Za-zµ]+)", _FLAGS)  # digits are looked at once
_UNITS: Mapping[tuple[str, ...], int] = {
    ("ns", "nano"): 1,
    ("us", "µs", "micro"): 1_000,
    ("ms", "milli"): 1_000_000,
    ("s", "sec"): 1_000_000_000,
    ("m", "min"): 60_000_000_000,
    ("h", "hr", "hour"): 3_600_000_000_000,
    ("d", "day"): 86_400_000_000_000,
    ("w", "wk", "week"): 604_800_000_000_000,
}
"""Nanoseconds of a unit by its names: what begins with the last one is it, too."""
_MOST_DIGITS = 19  # of a count; more is never a 64-bit integer
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MOST_NAME = 253
_MOST_LABEL = 63
_MOST_HOST = 255


def _full(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


def _uuid(version: str = "") -> Callable[[str], bool]:
    three = f"{version}[0-9a-f]{{3}}" if version else "[0-9a-f]{4}"
    four = "[89ab][0-9a-f]{3}" if version in ("4", "5") else "[0-9a-f]{4}"
    pattern = rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{three}-?{four}-?[0-9a-f]{{12}}"
    return _full(re.compile(pattern, re.IGNORECASE | re.ASCII))


def _plain(text: str) -> str:
    """An address without leading zeros, which Go took long ago."""
    before, colon, last = text.rpartition(":")
    if "." not in last:
        return text
    plain = (part.lstrip("0") or "0" if part.isdigit() else part for part in last.split("."))
    return f"{before}{colon}{'.'.join(plain)}"


def _ipv4(text: str) -> bool:
    try:
        return "." in text and "%" not in text and bool(ipaddress.ip_address(_plain(text)))
    except ValueError:
        return False


def _ipv6(text: str) -> bool:
    try:
        return ":" in text and "%" not in text and bool(ipaddress.ip_address(text))
    except ValueError:
        return False


def _cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    try:
        ipaddress.ip_network(f"{_plain(address)}/{bits}", strict=False)
    except ValueError:
        return False
    return bool(slash) and bits.isdigit() and "%" not in text


def _is_mac(text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in _macs)


def _is_date(text: str) -> bool:
    parts = _date.fullmatch(text)
    if parts is None:
        return False
    year, month, day = map(int, parts.groups())
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= month <= 12 and 1 <= day <= _DAYS[month - 1] + leap


def _date_time(text: str) -> bool:
    day, separator, rest = text.lower().partition("t")
    rest = rest.partition("t")[0]  # what comes behind a second one is not looked at
    if not separator or not _is_date(day) or _time.fullmatch(rest) is None:
        return False
    hours, minutes, seconds = int(rest[:2]), int(rest[3:5]), int(rest[6:8])
    return hours < 24 and minutes < 60 and seconds < 60


def span(text: str) -> int:
    """Nanoseconds of a text of the format ``duration``, such as ``1h30m`` or ``2 days``.

    Raises:
        ValueError: it is none.
    """
    try:
        return nanoseconds(text)
    except ValueError:
        counts = [(count.lstrip("0"), _unit(name.lower())) for count, name in _spans.findall(text)]
    if not any(unit for _, unit in counts) or any(not _is_count(count) for count, _ in counts):
        raise ValueError(f"unable to parse {text} as duration")
    total = sum(int(count or "0") * unit for count, unit in counts)
    return (total + 2**63) % 2**64 - 2**63  # Go's integers wrap


def _unit(name: str) -> int:
    """Nanoseconds of a unit, 0 for a word that is none."""
    for names, size in _UNITS.items():
        if name in names or name.startswith(names[-1]):
            return size
    return 0


def _is_count(digits: str) -> bool:
    return len(digits) <= _MOST_DIGITS and int(digits or "0") < 2**63


def _duration(text: str) -> bool:
    try:
        span(text)
    except ValueError:
        return False
    return True


def _hostname(text: str) -> bool:
    if not text or byte_length(text) > _MOST_HOST:
        return False
    *labels, last = text.split(".")
    if any(byte_length(label) > _MOST_LABEL for label in (*labels, last)):
        return False
    if not labels:  # with one dash at most, behind the first character
        return _in_host(last[0]) and all(map(_in_host, last[1:].removeprefix("-")))
    return len(last) > 1 and all(map(_is_letter, last)) and all(map(_is_label, labels))


def _is_label(text: str) -> bool:
    if not text or not (_in_host(text[0]) and _in_host(text[-1])):
        return False
    return all(char == "-" or _in_host(char) for char in text)


def _in_host(char: str) -> bool:
    """Whether a character may be in a host name: letters, ASCII digits and symbols."""
    return _is_letter(char) or char in "0123456789" or unicodedata.category(char)[0] == "S"


def _is_letter(char: str) -> bool:
    return unicodedata.category(char)[0] == "L"


def _uri(text: str) -> bool:
    try:
        parsed = parse_url(text)
    except GoURLError:
        return False
    return bool(parsed.scheme) or text.startswith("/") or text == "*"


def _isbn_10(text: str) -> bool:
    digits = _between.sub("", text)
    if _isbn10.fullmatch(digits) is None:
        return False
    values = [10 if char == "X" else int(char) for char in digits]
    return sum(place * value for place, value in enumerate(values, 1)) % 11 == 0


def _isbn_13(text: str) -> bool:
    digits = _between.sub("", text)
    if _isbn13.fullmatch(digits) is None:
        return False
    return sum(int(char) * (3 if at % 2 else 1) for at, char in enumerate(digits)) % 10 == 0


def _credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if _card.fullmatch(digits) is None:
        return False
    doubled = [int(char) * (1 + at % 2) for at, char in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


FORMATS: Mapping[str, Callable[[str], bool]] = {
    "bsonobjectid": _full(_object_id),
    "uri": _uri,
    "email": is_address,
    "hostname": _hostname,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "cidr": _cidr,
    "mac": _is_mac,
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4"),
    "uuid5": _uuid("5"),
    "isbn": lambda text: _isbn_10(text) or _isbn_13(text),
    "isbn10": _isbn_10,
    "isbn13": _isbn_13,
    "creditcard": _credit_card,
    "ssn": _full(_ssn),
    "hexcolor": _full(_color),
    "rgbcolor": _full(_rgb),
    "byte": _full(_base64),
    "password": lambda _: True,
    "date": _is_date,
    "duration": _duration,
    "datetime": _date_time,
    "k8sshortname": lambda text: (
        byte_length(text) <= _MOST_LABEL and _short_name.fullmatch(text) is not None
    ),
    "k8slongname": lambda text: (
        byte_length(text) <= _MOST_NAME and _long_name.fullmatch(text) is not None
    ),
}
"""Checks of texts, by the names of formats without their dashes."""
