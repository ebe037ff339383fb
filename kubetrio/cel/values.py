"""What Kubernetes' functions on quantities, versions, addresses, URLs and formats do.

Every function takes and returns what the engine hands over: plain values and opaque messages.  A
ValueError becomes a CEL error with its text.

Source: "Kubernetes quantity library", "IP address", "CIDR", "URL", "format" and "semver" libraries
in "Common Expression Language in Kubernetes"; Semantic Versioning 2.0.0.
"""

from __future__ import annotations

import ipaddress
import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from kubetrio.cel.declarations import CIDR, FORMAT, IP, QUANTITY, SEMVER, URL
from kubetrio.cel.messages import opaque, type_of, value_of
from kubetrio.machinery import names_validation as names
from kubetrio.machinery import quantity as quantities
from kubetrio.machinery.quantity import Quantity

Message = Any
INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1


def no_overload() -> ValueError:
    """What an operation on the wrong type raises."""
    return ValueError("no such overload")


def _is(make: Callable[[str], Message]) -> Callable[[str], bool]:
    """Whether a text can be made into a value."""

    def check(text: str) -> bool:
        try:
            make(text)
        except ValueError:
            return False
        return True

    return check


def expect(message: Message, name: str) -> str:
    """The text of an opaque value that must be of a type.

    Raises:
        ValueError: it is of another.
    """
    if type_of(message) != name:
        raise no_overload()
    return value_of(message)


# --- quantities: value and power of ten, without zeros at the end ---


def _quantity(value: Quantity) -> Message:
    number, power = value.coefficient, value.exponent
    while number and number % 10 == 0:
        number, power = number // 10, power + 1
    return opaque(QUANTITY, f"{number}e{power if number else 0}")


def _number(message: Message) -> Quantity:
    number, _, power = expect(message, QUANTITY).partition("e")
    return Quantity(int(number), int(power))


def quantity(text: str) -> Message:
    """A quantity from its text."""
    return _quantity(quantities.parse(text))


is_quantity = _is(quantity)


def _operand(value: Any) -> Quantity:
    return Quantity(value) if isinstance(value, int) else _number(value)


def add(one: Message, two: Any) -> Message:
    """The sum of a quantity and a quantity or integer."""
    return _quantity(_number(one) + _operand(two))


def sub(one: Message, two: Any) -> Message:
    """The difference of a quantity and a quantity or integer."""
    return _quantity(_number(one) - _operand(two))


def is_integer(message: Message) -> bool:
    """Whether a quantity is an integer of 64 bits."""
    number = _number(message)
    return number.exponent >= 0 and INT_MIN <= number.value() <= INT_MAX


def as_integer(message: Message) -> int:
    """A quantity as an integer."""
    if not is_integer(message):
        raise ValueError("cannot convert value to integer")
    return _number(message).value()


def as_float(message: Message) -> float:
    """A quantity as a float, nearly."""
    number = _number(message)
    return float(f"{number.coefficient}e{number.exponent}")


def sign(message: Message) -> int:
    """-1, 0 or 1."""
    number = _number(message).coefficient
    return (number > 0) - (number < 0)


# --- versions ---

_PART = "(?:0|[1-9][0-9]*)"
_MARK = "[0-9A-Za-z-]+"
_semver = re.compile(
    rf"({_PART})\.({_PART})\.({_PART})"
    rf"(?:-({_MARK}(?:\.{_MARK})*))?(?:\+({_MARK}(?:\.{_MARK})*))?"
)


