"""PEM as Go reads it, which decides what kube-apiserver finds in a text.

Source: RFC 1421 and 7468; Go's documentation of ``encoding/pem`` (blocks begin and end a line, what
is between them is skipped, and so is a block that is not whole).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass

_START = b"-----BEGIN "
_END = b"\n-----END "
_DASHES = b"-----"
_SPACE = re.compile(rb"[ \t\r\n]+")
_BLANK_LINE = re.compile(rb"[ \t]*\r?(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class PemBlock:
    """A block.

    Args:
        kind: what its first line names, such as ``CERTIFICATE``.
        has_headers: whether there are headers in it.
        content: the bytes.
    """

    kind: str
    has_headers: bool
    content: bytes


def pem_blocks(data: bytes) -> Iterator[PemBlock]:
    """The blocks of a text.

    Args:
        data: the text.
    """
    position = 0
    while (end := data.find(_END, position)) >= 0:
        begin = data.rfind(_START, position, end)
        after = end + len(_END)
        if begin < 0 or (begin > 0 and data[begin - 1 : begin] != b"\n"):
            position = after
            continue
        block, following = _block(data, begin + len(_START), end)
        position = following if block else after
        if block:
            yield block


def _line(data: bytes, start: int) -> tuple[bytes, int]:
    """A line without what ends it, and where the next one begins."""
    end = data.find(b"\n", start)
    if end < 0:
        return data[start:].rstrip(b" \t"), len(data)
    return data[start:end].removesuffix(b"\r").rstrip(b" \t"), end + 1


def _block(data: bytes, start: int, end: int) -> tuple[PemBlock | None, int]:
    """The block whose type begins at a place and whose last line follows another; what is behind.

    Args:
        data: the text.
        start: where the type begins, in the first line.
        end: where the line break before the last line is.
    """
    first, body = _line(data, start)
    if not first.endswith(_DASHES):
        return None, 0
    kind = first.removesuffix(_DASHES)
    has_headers = False
    while body < len(data):
        line, following = _line(data, body)
        if b":" not in line:
            break
        has_headers, body = True, following
    if has_headers and body > end:
        return None, 0
    trailer = kind + _DASHES
    last = end + len(_END)
    if not data.startswith(trailer, last):
        return None, 0
    rest = _BLANK_LINE.match(data, last + len(trailer))
    if rest is None:
        return None, 0
    text = _SPACE.sub(b"", data[body:end]) if end > body else b""
    try:
        content = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None, 0
    return PemBlock(kind.decode("utf-8", "replace"), has_headers, content), rest.end()
