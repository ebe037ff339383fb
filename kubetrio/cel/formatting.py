"""``format`` of texts: clauses such as ``%s`` and ``%.3f`` with the items of a list.

One reading of the clauses serves both what runs and the check of constants when an expression is
compiled.

Source: the strings extension of cel-go, version 2, as kube-apiserver has it: strings within lists
and maps are quoted, and ``%e`` prints powers of ten.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple

from kubetrio.cel.budget import spend
from kubetrio.cel.syntax import Node, kind_of, walk
from kubetrio.machinery.fielderrors import quote

PRECISION = 6
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_GO_INT_MAX = 2**63 - 1


class Problem(ValueError):
    """What is wrong with a format or an argument.

    Args:
        text: in cel-go's words.
        at: the argument it is about, when it is about one that was checked.
    """

    def __init__(self, text: str, at: Node | None = None) -> None:
        super().__init__(text)
        self.at = at


class Clause(NamedTuple):
    """One clause.

    Args:
        kind: its letter.
        precision: number behind the dot, if there is one.
        argument: which one, from 0.
    """

    kind: str
    precision: int | None
    argument: int


class Rule(NamedTuple):
    """What a clause takes.

    Args:
        types: names of types.
        refusal: what is said of others.
    """

    types: frozenset[str]
    refusal: str


DURATION, TIMESTAMP = "google.protobuf.Duration", "google.protobuf.Timestamp"
_DOUBLE = frozenset({"double", "string"})
_INTEGER = frozenset({"int", "uint"})
_TEXT = frozenset(
    {"list", "map", "int", "uint", "double", "bool", "string", TIMESTAMP, "bytes", DURATION, "type",
     "null_type"}
)  # fmt: skip
_HEX = Rule(
    _INTEGER | {"string", "bytes"},
    "only integers, byte buffers, and strings can be formatted as hex",
)
RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "s": Rule(
            _TEXT,
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
            "types, durations, and timestamps",
        ),
        "d": Rule(_INTEGER, "decimal clause can only be used on integers"),
        "f": Rule(_DOUBLE, "fixed-point clause can only be used on doubles"),
        "e": Rule(_DOUBLE, "scientific clause can only be used on doubles"),
        "b": Rule(_INTEGER | {"bool"}, "only integers and bools can be formatted as binary"),
        "x": _HEX,
        "X": _HEX,
        "o": Rule(_INTEGER, "octal clause can only be used on integers"),
    }
)


def pieces(text: str, size: int) -> Iterator[str | Clause]:
    """The parts of a format: texts, and clauses for arguments.

    Args:
        text: the format.
        size: how many arguments there are.

    Raises:
        Problem: it is none.
    """
    at = index = 0
    while at < len(text):
        if text[at] != "%":
            end = text.find("%", at)
            end = len(text) if end < 0 else end
            yield text[at:end]
            at = end
        elif text.startswith("%%", at):
            yield "%"
            at += 2
        else:
            if at + 1 >= len(text):
                raise Problem("unexpected end of string")
            if index >= size:
                raise Problem(f"index {index} out of range")
            clause, at = _clause(text, at + 1, index)
            yield clause
            index += 1


def _clause(text: str, at: int, index: int) -> tuple[Clause, int]:
    problem = "could not parse formatting clause: "
    precision = None
    if text[at] == ".":
        start = at = at + 1
        while at < len(text) and text[at] in "0123456789":
            at += 1
        parsing = f"{problem}error while parsing precision: "
        if at >= len(text):
            raise Problem(parsing + "could not find end of precision specifier")
        digits = text[start:at]
        why = "invalid syntax" if not digits else ""
        if len(digits) > 20 or (digits and int(digits) > _GO_INT_MAX):
            why = "value out of range"
        if why:
            converting = "error while converting precision to integer: strconv.Atoi: parsing "
            raise Problem(f"{parsing}{converting}{quote(digits)}: {why}")
        precision = int(digits)
    kind = text[at]
    if kind not in RULES:
        shown = chr(kind.encode("utf-8", "replace")[0])
        raise Problem(f'{problem}unrecognized formatting clause "{shown}"')
    return Clause(kind, precision, index), at + 1


# ---------------------------------------------------------------------- what runs


def formatted(text: str, arguments: Sequence[Any]) -> str:
    """A format with its arguments.

    Args:
        text: the format.
        arguments: plain values.

    Raises:
        Problem: they do not fit.
    """
    out = []
    for piece in pieces(text, len(arguments)):
        if isinstance(piece, str):
            out.append(piece)
            continue
        value = arguments[piece.argument]
        spend(_width(piece, value))
        try:
            out.append(_shown(piece, value))
        except Problem as problem:
            raise Problem(f"error during formatting: {problem}") from None
    return "".join(out)


def _width(clause: Clause, value: Any) -> int:
    """Characters that a clause may make, before it makes them."""
    if clause.kind in ("f", "e"):
        return 400 + (clause.precision or 0)
    if clause.kind != "s" or isinstance(value, str):
        return 64 + (2 * len(value) if isinstance(value, str | bytes | bytearray) else 0)
    width, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        width += 40
        if isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, dict):
            waiting.extend(one.keys())
            waiting.extend(one.values())
        elif isinstance(one, str | bytes | bytearray):
            width += 4 * len(one)  # in quotes, and with escapes
    return width


def _shown(clause: Clause, value: Any) -> str:
    kind, type_name = clause.kind, _type_of(value)
    rule = RULES[kind]
    odd = type_name == "string" and rule.types is _DOUBLE and value not in _NUMBERS
    if type_name not in rule.types or odd:
        raise Problem(f"{rule.refusal}, was given {type_name}")
    precision = PRECISION if clause.precision is None else clause.precision
    match kind:
        case "s":
            return _text_of(value)
        case "f":
            return _fixed(float(value), precision)
        case "e":
            return _scientific(float(value)).rjust(precision)
        case "x" | "X" if type_name in ("string", "bytes"):
            data = value.encode() if type_name == "string" else value
            return str(data.hex().upper() if kind == "X" else data.hex())
        case _:
            return format(int(value), kind)


_NUMBERS = ("NaN", "Infinity", "-Infinity")


def _type_of(value: Any) -> str:
    """The name of a value's type; numbers without a sign look like others."""
    for kind, name in _TYPES:
        if isinstance(value, kind):
            return name
    message = getattr(value, "DESCRIPTOR", None)
    return "type" if message is None else str(message.full_name)


