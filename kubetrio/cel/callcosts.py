"""What calls of functions are estimated to cost, beside their arguments.

The functions of Kubernetes go by name here, those of the language by overload.

Source: k8s.io/apiserver/pkg/cel/library/cost.go (``EstimateCallCost``),
github.com/google/cel-go/checker/cost.go (``functionCost``), ext/sets.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from kubetrio.cel.declarations import (
    AUTHORIZER,
    CIDR,
    DECISION,
    FORMAT,
    GROUP_CHECK,
    IP,
    PATH_CHECK,
    QUANTITY,
    RESOURCE_CHECK,
    SEMVER,
    URL,
)
from kubetrio.cel.inference import parameters
from kubetrio.cel.macros import SORTED_BY
from kubetrio.cel.ranges import MOST, NOTHING, ONE, UNKNOWN, Range, fixed, plus

TRAVERSAL = 0.1  # of one character
REGEX = 0.25  # of one character of a pattern
LIST, MAP, STRUCT = 10, 30, 40  # making one
_CHECK = 350_000  # a question to an authorizer
_FORMAT_SIZE = 64  # characters of the name of a format
_FORMAT_REGEX = 128  # characters of the pattern of a format
_ADDRESS = Range(4, 16)  # bytes
_CONSTANT_TIME = frozenset(
    {
        QUANTITY, SEMVER, IP, CIDR,
        AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION,
    }
)  # fmt: skip
"""Types whose values are compared at the cost of one."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A part of a call.

    Args:
        kind: its type, in the engine's notation.
        size: its size where known.
        item: the size of what is in it, where it is a list or map.
        literal: its value where it is an integer constant.
    """

    kind: str
    size: Range | None
    item: Range | None = None
    literal: int | None = None

    @property
    def known(self) -> Range:
        """Its size, or that it can be any."""
        return UNKNOWN if self.size is None else self.size

    @property
    def item_kind(self) -> str:
        """The type of what is in it, empty for nothing."""
        found = parameters(self.kind)
        return found[0] if found else ""


@dataclass(frozen=True, slots=True)
class Call:
    """A call.

    Args:
        function: its name.
        overload: the overload, as the engine calls it.
        target: what it is a method of.
        arguments: its arguments.
    """

    function: str
    overload: str
    target: Argument | None
    arguments: Sequence[Argument]


Estimate = tuple[Range, Range | None]
"""What a call costs, and the size of what comes out where it is known."""


def _nominal(_: Call) -> Estimate:
    return ONE, None


def _check(_: Call) -> Estimate:
    return fixed(_CHECK), None


def _selector(call: Call) -> Estimate | None:
    if len(call.arguments) != 1:
        return None
    size = call.arguments[0].known
    requirements = size.scaled(0.5).scaled(float(LIST + STRUCT))
    return fixed(LIST).plus(size.scaled(TRAVERSAL)).plus(requirements), None


def _each_item(call: Call) -> Estimate | None:
    """One look at each item of a list, or at each character of a text."""
    if call.target is None:
        return None
    kind, size = call.target.item_kind, call.target.known
    if not kind:
        return size.scaled(TRAVERSAL), None
    each = ONE
    if kind in ("string", "bytes"):
        item = call.target.item or UNKNOWN
        each = each.plus(item.scaled(TRAVERSAL))
    return size.times(each), None


def _new_list(size: Range, factor: float = 1) -> Estimate:
    """A call that makes a list of a size."""
    return size.scaled(factor).plus(fixed(1 + LIST)), size


def _slice(call: Call) -> Estimate | None:
    if call.target is None or len(call.arguments) != 2:
        return None
    begin, end = (argument.literal for argument in call.arguments)
    most = call.target.known.most if end is None else max(end, 0)
    return _new_list(fixed(most - max(begin or 0, 0) & MOST))


def _range(call: Call) -> Estimate | None:
    if len(call.arguments) != 1:
        return None
    literal = call.arguments[0].literal
    return _new_list(fixed(MOST if literal is None else max(literal, 0)))


def _reverse(call: Call) -> Estimate | None:
    return None if call.target is None else _new_list(call.target.known)


def _flatten(call: Call) -> Estimate | None:
    if call.target is None:
        return None
    depth: int | None = 1
    if call.arguments:
        depth = call.arguments[0].literal
    return _new_list(call.target.known, float(MOST if depth is None else max(depth, 0)))


def _distinct(call: Call) -> Estimate | None:
    if call.target is None:
        return None
    size = call.target.known
    return _new_list(size.times(size), 2)


def _sorted(keys: Argument) -> Estimate:
    size = keys.known
    cost, made = _new_list(size.times(size), 2)
    dear, _ = _new_list(size.times(size), 2 + TRAVERSAL)
    if keys.item_kind in ("string", "bytes"):
        cost = dear
    elif keys.item_kind == "dyn":
        cost = cost.union(dear)
    return cost, made


def _sort(call: Call) -> Estimate | None:
    return None if call.target is None else _sorted(call.target)


def _sorted_by(call: Call) -> Estimate | None:
    return None if len(call.arguments) != 2 else _sorted(call.arguments[1])


def _same_size(call: Call) -> Estimate | None:
    if len(call.arguments) != 1:
        return None
    size = call.arguments[0].known
    return size.scaled(TRAVERSAL), size


def _text_of_same_size(call: Call) -> Estimate | None:
    if call.target is None:
        return None
    size = call.target.known
    return size.scaled(TRAVERSAL), size


def _quotient(size: int, by: int) -> int:
    """A quotient rounded up, as a processor converts it that has no number so large."""
    quotient = ceil(float(size) / float(by))
    return quotient if quotient <= MOST else 2**63


def _replace(call: Call) -> Estimate | None:
    if call.target is None or len(call.arguments) < 2:
        return None
    size, old, new = call.target.known, call.arguments[0].known, call.arguments[1].known
    most = least = kept_most = kept_least = 0
    if old.least == 0:  # goes between all characters
        most, kept_most = plus(size.most, 1), size.most
    elif new.most <= old.least:
        kept_most = size.most
    else:
        most = _quotient(size.most, old.least)
    if old.most == 0:
        least, kept_least = plus(size.least, 1), size.least
    elif old.most <= new.least:
        kept_least = size.least
    else:
        least = _quotient(size.least, old.most)
    result = Range(least, most).times(new).plus(Range(kept_least, kept_most))
    return size.scaled(2 * TRAVERSAL), result


def _split(call: Call) -> Estimate | None:
    if call.target is None:
        return None
    size = call.target.known
    most = size.most
    if len(call.arguments) > 1 and call.arguments[1].literal is not None:
        most = call.arguments[1].literal & MOST
    return size.scaled(2 * TRAVERSAL), Range(0, most)


def _join(call: Call) -> Estimate | None:
    if call.target is None:
        return None
    count, size = call.target.known, NOTHING
    if call.target.item_kind:
        size = count.times(call.target.item or UNKNOWN)
    if call.arguments:
        between = Range(max(count.least - 1, 0), max(count.most - 1, 0))
        size = size.plus(call.arguments[0].known.times(between))
    return size.scaled(TRAVERSAL), size


def _matching(text: Range, pattern: Range) -> Range:
    return text.plus(ONE).scaled(TRAVERSAL).times(pattern.scaled(REGEX))


def _find(call: Call) -> Estimate | None:
    if call.target is None or not call.arguments:
        return None
    size = call.target.known
    return _matching(size, call.arguments[0].known), Range(0, size.most)


def _parsed(call: Call) -> Estimate | None:
    if not call.arguments:
        return None
    return call.arguments[0].known.scaled(TRAVERSAL), None


def _ip(call: Call) -> Estimate | None:
    return (ONE, None) if call.overload == f"ip_{CIDR}" else _parsed(call)


def _canonical(call: Call) -> Estimate | None:
    if not call.arguments:
        return None
    return call.arguments[0].known.scaled(2 * TRAVERSAL), None


def _contains_address(call: Call) -> Estimate | None:
    if not call.arguments:
        return None
    cost = _ADDRESS.plus(_ADDRESS).scaled(TRAVERSAL)
    if call.function == "containsCIDR":
        cost = cost.plus(_ADDRESS.scaled(TRAVERSAL)).plus(ONE)
    if call.overload.endswith("_string"):
        cost = cost.plus(call.arguments[0].known.scaled(TRAVERSAL))
    return cost, None


def _validate(call: Call) -> Estimate | None:
    if not call.arguments:
        return None
    return call.arguments[0].known.scaled(TRAVERSAL).scaled(_FORMAT_REGEX * REGEX), None


def _equal(call: Call) -> Estimate | None:
    if len(call.arguments) != 2:
        return None
    one, two = (argument.kind for argument in call.arguments)
    if one != two:
        return None
    if one in _CONSTANT_TIME:
        return ONE, None
    if one == FORMAT:
        return Range(1, _FORMAT_SIZE).scaled(TRAVERSAL), None
    if one == URL:
        size = call.arguments[1].size
        return Range(1, 1 if size is None else size.most).scaled(TRAVERSAL), None
    return None


_NOMINAL = (
    # authorizer
    "serviceAccount", "path", "group", "resource", "subresource", "namespace", "name", "allowed",
    "reason", "error", "errored",
    # addresses
    "masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast",
    "isLinkLocalUnicast", "isGlobalUnicast",
    "format.named",
    # quantities and versions
    "sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan",
    "compareTo", "add", "sub", "major", "minor", "patch",
    # URLs
    "getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery",
)  # fmt: skip
Estimator = Callable[[Call], Estimate | None]
_BY_NAME: Mapping[str, Estimator] = {
    **dict.fromkeys(_NOMINAL, _nominal),
    "check": _check,
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _each_item),
    **dict.fromkeys(("url", "jsonpatch.escapeKey"), _same_size),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _text_of_same_size),
    "slice": _slice,
    "lists.range": _range,
    "reverse": _reverse,
    "flatten": _flatten,
    "distinct": _distinct,
    "sort": _sort,
    SORTED_BY: _sorted_by,
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(
        ("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _parsed
    ),
    "ip": _ip,
    "ip.isCanonical": _canonical,
    **dict.fromkeys(("containsIP", "containsCIDR"), _contains_address),
    "validate": _validate,
    "_==_": _equal,
}


# --- of the language ---


def _format(call: Call) -> Estimate | None:
    return None if call.target is None else (call.target.known.scaled(TRAVERSAL), None)


def _to_bytes(call: Call) -> Estimate | None:
    if len(call.arguments) != 1:
        return None
    size = call.arguments[0].known
    return size.scaled(TRAVERSAL), Range(size.least, size.most * 4 & MOST)


def _to_text(call: Call) -> Estimate | None:
    if len(call.arguments) != 1:
        return None
    size = call.arguments[0].known
    return size.scaled(TRAVERSAL), Range(size.least // 4, size.most)


def _quote(call: Call) -> Estimate | None:
    if len(call.arguments) != 1:
        return None
    size = call.arguments[0].known
    result = Range(size.least + 2 & MOST, size.most * 2 + 2 & MOST)
    return size.scaled(TRAVERSAL), result


def _begins(call: Call) -> Estimate | None:
    return (call.arguments[0].known.scaled(TRAVERSAL), None) if len(call.arguments) == 1 else None


def _in_list(call: Call) -> Estimate | None:
    return (call.arguments[1].known.scaled(1), None) if len(call.arguments) == 2 else None


def _matches(call: Call) -> Estimate | None:
    if call.target is None or len(call.arguments) != 1:
        return None
    return _matching(call.target.known, call.arguments[0].known), None


def _contains(call: Call) -> Estimate | None:
    if call.target is None or len(call.arguments) != 1:
        return None
    text, part = call.target.known, call.arguments[0].known
    return text.scaled(TRAVERSAL).times(part.scaled(TRAVERSAL)), None


def _joined(call: Call) -> Estimate | None:
    if len(call.arguments) != 2:
        return None
    size = call.arguments[0].known.plus(call.arguments[1].known)
    return (ONE if call.overload == "add_list" else size.scaled(TRAVERSAL)), size


def _compared(call: Call) -> Estimate:
    most = min(call.arguments[0].known.most, call.arguments[1].known.most)
    return Range(1 if most else 0, most).scaled(TRAVERSAL), None


def _sets(factor: float) -> Estimator:
    def estimate(call: Call) -> Estimate | None:
        if len(call.arguments) != 2:
            return None
        pairs = call.arguments[0].known.times(call.arguments[1].known)
        return pairs.scaled(factor).plus(ONE), None

    return estimate


_BY_OVERLOAD: Mapping[str, Estimator] = {
    "format_string_list<dyn>": _format,
    "string_to_bytes": _to_bytes,
    "string_bytes": _to_text,
    "strings.quote_string": _quote,
    **dict.fromkeys(("starts_with_string", "ends_with_string"), _begins),
    "in_list": _in_list,
    "matches_string": _matches,
    "contains_string": _contains,
    **dict.fromkeys(("add_string", "add_bytes", "add_list"), _joined),
    **dict.fromkeys(("equals", "not_equals"), _compared),
    **{
        f"{name}_{kind}_{kind}": _compared
        for name in ("_<_", "_<=_", "_>_", "_>=_")
        for kind in ("string", "bytes")
    },
    "sets.contains_list<dyn>_list<dyn>": _sets(1),
    "sets.intersects_list<dyn>_list<dyn>": _sets(1),
    "sets.equivalent_list<dyn>_list<dyn>": _sets(2),
}


def call_cost(call: Call) -> Estimate:
    """What a call costs beside its arguments, and the size of what comes out.

    Args:
        call: one that evaluates all of its arguments.
    """
    for known in (_BY_NAME.get(call.function), _BY_OVERLOAD.get(call.overload)):
        found = None if known is None else known(call)
        if found is not None:
            return found
    return ONE, None
