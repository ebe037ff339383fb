"""Functions that Kubernetes adds to the language, as they run.

The engine picks an implementation by name, arity and kind of each argument, and a kind is coarse:
all lists are one, all opaque values are one.  So there is one implementation for each shape, and it
looks at what it got.  A parameter of any type has to be declared once for every kind.

Source: the libraries named in `declarations`; RE2 for ``matches``, ``find`` and ``findAll``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from google.protobuf import duration_pb2, timestamp_pb2
from google.protobuf.message import Message

from kubetrio.cel import authorizing, values
from kubetrio.cel.declarations import (
    AUTHORIZER,
    CIDR,
    DECISION,
    FORMAT,
    FORMATS,
    GROUP_CHECK,
    IP,
    PATH_CHECK,
    QUANTITY,
    RESOURCE_CHECK,
    SEMVER,
    TOO_LARGE,
    UNUSABLE,
    URL,
)
from kubetrio.cel.engine import engine
from kubetrio.cel.escaping import NO_OVERLOAD
from kubetrio.cel.formatting import formatted
from kubetrio.cel.lists import (
    above,
    contains,
    distinct,
    extreme,
    flat,
    index_of,
    intersects,
    is_sorted,
    last_index_of,
    range_of,
    slice_of,
    sorted_by,
    sum_of,
)
from kubetrio.cel.macros import ENTRIES_TO_MAP, PAIRS_TO_MAP, SORTED_BY
from kubetrio.cel.messages import opaque, type_of, value_of
from kubetrio.cel.ordering import ROWS as ORDERING
from kubetrio.cel.ordering import key_order
from kubetrio.cel.regexps import PATTERN, find, find_all, pattern_of
from kubetrio.cel.spending import NAMES as COUNT_THEMSELVES
from kubetrio.cel.spending import ROWS as SPENDING
from kubetrio.cel.spending import Implementation, counting
from kubetrio.cel.wording import BUDGET_ERROR

Values = list[Any]
FORMAT_NAMED = "format.named"
FORMAT_VALIDATE = "validate"
OPTIONAL_RESULTS = frozenset({FORMAT_NAMED, FORMAT_VALIDATE})
"""Functions that return null for nothing here, and an optional in the language."""

RENAMED = {
    "format": "kubernetes_format",
    "indexOf": "kubernetes_indexOf",
    "lastIndexOf": "kubernetes_lastIndexOf",
}
"""Functions of the engine's extensions that Kubernetes has on more types or in another version,
and theirs here."""

STRING_OF_MESSAGE = "kubernetes_string"
"""``string`` of an opaque value."""

_ANY = (
    "bool", "bytes", "double", "duration", "int", "list<dyn>", "map<dyn,dyn>", "null", "string",
    "timestamp", "uint", QUANTITY,
)  # fmt: skip
_NAMES = {"null": "NULL"}

USABLE = "kubernetes_usable"
"""Whether a value is one; an error where it only stands for what is none."""


def _usable(value: Any) -> bool:
    if isinstance(value, Message) and type_of(value) == UNUSABLE:
        raise ValueError(value_of(value))
    return True


def _no_overload() -> bool:
    raise values.no_overload()


def _too_large() -> bool:
    raise ValueError(BUDGET_ERROR)


def _map_of_pairs(pairs: Values) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"insert failed: key {key} already exists")
        result[key] = value
    return result


def _map_of_entries(entries: Values) -> dict[Any, Any]:
    return _map_of_pairs(
        [[key, entry[key]] for entry in entries for key in sorted(entry, key=key_order)]
    )


def _nanoseconds(span: timedelta) -> int:
    return span // timedelta(microseconds=1) * 1000  # Python has no shorter spans


def _no_duration(_: int) -> Any:
    # declared by cel-go, which cannot do it
    raise ValueError("type conversion error from 'int' to 'google.protobuf.Duration'")


def _escape_key(text: str) -> str:
    return text.replace("~", "~0").replace("/", "~1")


def _handing_back(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result may hold times, which the engine takes only as messages."""
    return lambda *arguments: _handed_back(function(*arguments))


def _handed_back(value: Any) -> Any:
    if isinstance(value, timedelta):
        return _message(duration_pb2.Duration, value)
    if isinstance(value, datetime):
        return _message(timestamp_pb2.Timestamp, value.replace(tzinfo=None))
    if isinstance(value, dict):
        return {key: _handed_back(item) for key, item in value.items()}
    return [_handed_back(item) for item in value] if isinstance(value, list) else value


