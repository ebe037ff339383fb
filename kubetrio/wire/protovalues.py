"""Messages whose JSON is not an object of their fields.

Each is a ``Value``: how to fill an empty message from JSON, how to read it back, and the bytes it
has when nothing was filled in (Go writes the fields of a struct even if zero).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from kubetrio.machinery import timestamps
from kubetrio.machinery.remember import counted, remembered
from kubetrio.wire import descriptors
from kubetrio.wire.gojson import parse_printed
from kubetrio.wire.jsonwire import encode

MAX_EMBEDDED_DEPTH = 200
"""Nesting of JSON inside a message; printing the whole object must stay within orjson's 254."""

_MASK = (1 << 64) - 1
_EARLIEST, _LATEST = -62_135_596_800, 253_402_300_799  # years 1 and 9999, in seconds


@dataclass(frozen=True, slots=True)
class Value:
    """How one message type is written and read.

    Args:
        fill: sets a message that holds ``template`` from a JSON value that is not null.
        read: the JSON value of a message.
        template: bytes of a message nothing was filled into.
    """

    fill: Callable[[Any, Any], None]
    read: Callable[[Any], Any]
    template: bytes = b""


class Struct(Protocol):
    """A message that is a JSON object."""

    @property
    def template(self) -> bytes:
        """Bytes of the message when nothing was filled in."""

    @property
    def fill(self) -> Callable[[Any, Any], None]:
        """Sets a message that holds ``template`` from a JSON object."""

    @property
    def read(self) -> Callable[[Any], Any]:
        """The JSON object of a message."""


def varint(number: int) -> bytes:
    """A protobuf varint; negative numbers take ten bytes.

    Args:
        number: from -2^63 to 2^64-1.
    """
    if 0 <= number < 0x80:
        return bytes((number,))
    number &= _MASK
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def text(value: bytes) -> str:
    """A string field that is not UTF-8; Go keeps it and prints such bytes as U+FFFD."""
    return value.decode("utf-8", "replace")


def texts(values: Any) -> list[str]:
    """A list of string fields."""
    return [item if type(item) is str else text(item) for item in values]


def from_base64(value: str) -> bytes:
    """Bytes of their JSON form; line breaks are skipped, as Go does.

    Raises:
        ValueError: not base64.
    """
    try:
        return base64.b64decode(value.translate(_NO_LINE_BREAKS), validate=True)
    except binascii.Error as error:
        raise ValueError(f"illegal base64 data: {error}") from None


_NO_LINE_BREAKS = {10: None, 13: None}


def to_base64(value: bytes) -> str:
    """JSON form of bytes."""
    return binascii.b2a_base64(value, newline=False).decode("ascii")


def number(value: float) -> float:
    """A double as JSON has it: whole numbers without a point where Go prints them so.

    Raises:
        ValueError: not a finite number.
    """
    if value - value != 0:
        raise ValueError(f"json: unsupported value: {value}")
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


@remembered(4096, 64)
def _time_bytes(value: str) -> bytes:
    seconds = int(timestamps.parse_time(timestamps.normalise_time(value) or _ZERO_TIME))
    return b"" if seconds == _EARLIEST else b"\x08" + varint(seconds) + b"\x10\x00"


@remembered(4096, 64)
def _micro_bytes(value: str) -> bytes:
    canonical = timestamps.normalise_micro(value)
    if canonical is None:
        return b""
    whole, _, micros = canonical.removesuffix("Z").partition(".")
    seconds = int(timestamps.parse_time(f"{whole}Z"))
    return b"\x08" + varint(seconds) + b"\x10" + varint(int(micros) * 1000)


_ZERO_TIME = "0001-01-01T00:00:00Z"


@counted
@lru_cache(4096)
def _time_text(seconds: int) -> str | None:
    if not _EARLIEST <= seconds <= _LATEST:
        raise ValueError("Time: year outside of range [1,9999]")
    return None if seconds == _EARLIEST else timestamps.format_time(seconds)


def _read_time(message: Any) -> str | None:
    # An empty message is the zero time, while seconds written as 0 are the year 1970.
    if message.HasField("seconds") or message.HasField("nanos"):
        return _time_text(message.seconds)
    return None


def _read_micro(message: Any) -> str | None:
    if not (message.HasField("seconds") or message.HasField("nanos")):
        return None
    carried, nanos = divmod(message.nanos, 1_000_000_000)
    seconds = message.seconds + carried
    if seconds == _EARLIEST and not nanos // 1000:
        return None
    whole = _time_text(seconds) or _ZERO_TIME
    return f"{whole[:-1]}.{nanos // 1000:06d}Z"


def _fill_quantity(message: Any, value: Any) -> None:
    if isinstance(value, bool):
        raise TypeError("a quantity is a string or a number")
    message.string = value if isinstance(value, str) else str(value)


