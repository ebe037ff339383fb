"""PEM as Go reads it: the one reader of the project.

OpenSSL, ``cryptography`` and ``ssl`` have readers of their own, which disagree about what is a
block: about text on the line of its first dashes, types that are synonyms, headers, blocks that are
not whole.  Who judges with one and believes with another can be shown two certificates.  So text is
taken apart here, and they are given DER.

Source: RFC 1421 and 7468; Go's documentation of ``encoding/pem`` (blocks begin and end a line, what
is between them is skipped, and so is a block that is not whole) and of ``CertPool``
(``AppendCertsFromPEM``: blocks of type CERTIFICATE without headers).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass

CERTIFICATE = "CERTIFICATE"
PRIVATE_KEYS = frozenset({"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"})
"""Types of blocks with a private key that has no passphrase."""
_LINE = 64
_START = b"-----BEGIN "
_END = b"\n-----END "
_DASHES = b"-----"
_SPACE = re.compile(rb"[ \t\r\n]+")
_BLANK_LINE = re.compile(rb"[ \t]*(?:\r?\n|\Z)")


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
        # What follows the last attempt counts as the beginning of a line.
        if begin < 0 or (begin > position and data[begin - 1 : begin] != b"\n"):
            position = after
            continue
        block, following = _block(data, begin + len(_START), end)
        if block is None and following > after:
            return  # headers without an end: it reads no further
        position = following if block else after
        if block:
            yield block


def certificates(data: bytes) -> list[bytes]:
    """The certificates of a text, DER, in order.

    Args:
        data: blocks of type CERTIFICATE without headers count, all else is passed over.
    """
    return [
        block.content
        for block in pem_blocks(data)
        if block.kind == CERTIFICATE and not block.has_headers
    ]


def printed(certificate: bytes) -> bytes:
    """A certificate as a block.

    Args:
        certificate: DER.
    """
    text = base64.b64encode(certificate)
    lines = (text[at : at + _LINE] for at in range(0, len(text), _LINE))
    body = b"".join(b"%b\n" % line for line in lines)
    return b"-----BEGIN CERTIFICATE-----\n%b-----END CERTIFICATE-----\n" % body


def private_keys(data: bytes) -> list[bytes]:
    """The private keys of a text, DER, in order; those with a passphrase are none.

    Args:
        data: blocks of `PRIVATE_KEYS` count, all else is passed over.
    """
    return [block.content for block in pem_blocks(data) if block.kind in PRIVATE_KEYS]


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

    Returns:
        The block, None if it is none; how far was read.
    """
    first, body = _line(data, start)
    if not first.endswith(_DASHES):
        return None, 0
    kind = first.removesuffix(_DASHES)
    has_headers = False
    while True:
        if body >= len(data):
            return None, len(data) + 1
        line, following = _line(data, body)
        if b":" not in line:
            break
        has_headers, body = True, following
    if has_headers and body > end:
        return None, body
    trailer = kind + _DASHES
    last = end + len(_END)
    if not data.startswith(trailer, last):
        return None, 0
    rest = _BLANK_LINE.match(data, last + len(trailer))
    if rest is None:
        return None, 0
    text = _SPACE.sub(b"", data[body:end]) if end > body else b""
    if len(text) % 4:  # the standard library passes over some padding too much
        return None, 0
    try:
        content = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None, 0
    return PemBlock(kind.decode("utf-8", "replace"), has_headers, content), rest.end()