_TYPES: tuple[tuple[Any, str], ...] = (
    (bool, "bool"), (int, "int"), (float, "double"), (str, "string"), ((bytes, bytearray), "bytes"),
    (type(None), "null_type"), (list, "list"), (dict, "map"), (timedelta, DURATION),
    (datetime, TIMESTAMP),
)  # fmt: skip


_ENGINE_TYPES: Mapping[str, str] = MappingProxyType(
    {"NULL": "null_type", "DURATION": DURATION, "TIMESTAMP": TIMESTAMP}
)
"""Types as the engine prints them, where that is not the name in capitals."""


def _text_of(value: Any) -> str:
    """A value as ``%s`` shows it.

    Raises:
        Problem: it has no text.
    """
    match value:
        case None:
            return "null"
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return _shortest(value)
        case bytes() | bytearray():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise Problem("invalid UTF-8 in bytes, cannot convert to string") from None
        case list():
            return f"[{', '.join(map(_quoted, value))}]"
        case dict():
            pairs = sorted((_key(key), _quoted(item)) for key, item in value.items())
            return f"{{{', '.join(f'{key}:{item}' for key, item in pairs)}}}"
        case timedelta():
            return _seconds(value)
        case datetime():
            return _instant(value)
        case int():
            return str(value)
    name = str(value)  # of a type
    return _ENGINE_TYPES.get(name, name.partition("<")[0].lower())


def _quoted(value: Any) -> str:
    """A value inside of a list or map."""
    match value:
        case str():
            return quote(value)
        case bytes() | bytearray():
            return f"b{quote(_text_of(value))}"
        case float() if math.isnan(value) or math.isinf(value):
            return quote(_shortest(value))
        case float():
            return f"{value:.{PRECISION}f}"
        case timedelta():
            return f"duration({quote(_text_of(value))})"
        case datetime():
            return f"timestamp({quote(_text_of(value))})"
    if (type_name := _type_of(value)) not in _TEXT:
        raise Problem(f"no formatting function for {type_name}")
    return _text_of(value)