def semver(text: str, normalize: bool = False) -> Message:
    """A version from its text; normalised, ``v1.02`` is ``1.2.0``."""
    if normalize:
        core, rest = re.match(r"([^-+]*)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
        parts = core.removeprefix("v").split(".")
        parts = [part.lstrip("0") or "0" if part.isdigit() else part for part in parts]
        text = ".".join([*parts, *["0"] * (3 - len(parts))]) + rest
    version = _semver.fullmatch(text)
    marks = ((version and version[4]) or "").split(".")
    if not version or any(mark.isdigit() and mark != "0" and mark[0] == "0" for mark in marks):
        raise ValueError(f"invalid semver version: {text}")
    if any(int(version[part]) >= 1 << 64 for part in (1, 2, 3)):
        raise ValueError(f"invalid semver version: {text}")
    return opaque(SEMVER, text.partition("+")[0])


def is_semver(text: str, normalize: bool = False) -> bool:
    """Whether a text is a version."""
    try:
        semver(text, normalize)
    except ValueError:
        return False
    return True


def _precedence(message: Message) -> tuple[Any, ...]:
    core, dash, marks = expect(message, SEMVER).partition("-")
    numbers = tuple(int(part) for part in core.split("."))
    before = tuple(
        (0, int(mark), "") if mark.isdigit() else (1, 0, mark) for mark in marks.split(".") if dash
    )
    return (*numbers, not dash, before)


def part(index: int) -> Callable[[Message], int]:
    """A function that takes a number out of a version."""
    return lambda message: int(_precedence(message)[index])


# --- order of what has one ---


def compare(one: Message, two: Message) -> int:
    """-1, 0 or 1 for quantities and versions."""
    if type_of(one) == QUANTITY:
        return _number(one).compare(_number(two))
    mine, theirs = _precedence(one), _precedence(two)
    return (mine > theirs) - (mine < theirs)


# --- addresses ---


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    if "%" in text:
        raise ValueError(f'IP address "{text}" with zone value is not allowed')
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError(
            f'IP Address "{text}" parse error during conversion from string: '
            f'ParseAddr("{text}"): unable to parse IP'
        ) from None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        raise ValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return address


def ip(text: str) -> Message:
    """An address from its text."""
    return opaque(IP, str(_address(text)))


is_ip = _is(ip)


def is_canonical(text: str) -> bool:
    """Whether an address is written as it prints."""
    return str(_address(text)) == text


def address_of(message: Message) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An opaque address as Python's."""
    return ipaddress.ip_address(expect(message, IP))


def link_local_multicast(message: Message) -> bool:
    """Whether an address is 224.0.0.0/24 or ff02::/16."""
    address = address_of(message)
    if isinstance(address, ipaddress.IPv4Address):
        return address in ipaddress.IPv4Network("224.0.0.0/24")
    return address in ipaddress.IPv6Network("ff02::/16")


def global_unicast(message: Message) -> bool:
    """Whether an address is unicast and reaches further than its link, as Go sees it."""
    address = address_of(message)
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or str(address) == "255.255.255.255"
    )


def _interface(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    address, slash, length = text.partition("/")
    try:
        if not slash or not length.isdigit() or (len(length) > 1 and length[0] == "0"):
            raise ValueError
        interface = ipaddress.ip_interface((_address(address), int(length)))
    except ValueError as error:
        if "IPv4-mapped" in str(error):
            raise
        raise ValueError(
            "network address parse error during conversion from string: "
            f'netip.ParsePrefix("{text}"): invalid'
        ) from None
    return interface


def cidr(text: str) -> Message:
    """A range of addresses from its text."""
    return opaque(CIDR, str(_interface(text)))


is_cidr = _is(cidr)


def _range(message: Message) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    return ipaddress.ip_interface(expect(message, CIDR))


def contains_ip(range_: Message, value: Any) -> bool:
    """Whether an address is in a range."""
    address = _address(value) if isinstance(value, str) else address_of(value)
    return address in _range(range_).network


def contains_cidr(range_: Message, value: Any) -> bool:
    """Whether a range is within another."""
    outer = _range(range_).network
    inner = (_interface(value) if isinstance(value, str) else _range(value)).network
    return outer.version == inner.version and inner.subnet_of(outer)  # type: ignore[arg-type]


def ip_or_family(message: Message) -> Message:
    """The address of a range."""
    return opaque(IP, str(_range(message).ip))


def masked(message: Message) -> Message:
    """A range with the bits of hosts cleared."""
    return opaque(CIDR, str(_range(message).network))


def prefix_length(message: Message) -> int:
    """Bits of the prefix of a range."""
    return _range(message).network.prefixlen


def string(message: Message) -> str:
    """An address or range as text."""
    if type_of(message) not in (IP, CIDR):
        raise no_overload()
    return value_of(message)


# --- URLs ---

_scheme = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_bad_escape = re.compile(r"%(?![0-9A-Fa-f]{2})")


def _url_error(text: str) -> str:
    """What is wrong with an absolute URI or absolute path, empty for nothing."""
    shown = f'parse "{text}": '
    if not text:
        return f"{shown}empty url"
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        return f"{shown}net/url: invalid control character in URL"
    if not text.startswith("/") and not _scheme.match(text):
        return f"{shown}invalid URI for request"
    if bad := _bad_escape.search(text.partition("?")[0]):
        escape = text[bad.start() : bad.start() + 3]
        return f'{shown}invalid URL escape "{escape}"'
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        return f"{shown}{error}"
    if " " in parts.netloc:
        return f'{shown}invalid character " " in host name'
    return ""


def url(text: str) -> Message:
    """A URL from its text: an absolute URI or an absolute path."""
    if error := _url_error(text):
        raise ValueError(f"URL parse error during conversion from string: {error}")
    return opaque(URL, text)


is_url = _is(url)


def url_part(take: Callable[[Any], Any]) -> Callable[[Message], Any]:
    """A function that takes something out of a URL."""
    return lambda message: take(urlsplit(expect(message, URL)))


def host(parts: Any) -> str:
    """Host with its port."""
    netloc_host: str = parts.netloc.rpartition("@")[2]
    return netloc_host


def hostname(parts: Any) -> str:
    """Host without its port, as written."""
    text = host(parts)
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0]


