"""Functions that Kubernetes adds to the language, as they run.

The engine picks an implementation by name, arity and kind of each argument, and a kind is coarse:
all lists are one, all opaque values are one.  So there is one implementation for each shape, and it
looks at what it got.  A parameter of any type has to be declared once for every kind.

Source: the libraries named in `declarations`; RE2 for ``matches``, ``find`` and ``findAll``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache, reduce
from itertools import islice, pairwise
from operator import add
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
    UNUSABLE,
    URL,
)
from kubetrio.cel.engine import engine
from kubetrio.cel.escaping import NO_OVERLOAD
from kubetrio.cel.formatting import formatted
from kubetrio.cel.macros import ENTRIES_TO_MAP, PAIRS_TO_MAP, SORTED_BY
from kubetrio.cel.messages import opaque, type_of, value_of
from kubetrio.cel.wording import BUDGET_ERROR
from kubetrio.machinery.goregexp.engine import Regexp
from kubetrio.machinery.goregexp.syntax import RegexpError

Values = list[Any]
FORMAT_NAMED = "format.named"
FORMAT_VALIDATE = "validate"
OPTIONAL_RESULTS = frozenset({FORMAT_NAMED, FORMAT_VALIDATE})
"""Functions that return null for nothing here, and an optional in the language."""

RENAMED = {
    "format": "kubernetes_format",
    "indexOf": "kubernetes_indexOf",
    "lastIndexOf": "kubernetes_lastIndexOf",
    "matches": "kubernetes_matches",
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

TOO_LARGE = "kubernetes_tooLarge"
"""Ends an evaluation that makes too much."""


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


# --- lists ---


def _comparable(items: Values, name: str) -> None:
    if any(not isinstance(item, _ORDERED) for item in items):
        raise ValueError(f"no such overload: {name}(list)")


_ORDERED = (bool, int, float, str, bytes, bytearray, timedelta, datetime)


def _above(one: Any, two: Any) -> bool:
    """Whether one value is greater than another; those of different kinds are not."""
    kinds = {float if _is_number(item) else type(item) for item in (one, two)}
    return len(kinds) == 1 and bool(one > two)


def _is_number(item: Any) -> bool:
    return isinstance(item, int | float) and not isinstance(item, bool)


def _is_sorted(items: Values) -> bool:
    _comparable(items, "isSorted")
    return not any(_above(one, two) for one, two in pairwise(items))


def _extreme(better: Callable[[Any, Any], bool], name: str) -> Callable[[Values], Any]:
    def extreme(items: Values) -> Any:
        if not items:
            raise ValueError(f"{name} called on empty list")
        _comparable(items, name)
        return reduce(lambda one, two: two if better(two, one) else one, items)

    return extreme


def _sum(items: Values) -> Any:
    kinds = {type(item) for item in items}
    if kinds - {int, float, timedelta}:
        raise ValueError("no such overload: sum(list)")
    if len(kinds) > 1:
        raise values.no_overload()
    total = reduce(add, items) if items else 0
    if isinstance(total, int) and not values.INT_MIN <= total <= values.INT_MAX:
        raise ValueError("integer overflow")
    return total


def _same(one: Any, two: Any) -> bool:
    """Equality of the language: true is no number."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    return bool(one == two)


def _at(items: Values, wanted: Any) -> int:
    return next((at for at, item in enumerate(items) if _same(item, wanted)), -1)


def _index_of(where: Any, wanted: Any, offset: int = 0) -> int:
    if not isinstance(where, str):
        return _at(where, wanted)
    if not wanted:
        return offset
    if offset < 0:
        raise ValueError(f"index out of range: {offset}")
    return where.find(wanted, offset)


def _last_index_of(where: Any, wanted: Any, offset: int | None = None) -> int:
    if not isinstance(where, str):
        found = _at(where[::-1], wanted)
        return found if found < 0 else len(where) - 1 - found
    if offset is None:
        return where.rfind(wanted)
    if not wanted:
        return offset
    if offset < 0:
        raise ValueError(f"index out of range: {offset}")
    return -1 if offset >= len(where) else where.rfind(wanted, 0, offset + len(wanted))


def _range(count: int) -> Values:
    return list(range(count))


def _slice(items: Values, begin: int, end: int) -> Values:
    if begin < 0 or end < 0:
        raise ValueError(f"cannot slice({begin}, {end}), negative indexes not supported")
    if begin > end:
        what = "start index must be less than or equal to end index"
        raise ValueError(f"cannot slice({begin}, {end}), {what}")
    if len(items) < end:
        raise ValueError(f"cannot slice({begin}, {end}), list is length {len(items)}")
    return items[begin:end]


