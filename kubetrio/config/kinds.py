"""Kinds of values that flags take: how they are read from text, what they may be, how shown."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from kubetrio.tls.certificates import host_name

ADDRESS_TYPES = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
"""Kinds of addresses that a node may have, in the order in which they are tried."""

MAX_PORT = 65535
SMALLEST_RANGE = 8
"""Addresses that a range of service addresses has at least."""

HOUR_S = 3600

Check = Callable[[Any], str]
"""Says what is wrong with a value, after the value; nothing if it may be so."""


class Kind(NamedTuple):
    """One kind of value.

    Args:
        placeholder: stands for a value in the help.
        parse: reads a value from text; its `ValueError` is told as it is.
        check: says what is wrong with a value.
        show: writes a value as `parse` reads it; empty for none.
        choices: the only texts there are; any that `parse` takes when empty.
        boolean: whether the flag alone means true.
        repeated: whether each flag of several adds one value.
        once: whether the flag may be given once only, where kube-apiserver takes several.
    """

    placeholder: str
    parse: Callable[[str], Any]
    check: Check
    show: Callable[[Any], str] = str
    choices: tuple[str, ...] = ()
    boolean: bool = False
    repeated: bool = False
    once: bool = False


# ---------------------------------------------------------------------- text


def boolean(text: str) -> bool:
    """A pflag boolean.

    Raises:
        ValueError: neither true nor false.
    """
    if text.lower() in ("true", "t", "1"):
        return True
    if text.lower() in ("false", "f", "0"):
        return False
    raise ValueError(f"invalid boolean value {text!r}: use true or false")


_duration_part = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_SMALL = {"us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}


def duration(text: str) -> float:
    """A Go duration such as ``1m30s``, in seconds.

    Raises:
        ValueError: not a duration.
    """
    plain = text[1:] if text[:1] in ("+", "-") else text
    if plain == "0":
        return 0.0
    parts = _duration_part.findall(plain)
    if not parts or "".join(number + unit for number, unit in parts) != plain:
        raise ValueError(f"invalid duration {text!r}: write 500ms, 30s or 1h")
    units = _SECONDS | _SMALL
    seconds = sum(float(number) * units[unit] for number, unit in parts)
    return -seconds if text[0] == "-" and seconds else seconds


def duration_text(seconds: float) -> str:
    """What `duration` reads as so many seconds."""
    if not seconds:
        return "0s"
    milliseconds, parts = round(seconds * 1000), ""
    for unit, value in _SECONDS.items():
        count, milliseconds = divmod(milliseconds, round(value * 1000))
        parts += f"{count}{unit}" if count else ""
    return parts


_SIZES = {"Gi": 1 << 30, "Mi": 1 << 20, "Ki": 1 << 10, "": 1}


def size(text: str) -> int:
    """Bytes, such as ``64Mi`` or ``4096``.

    Raises:
        ValueError: not a size.
    """
    for unit, value in _SIZES.items():
        number = text.removesuffix(unit) if unit else text
        if text.endswith(unit) and number.isascii() and number.isdigit():
            return int(number) * value
    raise ValueError(f"invalid size {text!r}: write bytes, or 512Ki, 64Mi, 1Gi")


def size_text(number: int) -> str:
    """What `size` reads as so many bytes."""
    if not number:
        return "0"
    return next(f"{number // by}{unit}" for unit, by in _SIZES.items() if number % by == 0)


def _port(text: str) -> int:
    try:
        number = _whole(text)
    except ValueError:
        number = -1
    if 0 <= number <= MAX_PORT:
        return number
    raise ValueError(f"invalid port {text!r}: between 0 and {MAX_PORT}")


def _ip(text: str) -> str:
    """An address, or nothing; an embedder may give a name, which the command line takes for none.

    Raises:
        ValueError: anything else.
    """
    plain = text.strip()
    if not plain:
        return ""
    try:
        return str(ipaddress.ip_address(plain))
    except ValueError:
        raise ValueError(f"failed to parse IP: {text!r}") from None


def _path(text: str) -> Path:
    # An empty one is a variable of the shell that is not set.
    if not text:
        raise ValueError("an empty path; leave the flag out for its default")
    return Path(text)


_octal = re.compile(r"([+-]?)0_?([0-7](?:_?[0-7])*)", re.ASCII)


def _whole(text: str) -> int:
    """A whole number as Go's ``strconv.ParseInt`` reads it: by its prefix, without blanks.

    Raises:
        ValueError: anything else.
    """
    octal = _octal.fullmatch(text)
    try:
        if octal is not None:
            return int(octal[1] + octal[2], 8)
        if text.strip() == text and text.isascii():
            return int(text, 0)
    except ValueError:
        pass
    raise ValueError(f"invalid int value: {text!r}")


def _int64(text: str) -> int:
    value = _whole(text)
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"invalid int64 value: {text!r}")
    return value


def _listed(text: str) -> str:
    """A text that `csv` reads: what is quoted may have commas."""
    csv(text)
    return text


def csv(text: str) -> tuple[str, ...]:
    """What is between commas, as pflag's lists have it: spaces count, and quotes may be used.

    Raises:
        ValueError: a quote that does not end.
    """
    if '"' not in text:
        return tuple(text.split(",")) if text else ()
    import csv as reader  # rarely needed

    try:
        return tuple(next(reader.reader([text], strict=True), ()))
    except reader.Error as error:
        raise ValueError(f"invalid list {text!r}: {error}") from None


def names(text: str) -> tuple[str, ...]:
    """Names between commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def texts(text: str) -> tuple[str, ...]:
    """Texts between commas, as they are; none for an empty text."""
    return tuple(text.split(",")) if text else ()