def port(parts: Any) -> str:
    """Port, or empty."""
    return "" if parts.port is None else str(parts.port)


def escaped_path(parts: Any) -> str:
    """Path, percent-encoded where needed."""
    return quote(parts.path, safe="/%:@!$&'()*+,;=~-._[]")


def query(parts: Any) -> dict[str, list[str]]:
    """Query parameters."""
    return parse_qs(parts.query, keep_blank_values=True)


# --- formats ---

_uuid = re.compile("[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_datetime = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)


def _is_date(text: str) -> bool:
    try:
        return len(text) == 10 and date.fromisoformat(text) is not None
    except ValueError:
        return False


def _is_datetime(text: str) -> bool:
    parts = _datetime.fullmatch(text)
    if not parts or not _is_date(parts[1]):
        return False
    return int(parts[2]) < 24 and int(parts[3]) < 60 and int(parts[4]) < 60


def _is_base64(text: str) -> bool:
    try:
        return bool(text) and b64decode(text, validate=True) is not None
    except ValueError:
        return False


def _unless(good: Callable[[str], bool], message: str) -> Callable[[str], Sequence[str]]:
    return lambda text: [] if good(text) else [message]


def _uri(text: str) -> Sequence[str]:
    error = _url_error(text)
    return [error] if error else []


CHECKS: Mapping[str, Callable[[str], Sequence[str]]] = MappingProxyType(
    {
        "dns1123Label": names.dns1123_label,
        "dns1123Subdomain": names.dns1123_subdomain,
        "dns1035Label": names.dns1035_label,
        "qualifiedName": names.qualified_name,
        "dns1123LabelPrefix": lambda text: names.dns1123_label(text, True),
        "dns1123SubdomainPrefix": lambda text: names.dns1123_subdomain(text, True),
        "dns1035LabelPrefix": lambda text: names.dns1035_label(text, True),
        "labelValue": names.label_value,
        "uri": _uri,
        "uuid": _unless(
            lambda text: _uuid.fullmatch(text) is not None, "does not match the UUID format"
        ),
        "byte": _unless(_is_base64, "invalid base64"),
        "date": _unless(_is_date, "invalid date"),
        "datetime": _unless(_is_datetime, "invalid datetime"),
    }
)


def named_format(name: str) -> Message | None:
    """A format by its name, None when there is none."""
    return opaque(FORMAT, name) if name in CHECKS else None


def validate(format_: Message, text: str) -> list[str] | None:
    """What is wrong with a text, None for nothing."""
    return list(CHECKS[expect(format_, FORMAT)](text)) or None