def _read_quantity(message: Any) -> str:
    value: str | bytes = message.string
    return (value if isinstance(value, str) else text(value)) or "0"


def _fill_int_or_string(message: Any, value: Any) -> None:
    if isinstance(value, str):
        message.type = 1
        message.strVal = value
    else:
        message.intVal = value


def _read_int_or_string(message: Any) -> Any:
    if message.type == 0:
        return message.intVal
    if message.type == 1:
        value = message.strVal
        return value if type(value) is str else text(value)
    raise ValueError("impossible IntOrString.Type")


def _depth_within(value: Any, limit: int) -> bool:
    waiting = [(value, limit)]
    while waiting:
        item, left = waiting.pop()
        if isinstance(item, dict | list):
            if left == 0:
                return False
            inside = item.values() if isinstance(item, dict) else item
            waiting.extend((below, left - 1) for below in inside)
    return True


def _embedded(raw: bytes) -> Any:
    """JSON text inside a message; no text at all is null.

    Raises:
        ValueError: not JSON, or nested too deeply.
    """
    if not raw:
        return None
    value = parse_printed(raw)
    if raw.count(b"{") + raw.count(b"[") > MAX_EMBEDDED_DEPTH and not _depth_within(
        value, MAX_EMBEDDED_DEPTH
    ):
        raise ValueError("exceeded max depth")
    return value


def _json_inside(name: str) -> Value:
    def fill(message: Any, value: Any) -> None:
        setattr(message, name, encode(value))

    return Value(fill, lambda message: _embedded(getattr(message, name)))


def named_list(item_type: str) -> Value:
    """A named list type of Go, such as the values of ``extra`` in a user.

    Args:
        item_type: scalar type of the items.
    """
    convert = texts if item_type == "string" else list

    def fill(message: Any, value: Any) -> None:
        message.items.extend(checked_list(value))

    return Value(fill, lambda message: convert(message.items))


def checked_list(value: Any) -> list[Any]:
    """The value itself.

    Raises:
        TypeError: it is no list; the runtime would take the characters of a string.
    """
    if not isinstance(value, list):
        raise TypeError(f"expected a list, found {type(value).__name__}")
    return value


def _set_schema(message: Any, value: Any, props: Struct) -> None:
    message.schema.MergeFromString(props.template)
    message.schema.SetInParent()
    props.fill(message.schema, value)


def _or_bool(props: Struct) -> Value:
    def fill(message: Any, value: Any) -> None:
        if isinstance(value, bool):
            message.allows = value
        else:
            message.allows = True
            _set_schema(message, value, props)

    def read(message: Any) -> Any:
        return props.read(message.schema) if message.HasField("schema") else message.allows

    return Value(fill, read, b"\x08\x00")


def _or_list(name: str, props: Struct, *, schemas: bool) -> Value:
    def fill(message: Any, value: Any) -> None:
        if not isinstance(value, list):
            _set_schema(message, value, props)
        elif schemas:
            for item in value:
                added = getattr(message, name).add()
                added.MergeFromString(props.template)
                props.fill(added, item)
        else:
            getattr(message, name).extend(value)

    def read(message: Any) -> Any:
        items = getattr(message, name)
        if items:
            return [props.read(item) for item in items] if schemas else texts(items)
        return props.read(message.schema) if message.HasField("schema") else None

    return Value(fill, read)


PLAIN: dict[str, Value] = {
    descriptors.TIME: Value(
        lambda message, value: message.MergeFromString(_time_bytes(value)), _read_time
    ),
    descriptors.MICRO_TIME: Value(
        lambda message, value: message.MergeFromString(_micro_bytes(value)), _read_micro
    ),
    descriptors.QUANTITY: Value(_fill_quantity, _read_quantity, b"\x0a\x010"),
    descriptors.INT_OR_STRING: Value(
        _fill_int_or_string, _read_int_or_string, b"\x08\x00\x10\x00\x1a\x00"
    ),
    descriptors.FIELDS_V1: _json_inside("Raw"),
    descriptors.RAW_EXTENSION: _json_inside("raw"),
    descriptors.JSON_VALUE: _json_inside("raw"),
}
"""Messages that stand alone, by name."""

JSON_SCHEMA = f"{descriptors.EXTENSIONS}JSONSchemaProps"

SCHEMA_UNIONS: dict[str, Callable[[Struct], Value]] = {
    f"{JSON_SCHEMA}OrBool": _or_bool,
    f"{JSON_SCHEMA}OrArray": lambda props: _or_list("jSONSchemas", props, schemas=True),
    f"{JSON_SCHEMA}OrStringArray": lambda props: _or_list("property", props, schemas=False),
}
"""Unions of a JSON schema and something else; each is given how schemas are written."""