def numbers(text: str) -> tuple[int, ...]:
    """Whole numbers between commas.

    Raises:
        ValueError: one is none.
    """
    return tuple(_whole(each.strip()) for each in text.split(",")) if text else ()


def _gates(text: str) -> dict[str, bool]:
    chosen: dict[str, bool] = {}
    for entry in filter(None, text.split(",")):
        name, _, value = entry.partition("=")
        chosen[name.strip()] = boolean(value.strip())
    return chosen


def _shown_path(value: Path | None) -> str:
    return "" if value is None else str(value)


def _shown_boolean(value: bool) -> str:
    return "true" if value else "false"


def _shown_maybe(value: bool | None) -> str:
    return "" if value is None else _shown_boolean(value)


def _shown_gates(value: Mapping[str, bool]) -> str:
    return ",".join(f"{name}={_shown_boolean(on)}" for name, on in value.items())


# ---------------------------------------------------------------------- values


def _is_path(value: object) -> str:
    return "" if isinstance(value, Path) else "is no pathlib.Path"


def _is_path_or_none(value: object) -> str:
    return "" if value is None or isinstance(value, Path) else "is neither a pathlib.Path nor None"


def _is_boolean(value: object) -> str:
    return "" if isinstance(value, bool) else "is neither True nor False"


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _is_seconds(value: Any) -> str:
    return "" if _number(value) and value >= 0 else "is no number of seconds of 0 or more"


def _is_some_seconds(value: Any) -> str:
    return "" if _number(value) and value > 0 else "is no number of seconds above 0"


def _is_count(value: object) -> str:
    counts = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return "" if counts else "is no whole number of 0 or more"


def _is_port(value: Any) -> str:
    fits = not _is_count(value) and value <= MAX_PORT
    return "" if fits else f"is no whole number between 0 and {MAX_PORT}"


def _is_int64(value: object) -> str:
    fits = isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
    return "" if fits else "is no whole number of 64 bits"


