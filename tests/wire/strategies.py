"""Objects of every built-in kind, made of the rows the codecs are made of.

What is drawn is canonical: what kube-apiserver would print after reading it.  The generator is a
seeded ``Random`` that Hypothesis supplies, because drawing a Pod field by field takes a second.
"""

from random import Random  # noqa: TID251 (only for the annotation; Hypothesis seeds it)
from typing import Any

from hypothesis import strategies as st

from kubetrio.schema import builtin
from kubetrio.wire import descriptors as facts
from kubetrio.wire.descriptors import Descriptors, Field, message_name
from kubetrio.wire.protovalues import JSON_SCHEMA, to_base64

DESCRIPTORS = Descriptors(builtin.message)
KINDS: dict[str, str] = builtin.load("kinds")

_STRINGS = (
    "a", "app.kubernetes.io/name", "yes", "1", "010", "1.5", "2024-01-01T00:00:00Z", "12:30:45",
    "~", " lead", "trail ", "a: b", "# c", "line\nline\n", "tab\there", "quote\"'", "é🚀",
    "\x01\x7f", "\u2028x\x85", "- x", "{a}", "word " * 30, "x\n  y \n", "\r\n",
    "=", "<<", "!t", "&a", "*a", "%",
)  # fmt: skip
_DEPTH = 5


def text(random: Random) -> str:
    """A string that some codec might take for something else."""
    return random.choice(_STRINGS)


def time(random: Random) -> str:
    """A Time."""
    return f"{random.randint(1, 9999):04d}-{random.randint(1, 12):02d}-02T03:04:05Z"


def json_value(random: Random, depth: int) -> Any:
    """Any JSON value but null."""
    kind = random.randrange(6 if depth else 4)
    if kind == 4:
        return {text(random): json_value(random, depth - 1) for _ in range(random.randrange(3))}
    if kind == 5:
        return [json_value(random, depth - 1) for _ in range(random.randrange(3))]
    return (text(random), True, random.randint(-(2**63), 2**63 - 1), 1.25)[kind]


def scalar(random: Random, type_: str) -> Any:
    """A scalar that is not zero."""
    if type_ == "string":
        return text(random)
    if type_ == "bool":
        return True
    if type_ == "bytes":
        return to_base64(random.randbytes(random.randint(1, 9)))
    if type_ == "double":
        return random.choice((0.5, -3, 1e300, 7))
    return random.choice((1, -1, 80, 2**31 - 1, -(2**31)))


def special(random: Random, message: str, depth: int) -> Any:
    """Values of messages whose JSON is no object of their fields; NotImplemented for others."""
    match message:
        case facts.TIME:
            return time(random)
        case facts.MICRO_TIME:
            return f"{time(random)[:-1]}.{random.randrange(10**6):06d}Z"
        case facts.QUANTITY:
            return random.choice(("0", "1", "100m", "1Gi", "-5k"))
        case facts.INT_OR_STRING:
            return random.choice((0, 80, "http", "25%"))
        case facts.FIELDS_V1:
            return {"f:a": {}, "f:b": {".": {}}}
        case facts.RAW_EXTENSION | facts.JSON_VALUE:
            return json_value(random, 2)
    if message == f"{JSON_SCHEMA}OrBool":
        return random.choice((True, False, obj(random, JSON_SCHEMA, depth)))
    if message == f"{JSON_SCHEMA}OrArray":
        return random.choice((obj(random, JSON_SCHEMA, depth), [obj(random, JSON_SCHEMA, depth)]))
    if message == f"{JSON_SCHEMA}OrStringArray":
        return random.choice((obj(random, JSON_SCHEMA, depth), [text(random)]))
    if DESCRIPTORS.slice_type(message):
        return [text(random), text(random)]
    return NotImplemented


def one(random: Random, type_: str, depth: int) -> Any:
    """A value of any type, not zero for scalars."""
    if type_ in facts.ZEROS:
        return scalar(random, type_)
    value = special(random, type_, depth)
    return obj(random, type_, depth) if value is NotImplemented else value


def obj(random: Random, message: str, depth: int = _DEPTH) -> dict[str, Any]:
    """A JSON object of a message."""
    out: dict[str, Any] = {}
    for field in DESCRIPTORS.fields(message):
        if not field.json:
            out |= obj(random, field.type, depth)
        else:
            _member(random, out, field, depth - 1)
    return out


def _member(random: Random, out: dict[str, Any], field: Field, depth: int) -> None:
    struct = field.value and not field.scalar and not DESCRIPTORS.slice_type(field.type)
    if struct and special(random, field.type, max(depth, 0)) is NotImplemented:
        out[field.json] = obj(random, field.type, depth)
    elif struct and field.type not in (facts.TIME, facts.MICRO_TIME):
        out[field.json] = one(random, field.type, 0)
    elif depth >= 0 and random.random() < (0.7 if depth > 2 else 0.3):
        value = one(random, field.type, depth)
        if field.map:
            value = {text(random): value}
        elif field.repeated:
            value = [value, one(random, field.type, depth)]
        out[field.json] = value
    elif struct and not field.omitzero:
        out[field.json] = None
    elif not field.omitempty:
        zero = field.value and field.scalar and field.type != "bytes"
        out[field.json] = facts.ZEROS[field.type] if zero else None


@st.composite
def objects(draw: st.DrawFn, type_name: str) -> dict[str, Any]:
    """A canonical object of a type, without ``apiVersion`` and ``kind``."""
    random = draw(st.randoms(use_true_random=True))
    return obj(random, message_name(type_name))