def _message(kind: Any, value: Any) -> Any:
    message = kind()
    getattr(message, f"From{type(value).__name__.capitalize()}")(value)
    return message


def _named(name: str) -> Callable[[], Any]:
    return lambda: opaque(FORMAT, name)


_SETS: dict[str, Callable[..., Any]] = {
    "contains": contains,
    "intersects": intersects,
    "equivalent": lambda one, two: contains(one, two) and contains(two, one),
}
_LISTS: dict[str, Callable[..., Any]] = {
    "isSorted": is_sorted,
    "sum": sum_of,
    "min": extreme(lambda one, two: above(two, one), "min"),
    "max": extreme(above, "max"),
    "sort": lambda items: sorted_by(items, items),
    "flatten": flat,
    "distinct": distinct,
    "reverse": lambda items: items[::-1],
}
_ADDRESSES: dict[str, Callable[..., Any]] = {
    "isUnspecified": lambda one: values.address_of(one).is_unspecified,
    "isLoopback": lambda one: values.address_of(one).is_loopback,
    "isLinkLocalMulticast": values.link_local_multicast,
    "isLinkLocalUnicast": lambda one: values.address_of(one).is_link_local,
    "isGlobalUnicast": values.global_unicast,
}
_URLS: dict[str, Callable[..., Any]] = {
    "getScheme": lambda parts: parts.scheme,
    "getHost": values.host,
    "getHostname": values.hostname,
    "getPort": values.port,
    "getEscapedPath": values.escaped_path,
}