def _key(key: Any) -> str:
    if (type_name := _type_of(key)) not in ("string", "bool", "int"):
        raise Problem(f"no formatting function for map key of type {type_name}")
    return _quoted(key)


def _seconds(value: timedelta) -> str:
    micros = value // timedelta(microseconds=1)
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    rest = f"{micros % 1_000_000:06}".rstrip("0")
    return f"{sign}{micros // 1_000_000}{'.' + rest if rest else ''}s"


def _instant(value: datetime) -> str:
    rest = f"{value.microsecond:06}".rstrip("0")
    return f"{value:%Y-%m-%dT%H:%M:%S}{'.' + rest if rest else ''}Z"


def _special(value: float, infinity: str) -> str | None:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return infinity if value > 0 else f"-{infinity.removeprefix('+')}"
    return None


def _shortest(value: float) -> str:
    """As Go's ``strconv`` prints it with the fewest digits."""
    special = _special(value, "+Inf")
    if special is not None:
        return special
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    if not isinstance(exponent, int):
        raise AssertionError("a number")
    text, power = "".join(map(str, digits)), len(digits) - 1 + exponent
    minus = "-" if sign else ""
    if value and not -4 <= power < PRECISION:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        return f"{minus}{text[0]}{fraction}e{power:+03}"
    return minus + format(abs(Decimal(repr(value)).normalize()), "f")


def _fixed(value: float, precision: int) -> str:
    special = _special(value, "∞")
    return f"{value:,.{precision}f}" if special is None else special


def _scientific(value: float) -> str:
    """Always with six digits: what is asked for is taken for a width."""
    special = _special(value, "∞")
    if special is not None:
        return special
    number, _, power = f"{value:.{PRECISION}e}".partition("e")
    return f"{number}\u00d710{power.removeprefix('+').translate(_SUPERSCRIPTS)}"


# ---------------------------------------------------------------------- what is checked


def is_format(node: Node) -> bool:
    """Whether a node is a call of ``format``."""
    return kind_of(node) == "call_expr" and node.call_expr.function == "format"


def exempt(tree: Node) -> frozenset[int]:
    """Numbers of nodes whose literals may mix types: what is below calls of ``format``."""
    return frozenset(inner.id for node in walk(tree) if is_format(node) for inner in walk(node))


def check(node: Node, type_of: Callable[[Node], str]) -> None:
    """Check a call whose format and list of arguments are literals.

    Args:
        node: a call of ``format``.
        type_of: the type of a node, in cel-go's notation.

    Raises:
        Problem: they do not fit.
    """
    call = node.call_expr
    constant = call.target.const_expr
    if (
        not call.HasField("target")
        or constant.WhichOneof("constant_kind") != "string_value"
        or len(call.args) != 1
        or kind_of(call.args[0]) != "list_expr"
    ):
        return
    arguments = call.args[0].list_expr.elements
    asked = 0
    for piece in pieces(constant.string_value, len(arguments)):
        if not isinstance(piece, str):
            _check_argument(piece, arguments[piece.argument], type_of)
            asked += 1
    if len(arguments) > asked:
        raise Problem(
            f"too many arguments supplied to string.format (expected {asked}, got {len(arguments)})"
        )


def _check_argument(clause: Clause, node: Node, type_of: Callable[[Node], str]) -> None:
    rule = RULES[clause.kind]
    inner = _literals(node) if clause.kind == "s" else (node,)
    for each in inner:
        name = _type_name(type_of(each))
        if name != "dyn" and name not in rule.types:
            raise Problem(f"error during formatting: {rule.refusal}, was given {name}", each)


def _literals(node: Node) -> Iterator[Node]:
    """A node, and what it holds if it is a literal list or map."""
    yield node
    match kind_of(node):
        case "list_expr":
            for item in node.list_expr.elements:
                yield from _literals(item)
        case "struct_expr" if not node.struct_expr.message_name:
            for entry in node.struct_expr.entries:
                yield from _literals(entry.map_key)
                yield from _literals(entry.value)


def _type_name(kind: str) -> str:
    name = kind.partition("(")[0]
    return {"duration": DURATION, "timestamp": TIMESTAMP}.get(name, name)
