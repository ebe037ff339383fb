"""Objects as CBOR, the representation of KEP-4222 (``application/cbor``).

As in Kubernetes, strings are written as byte strings, map keys are sorted, and what is base64 in
JSON is a byte string with tag 22 where the caller knows it to be bytes.  Read back, byte strings
are text unless a tag says they are base64, base64url or hexadecimal in JSON.

The library is ``cbor2``, an optional dependency imported when first needed.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from kubetrio.machinery.sorting import sorted_in_steps
from kubetrio.wire.cborscan import BASE16, BASE64, BASE64URL, MAX_DEPTH, ItemScanner
from kubetrio.wire.descriptors import BinaryShape
from kubetrio.wire.protovalues import from_base64, number, to_base64

Json = dict[str, Any]

PREFIX = b"\xd9\xd9\xf7"
"""Every object begins with this: tag 55799, "self-described CBOR"."""

_MIN_INT, _MAX_INT = -(1 << 63), (1 << 63) - 1
_NOTHING: BinaryShape = {}


NOT_INSTALLED = "CBOR needs cbor2: install kubetrio[cbor] (in a checkout: pip install '.[cbor]')"


class CborUnavailable(RuntimeError):
    """The optional dependency is not installed."""


def _library() -> ModuleType:
    try:
        import cbor2
    except ImportError as error:
        raise CborUnavailable(NOT_INSTALLED) from error
    return cbor2


def available() -> bool:
    """Whether the optional dependency is there."""
    try:
        _library()
    except CborUnavailable:
        return False
    return True


def encode(obj: Any, binary: BinaryShape = _NOTHING) -> bytes:
    """An object with the prefix.

    Args:
        obj: a JSON value.
        binary: where it has bytes (``Descriptors.binary_shape``); elsewhere base64 stays text,
            which readers take for the same.

    Raises:
        CborUnavailable: ``cbor2`` is not installed.
        ValueError: a number CBOR in Kubernetes cannot carry, bad base64, or nested too deeply.
    """
    printer = _Printer(_library())
    value, _ = printer.outward(obj, binary, MAX_DEPTH)
    return PREFIX + (value.data if type(value) is _Printed else printer.dump(value))


PIECE_ITEMS = 4000
"""Data items that are printed in one call of the library, which lets no other thread run."""


class _Printed:
    """What was printed piece by piece."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class _Printer:
    """Prints containers of many items in pieces, and all else in one call.

    Args:
        library: ``cbor2``.
    """

    def __init__(self, library: ModuleType) -> None:
        self._library = library

    def dump(self, value: Any) -> bytes:
        """A value in the library's terms as bytes.

        Raises:
            ValueError: it cannot be printed.
        """
        try:
            data: bytes = self._library.dumps(value, canonical=True)
        except self._library.CBOREncodeError as error:
            raise ValueError(f"cbor: {error}") from error
        return data

    def outward(self, value: Any, binary: Any, depth: int) -> tuple[Any, int]:
        """A JSON value in the library's terms, or printed, and how many items it has."""
        if isinstance(value, str):
            if binary is True:
                return self._library.CBORTag(BASE64, from_base64(value)), 1
            return value.encode(), 1
        if isinstance(value, dict):
            _check_depth(depth)
            inside = binary if binary and binary is not True else _NOTHING
            every = inside.get("*")
            members = {
                key.encode(): self.outward(item, inside.get(key, every), depth - 1)
                for key, item in value.items()
            }
            count = 1 + len(members) + sum(items for _, items in members.values())
            if count <= PIECE_ITEMS:
                return {key: item for key, (item, _) in members.items()}, count
            # Keys are in the order of RFC 8949, 4.2.1: for byte strings, shorter ones first.
            keys = sorted_in_steps(members, lambda key: (len(key), key))
            flat = (part for key in keys for part in ((key, 1), members[key]))
            return self._in_pieces(_head(5, len(keys)), flat), count
        if isinstance(value, list):
            _check_depth(depth)
            inner = [self.outward(item, binary, depth - 1) for item in value]
            count = 1 + sum(items for _, items in inner)
            if count <= PIECE_ITEMS:
                return [item for item, _ in inner], count
            return self._in_pieces(_head(4, len(inner)), inner), count
        if isinstance(value, bool) or value is None:
            return value, 1
        if isinstance(value, float):
            if value - value != 0:
                raise ValueError("cbor: floating-point NaN and infinity are not supported")
            return float(value), 1
        if not _MIN_INT <= value <= _MAX_INT:
            raise ValueError(f"cbor: {value} overflows a 64-bit integer")
        return value, 1

    def _in_pieces(self, head: bytes, values: Iterable[tuple[Any, int]]) -> _Printed:
        """A container of what is told with the number of its items."""
        out, batch, size = [head], list[Any](), 0
        for value, items in values:
            printed = type(value) is _Printed
            if batch and (printed or size + items > PIECE_ITEMS):
                out.append(self._bare(batch))
                batch, size = [], 0
            if printed:
                out.append(value.data)
            else:
                batch.append(value)
                size += items
        out.append(self._bare(batch))
        return _Printed(b"".join(out))

    def _bare(self, batch: list[Any]) -> bytes:
        """Values one behind the other."""
        return self.dump(batch)[len(_head(4, len(batch))) :]