def _word(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and value != "" and " " not in value


def _is_name(value: object) -> str:
    return "" if _word(value) else "is no text of printable characters other than spaces"


def _is_issuer(value: object) -> str:
    return "" if _word(value) else "is no URL or name without spaces"


def _are_issuers(value: object) -> str:
    wrong = _are(_is_issuer)(value)
    if wrong or not isinstance(value, tuple):
        return wrong
    if not value:
        return "names none"
    return "has one twice" if len(set(value)) < len(value) else ""


def _is_https(value: object) -> str:
    """An URL, or nothing."""
    if value == "" or (_word(value) and str(value).lower().startswith("https://")):
        return ""
    return "is no URL with the scheme https"


def _are_paths(value: object) -> str:
    fits = isinstance(value, tuple) and all(isinstance(one, Path) for one in value)
    return "" if fits else "is no tuple of pathlib.Path"


def _is_token_life(value: Any) -> str:
    fits = _number(value) and (value == 0 or HOUR_S <= value <= 1 << 32)
    return "" if fits else "is not between 1 hour and 2^32 seconds"


def _is_host(value: object) -> str:
    if not isinstance(value, str):
        return "is no text"
    try:
        host_name(value)
    except ValueError as error:
        return str(error)
    return ""


def _is_address(value: object) -> str:
    """An address or a name of a host, or nothing."""
    return "" if value == "" else _is_host(value)


def _are(each: Check) -> Check:
    def check(value: object) -> str:
        if not isinstance(value, tuple):
            return "is no tuple of texts"
        return next((f"has {one!r}, which {why}" for one in value if (why := each(one))), "")

    return check


def _are_numbers(value: object) -> str:
    fits = isinstance(value, tuple) and all(type(one) is int for one in value)
    return "" if fits else "is no tuple of whole numbers"


def _is_text(value: object) -> str:
    return "" if isinstance(value, str) and value.isprintable() else "is no printable text"


def _is_audience(value: str) -> str:
    return "" if value and "," not in value else "is empty or has a comma"


def _is_one_of(choices: tuple[str, ...]) -> Check:
    return lambda value: "" if value in choices else f"is none of {', '.join(choices)}"


def _are_gates(value: object) -> str:
    fits = isinstance(value, Mapping) and all(
        isinstance(name, str) and isinstance(on, bool) for name, on in value.items()
    )
    return "" if fits else "is no mapping of names to True or False"


def _are_ranges(value: object) -> str:
    if not isinstance(value, str):
        return "is no text"
    networks = []
    for cidr in value.split(","):
        try:
            networks.append(ipaddress.ip_network(cidr.strip(), strict=False))
        except ValueError:
            return "is no CIDR such as 10.0.0.0/24, nor two between a comma"
    if len(networks) > 2:
        return "has more than two entries"
    if len({network.version for network in networks}) < len(networks):
        return "has two ranges of the same IP family"
    if any(network.num_addresses < SMALLEST_RANGE for network in networks):
        return f"is too small: a range has at least {SMALLEST_RANGE} addresses"
    return ""


# ---------------------------------------------------------------------- kinds


def one_of(*choices: str) -> Kind:
    """One of some words."""
    return Kind(
        placeholder="{" + ",".join(choices) + "}",
        parse=str,
        check=_is_one_of(choices),
        choices=choices,
    )


BOOLEAN = Kind(
    placeholder="BOOL", parse=boolean, check=_is_boolean, show=_shown_boolean, boolean=True
)
MAYBE = BOOLEAN._replace(
    check=lambda value: "" if value is None else _is_boolean(value), show=_shown_maybe
)
DIRECTORY = Kind(placeholder="DIR", parse=_path, check=_is_path)
ANY_DIRECTORY = Kind(placeholder="DIR", parse=_path, check=_is_path_or_none, show=_shown_path)
FILE = ANY_DIRECTORY._replace(placeholder="FILE")
FILES = Kind(
    placeholder="FILE",
    parse=_path,
    check=_are_paths,
    show=lambda value: ",".join(map(str, value)),
    repeated=True,
)
DURATION = Kind(placeholder="DURATION", parse=duration, check=_is_seconds, show=duration_text)
SOME_TIME = DURATION._replace(check=_is_some_seconds)
SECONDS = Kind(
    placeholder="SECONDS",
    parse=lambda text: float(_whole(text)),
    check=_is_seconds,
    show=lambda value: f"{value:g}",
)
SIZE = Kind(
    placeholder="SIZE",
    parse=size,
    check=lambda value: "is no number of bytes of 0 or more" if _is_count(value) else "",
    show=size_text,
)
COUNT = Kind(placeholder="N", parse=_whole, check=_is_count)
INT64 = Kind(placeholder="N", parse=_int64, check=_is_int64)
LEVEL = COUNT._replace(placeholder="LEVEL")
PORT = Kind(placeholder="PORT", parse=_port, check=_is_port)
NAME = Kind(placeholder="NAME", parse=str, check=_is_name)
ADDRESS = Kind(placeholder="IP", parse=_ip, check=_is_address)
HOSTS = Kind(placeholder="HOST", parse=str, check=_are(_is_host), show=",".join, repeated=True)
PLUGINS = Kind(
    placeholder="NAME,...", parse=_listed, check=_are(_is_text), show=",".join, repeated=True
)
ISSUERS = Kind(placeholder="URL", parse=str, check=_are_issuers, show=",".join, repeated=True)
HTTPS_URL = Kind(placeholder="URL", parse=str, check=_is_https)
TOKEN_LIFE = DURATION._replace(check=_is_token_life)
AUDIENCES = Kind(placeholder="LIST", parse=names, check=_are(_is_audience), show=",".join)
TEXT = Kind(placeholder="TEXT", parse=str, check=_is_text)
TEXT_LIST = Kind(placeholder="LIST", parse=texts, check=_are(_is_text), show=",".join, once=True)
NUMBERS = Kind(
    placeholder="N,...",
    parse=numbers,
    check=_are_numbers,
    show=lambda value: ",".join(map(str, value)),
    once=True,
)
ADDRESS_TYPE_LIST = Kind(placeholder="TYPE,...", parse=names, check=_are(_is_name), show=",".join)
RANGES = Kind(placeholder="CIDR", parse=str, check=_are_ranges)
MAYBE_RANGES = RANGES._replace(check=lambda value: "" if value == "" else _are_ranges(value))
CONTROLLERS = AUDIENCES._replace(placeholder="NAME,...", once=True)
GATES = Kind(placeholder="NAME=BOOL,...", parse=_gates, check=_are_gates, show=_shown_gates)