def _flat(items: Values, depth: int = 1) -> Values:
    if depth < 0:
        raise ValueError("level must be non-negative")
    found: Values = []
    for item in items:
        if isinstance(item, list) and depth:
            found.extend(_flat(item, depth - 1))
        else:
            found.append(item)
    return found


def _sorted_by(items: Values, keys: Values) -> Values:
    if not keys:
        return items
    if not isinstance(keys[0], _ORDERED):
        raise ValueError("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise ValueError("list elements must have the same type")
    return [items[at] for at in sorted(range(len(keys)), key=keys.__getitem__)]


def _distinct(items: Values) -> Values:
    found: Values = []
    seen: set[Any] = set()
    others: Values = []  # what cannot be found by its hash
    for item in items:
        if isinstance(item, _ORDERED):
            # true is no number, and bytes are no text
            key = bytes(item) if isinstance(item, bytearray) else item
            mark = (isinstance(item, bool), key)
            if mark in seen:
                continue
            seen.add(mark)
        elif _at(others, item) >= 0:
            continue
        else:
            others.append(item)
        found.append(item)
    return found


def _contains(items: Values, wanted: Values) -> bool:
    return all(_at(items, item) >= 0 for item in wanted)


def _intersects(one: Values, two: Values) -> bool:
    return any(_at(one, item) >= 0 for item in two)


# --- regular expressions ---


@lru_cache(maxsize=64)
def _kept(pattern: str) -> Regexp:
    return Regexp(pattern)


def _pattern(text: str) -> Regexp:
    """A pattern that is compiled; short ones are kept."""
    try:
        return _kept(text) if len(text) <= _MOST_KEPT else Regexp(text)
    except RegexpError as error:
        raise ValueError(str(error)) from None


_MOST_KEPT = 256  # characters


def regex_error(pattern: str) -> str:
    """What is wrong with a regular expression, empty for nothing."""
    try:
        _pattern(pattern)
    except ValueError as error:
        return str(error)
    return ""


def _matches(text: str, pattern: str) -> bool:
    return _pattern(pattern).is_in(text)


def _find(text: str, pattern: str) -> str:
    return next(_regexp(pattern).found_in(text), "")


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = _regexp(pattern).found_in(text)
    return list(found if limit < 0 else islice(found, limit))


def _regexp(pattern: str) -> Regexp:
    """The same for the library of Kubernetes, which has words of its own."""
    try:
        return _pattern(pattern)
    except ValueError as error:
        raise ValueError(f"Illegal regex: {error}") from None


def _map_of_pairs(pairs: Values) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"insert failed: key {key} already exists")
        found[key] = value
    return found


def _map_of_entries(entries: Values) -> dict[Any, Any]:
    return _map_of_pairs([list(pair) for entry in entries for pair in entry.items()])


def _nanoseconds(span: timedelta) -> int:
    return span // timedelta(microseconds=1) * 1000  # Python has no shorter spans


def _no_duration(_: int) -> Any:
    # declared by cel-go, which cannot do it
    raise ValueError("type conversion error from 'int' to 'google.protobuf.Duration'")


def _escape_key(text: str) -> str:
    return text.replace("~", "~0").replace("/", "~1")


Row = tuple[str, str, str, Callable[..., Any]]
"""Name; kinds of the arguments, after a dot if the first is the target of a method; result; what
does it."""