def _check_depth(depth: int) -> None:
    if depth == 0:
        raise ValueError(f"cbor: exceeded max nested level {MAX_DEPTH}")


def encode_list(api_version: str, kind: str, list_meta: Json, items: Iterable[bytes]) -> bytes:
    """A list of items that are encoded already.

    Args:
        api_version: of the list.
        kind: of the list, such as ``PodList``.
        list_meta: the list's ``metadata``.
        items: encoded objects, with or without the prefix.

    Raises:
        CborUnavailable: ``cbor2`` is not installed.
        ValueError: as for ``encode``.
    """
    inner = [item.removeprefix(PREFIX) for item in items]
    before, behind = around_list(api_version, kind, list_meta, len(inner))
    return b"".join((before, *inner, behind))


def around_list(api_version: str, kind: str, list_meta: Json, count: int) -> tuple[bytes, bytes]:
    """What stands before and behind items without the prefix; see `encode_list`.

    Args:
        api_version: of the list.
        kind: of the list.
        list_meta: the list's ``metadata``.
        count: how many items.
    """
    # Keys are in the order of RFC 8949, 4.2.1: for byte strings, shorter ones first.
    kinds = b"\x44kind" + encode(kind).removeprefix(PREFIX)
    meta = b"\x48metadata" + encode(list_meta).removeprefix(PREFIX)
    version = b"\x4aapiVersion" + encode(api_version).removeprefix(PREFIX)
    return b"%b\xa4%b\x45items%b" % (PREFIX, kinds, _head(4, count)), meta + version


def encode_event(event_type: str, encoded: bytes) -> bytes:
    """A watch event.

    Args:
        event_type: ``ADDED``, ``MODIFIED``, ``DELETED``, ``BOOKMARK`` or ``ERROR``.
        encoded: the object as ``encode`` made it.
    """
    name = event_type.encode()
    return b"".join((PREFIX + b"\xa2\x44type", _head(2, len(name)), name, b"\x46object", encoded))


def _head(major: int, length: int) -> bytes:
    if length < 24:
        return bytes((major << 5 | length,))
    width = next(power for power in range(4) if length < 1 << (8 << power))
    return bytes((major << 5 | 24 + width,)) + length.to_bytes(1 << width, "big")


def decode(data: bytes) -> Any:
    """A JSON value of one item, with or without the prefix.

    Raises:
        CborUnavailable: ``cbor2`` is not installed.
        ValueError: malformed, not JSON-shaped, a key twice, too deep, too large, or followed by
            something.
    """
    library = _library()
    scanner = ItemScanner()
    if not scanner.advance(data):
        raise ValueError("cbor: unexpected EOF")
    if scanner.position != len(data):
        raise ValueError("cbor: extraneous data after the item")
    body = data
    while body.startswith(PREFIX):
        body = body[len(PREFIX) :]
    try:
        source = _Source(body)
        value = library.load(source, read_size=READ_BYTES, allow_duplicate_keys=False)
    except (library.CBORDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"cbor: {error}") from error
    return _inward(value, library.CBORTag)


READ_BYTES = 16 * 1024
"""Bytes that the library decodes without letting another thread run."""


class _Source(io.BytesIO):
    """Bytes in pieces: Python runs, and switches between threads, each time that one is asked for.

    ``loads`` would decode all of them in one call, of up to 100 ms.
    """

    def read(self, size: int | None = -1, /) -> bytes:
        """See `io.BytesIO`; the library asks for what is left of a long string at once."""
        return super().read(size)


def _inward(value: Any, tag: type[Any]) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Mapping):
        out = {_key(key): _inward(item, tag) for key, item in value.items()}
        if len(out) != len(value):
            raise ValueError("cbor: a map key is there as text and as bytes")
        return out
    if isinstance(value, list | tuple):
        return [_inward(item, tag) for item in value]
    if isinstance(value, tag):
        return _tagged(value.tag, value.value, tag)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, int) and not _MIN_INT <= value <= _MAX_INT:
        raise ValueError(f"cbor: {value} overflows Go's int64")
    return value


def _key(key: Any) -> str:
    if isinstance(key, bytes):
        return key.decode("utf-8", "replace")
    if isinstance(key, str):
        return key
    raise ValueError("cbor: a map key is not a string")


def _tagged(tag_number: int, value: Any, tag: type[Any]) -> Any:
    if not isinstance(value, bytes):
        return _inward(value, tag)
    if tag_number == BASE64URL:
        return base64.urlsafe_b64encode(value).decode("ascii").rstrip("=")
    if tag_number == BASE16:
        return value.hex()
    return to_base64(value)