LISTS: list[Implementation] = [
    *((name, ".list<dyn>", "dyn", _handing_back(one)) for name, one in _LISTS.items()),
    ("flatten", ".list<dyn> int", "dyn", _handing_back(flat)),
    ("slice", ".list<dyn> int int", "dyn", _handing_back(slice_of)),
    (SORTED_BY, "list<dyn> list<dyn>", "dyn", _handing_back(sorted_by)),
    ("lists.range", "int", "dyn", range_of),
    *((f"sets.{name}", "list<dyn> list<dyn>", "bool", one) for name, one in _SETS.items()),
]
TEXTS: list[Implementation] = [
    *(
        (RENAMED[name], arguments, "int", function)
        for name, function in (("indexOf", index_of), ("lastIndexOf", last_index_of))
        for arguments in (
            *(f".list<dyn> {kind}" for kind in _ANY),
            ".string string",
            ".string string int",
        )
    ),
    (RENAMED["format"], ".string list<dyn>", "string", formatted),
    (PATTERN, "string", "string", pattern_of),
    ("find", ".string string", "string", find),
    ("findAll", ".string string", "list<string>", find_all),
    ("findAll", ".string string int", "list<string>", find_all),
]
URLS: list[Implementation] = [
    ("url", "string", URL, values.url),
    ("isURL", "string", "bool", values.is_url),
    *((name, f".{URL}", "string", values.url_part(one)) for name, one in _URLS.items()),
    ("getQuery", f".{URL}", "dyn", values.url_part(values.query)),
]
QUANTITIES: list[Implementation] = [
    ("quantity", "string", QUANTITY, values.quantity),
    ("isQuantity", "string", "bool", values.is_quantity),
    ("isInteger", f".{QUANTITY}", "bool", values.is_integer),
    ("asInteger", f".{QUANTITY}", "int", values.as_integer),
    ("asApproximateFloat", f".{QUANTITY}", "double", values.as_float),
    ("sign", QUANTITY, "int", values.sign),
    *(
        (name, f".{QUANTITY} {kind}", QUANTITY, function)
        for name, function in (("add", values.add), ("sub", values.sub))
        for kind in (QUANTITY, "int")
    ),
    ("isLessThan", f".{QUANTITY} {QUANTITY}", "bool", lambda a, b: values.compare(a, b) < 0),
    ("isGreaterThan", f".{QUANTITY} {QUANTITY}", "bool", lambda a, b: values.compare(a, b) > 0),
    ("compareTo", f".{QUANTITY} {QUANTITY}", "int", values.compare),
]
VERSIONS: list[Implementation] = [
    ("semver", "string", SEMVER, values.semver),
    ("semver", "string bool", SEMVER, values.semver),
    ("isSemver", "string", "bool", values.is_semver),
    ("isSemver", "string bool", "bool", values.is_semver),
    *(
        (name, f".{SEMVER}", "int", values.part(at))
        for at, name in enumerate(("major", "minor", "patch"))
    ),
]
ADDRESSES: list[Implementation] = [
    ("ip", "string", IP, values.ip),
    ("ip", f".{CIDR}", IP, values.ip_or_family),
    ("isIP", "string", "bool", values.is_ip),
    ("ip.isCanonical", "string", "bool", values.is_canonical),
    (STRING_OF_MESSAGE, IP, "string", values.string),
    ("family", f".{IP}", "int", lambda one: values.address_of(one).version),
    *((name, f".{IP}", "bool", function) for name, function in _ADDRESSES.items()),
    ("cidr", "string", CIDR, values.cidr),
    ("isCIDR", "string", "bool", values.is_cidr),
    *(("containsIP", f".{CIDR} {kind}", "bool", values.contains_ip) for kind in ("string", IP)),
    *(
        ("containsCIDR", f".{CIDR} {kind}", "bool", values.contains_cidr)
        for kind in ("string", CIDR)
    ),
    ("masked", f".{CIDR}", CIDR, values.masked),
    ("prefixLength", f".{CIDR}", "int", values.prefix_length),
]
NAMED_FORMATS: list[Implementation] = [
    *((f"format.{name}", "", FORMAT, _named(name)) for name in FORMATS),
    (FORMAT_NAMED, "string", "dyn", values.named_format),
    (FORMAT_VALIDATE, f".{FORMAT} string", "dyn", values.validate),
]
AUTHORIZERS: list[Implementation] = [
    ("path", f".{AUTHORIZER} string", PATH_CHECK, authorizing.path),
    ("group", f".{AUTHORIZER} string", GROUP_CHECK, authorizing.group),
    ("serviceAccount", f".{AUTHORIZER} string string", AUTHORIZER, authorizing.service_account),
    ("resource", f".{GROUP_CHECK} string", RESOURCE_CHECK, authorizing.resource),
    *(
        (name, f".{RESOURCE_CHECK} string", RESOURCE_CHECK, authorizing.narrowed(name))
        for name in ("subresource", "namespace", "name", "fieldSelector", "labelSelector")
    ),
    ("check", f".{RESOURCE_CHECK} string", DECISION, authorizing.check),
    ("allowed", f".{DECISION}", "bool", authorizing.decision("allowed")),
    ("reason", f".{DECISION}", "string", authorizing.decision("reason")),
    ("errored", f".{DECISION}", "bool", authorizing.errored),
    ("error", f".{DECISION}", "string", authorizing.decision("error")),
]
CONVERSIONS: list[Implementation] = [
    ("jsonpatch.escapeKey", "string", "string", _escape_key),
    ("int", "duration", "int", _nanoseconds),
    ("duration", "int", "duration", _no_duration),
    (TOO_LARGE, "", "dyn", _too_large),
    (NO_OVERLOAD, "", "dyn", _no_overload),
    *((USABLE, kind, "bool", _usable) for kind in _ANY),
    (PAIRS_TO_MAP, "list<dyn>", "dyn", _handing_back(_map_of_pairs)),
    (ENTRIES_TO_MAP, "list<dyn>", "dyn", _handing_back(_map_of_entries)),
]
ROWS: list[Implementation] = [
    *LISTS,
    *TEXTS,
    *SPENDING,
    *URLS,
    *QUANTITIES,
    *VERSIONS,
    *ADDRESSES,
    *NAMED_FORMATS,
    *AUTHORIZERS,
    *CONVERSIONS,
    *ORDERING,
]
"""What there is to run."""


def _type(cel: Any, name: str) -> Any:
    return getattr(cel.Type, _NAMES[name]) if name in _NAMES else cel.Type(name)


_COUNT_THEMSELVES = COUNT_THEMSELVES | {TOO_LARGE, NO_OVERLOAD}


def implementations() -> list[Any]:
    """The functions as declarations with implementations, for what runs."""
    cel = engine()
    overloads: dict[str, list[Any]] = {}
    for name, arguments, result, function in ROWS:
        kinds = arguments.removeprefix(".").split()
        overloads.setdefault(name, []).append(
            cel.Overload(
                f"{name} {arguments}",
                cel.Type(result),
                [_type(cel, kind) for kind in kinds],
                is_member=arguments.startswith("."),
                impl=function if name in _COUNT_THEMSELVES else counting(function),
            )
        )
    return [cel.FunctionDecl(name, rows) for name, rows in overloads.items()]