def rows() -> list[Row]:
    """What there is to run."""
    sets = {
        "contains": _contains,
        "intersects": _intersects,
        "equivalent": lambda one, two: _contains(one, two) and _contains(two, one),
    }
    lists: dict[str, Callable[..., Any]] = {
        "isSorted": _is_sorted,
        "sum": _sum,
        "min": _extreme(lambda one, two: _above(two, one), "min"),
        "max": _extreme(_above, "max"),
        "sort": lambda items: _sorted_by(items, items),
        "flatten": _flat,
        "distinct": _distinct,
        "reverse": lambda items: items[::-1],
    }
    addresses: dict[str, Callable[..., Any]] = {
        "isUnspecified": lambda one: values.address_of(one).is_unspecified,
        "isLoopback": lambda one: values.address_of(one).is_loopback,
        "isLinkLocalMulticast": values.link_local_multicast,
        "isLinkLocalUnicast": lambda one: values.address_of(one).is_link_local,
        "isGlobalUnicast": values.global_unicast,
    }
    urls: dict[str, Callable[..., Any]] = {
        "getScheme": lambda parts: parts.scheme,
        "getHost": values.host,
        "getHostname": values.hostname,
        "getPort": values.port,
        "getEscapedPath": values.escaped_path,
    }
    return [
        *((name, ".list<dyn>", "dyn", _handing_back(one)) for name, one in lists.items()),
        ("flatten", ".list<dyn> int", "dyn", _handing_back(_flat)),
        ("slice", ".list<dyn> int int", "dyn", _handing_back(_slice)),
        (SORTED_BY, "list<dyn> list<dyn>", "dyn", _handing_back(_sorted_by)),
        ("lists.range", "int", "dyn", _range),
        *(
            (RENAMED[name], arguments, "int", function)
            for name, function in (("indexOf", _index_of), ("lastIndexOf", _last_index_of))
            for arguments in (
                *(f".list<dyn> {kind}" for kind in _ANY),
                ".string string",
                ".string string int",
            )
        ),
        (RENAMED["format"], ".string list<dyn>", "string", formatted),
        *((f"sets.{name}", "list<dyn> list<dyn>", "bool", one) for name, one in sets.items()),
        *(
            (RENAMED["matches"], kinds, "bool", _matches)
            for kinds in (".string string", "string string")
        ),
        ("find", ".string string", "string", _find),
        ("findAll", ".string string", "list<string>", _find_all),
        ("findAll", ".string string int", "list<string>", _find_all),
        ("url", "string", URL, values.url),
        ("isURL", "string", "bool", values.is_url),
        *((name, f".{URL}", "string", values.url_part(one)) for name, one in urls.items()),
        ("getQuery", f".{URL}", "dyn", values.url_part(values.query)),
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
        ("semver", "string", SEMVER, values.semver),
        ("semver", "string bool", SEMVER, values.semver),
        ("isSemver", "string", "bool", values.is_semver),
        ("isSemver", "string bool", "bool", values.is_semver),
        *(
            (name, f".{SEMVER}", "int", values.part(at))
            for at, name in enumerate(("major", "minor", "patch"))
        ),
        ("ip", "string", IP, values.ip),
        ("ip", f".{CIDR}", IP, values.ip_or_family),
        ("isIP", "string", "bool", values.is_ip),
        ("ip.isCanonical", "string", "bool", values.is_canonical),
        (STRING_OF_MESSAGE, IP, "string", values.string),
        ("family", f".{IP}", "int", lambda one: values.address_of(one).version),
        *((name, f".{IP}", "bool", function) for name, function in addresses.items()),
        ("cidr", "string", CIDR, values.cidr),
        ("isCIDR", "string", "bool", values.is_cidr),
        *(("containsIP", f".{CIDR} {kind}", "bool", values.contains_ip) for kind in ("string", IP)),
        *(
            ("containsCIDR", f".{CIDR} {kind}", "bool", values.contains_cidr)
            for kind in ("string", CIDR)
        ),
        ("masked", f".{CIDR}", CIDR, values.masked),
        ("prefixLength", f".{CIDR}", "int", values.prefix_length),
        *((f"format.{name}", "", FORMAT, _named(name)) for name in FORMATS),
        (FORMAT_NAMED, "string", "dyn", values.named_format),
        (FORMAT_VALIDATE, f".{FORMAT} string", "dyn", values.validate),
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
        ("jsonpatch.escapeKey", "string", "string", _escape_key),
        ("int", "duration", "int", _nanoseconds),
        ("duration", "int", "duration", _no_duration),
        (TOO_LARGE, "", "dyn", _too_large),
        (NO_OVERLOAD, "", "dyn", _no_overload),
        *((USABLE, kind, "bool", _usable) for kind in _ANY),
        (PAIRS_TO_MAP, "list<dyn>", "dyn", _handing_back(_map_of_pairs)),
        (ENTRIES_TO_MAP, "list<dyn>", "dyn", _handing_back(_map_of_entries)),
    ]


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


def _type(cel: Any, name: str) -> Any:
    return getattr(cel.Type, _NAMES[name]) if name in _NAMES else cel.Type(name)


def implementations() -> list[Any]:
    """The functions as declarations with implementations, for what runs."""
    cel = engine()
    overloads: dict[str, list[Any]] = {}
    for name, arguments, result, function in rows():
        kinds = arguments.removeprefix(".").split()
        overloads.setdefault(name, []).append(
            cel.Overload(
                f"{name} {arguments}",
                cel.Type(result),
                [_type(cel, kind) for kind in kinds],
                is_member=arguments.startswith("."),
                impl=function,
            )
        )
    return [cel.FunctionDecl(name, found) for name, found in overloads.items()]
