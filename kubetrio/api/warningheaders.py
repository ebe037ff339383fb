"""``Warning`` headers of one answer (RFC 7234, section 5.5), as many as fit.

Source: docs "Dynamic Admission Control" (response, warnings), which tells the limits: texts over
256 characters may be truncated, and warnings past 4096 characters in all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""What ends a header or has no place in one."""
TOTAL = 4 * 1024
"""Characters of all warnings beyond which each is cut."""
EACH = 256
"""Characters of each then."""

_NAME = b"Warning"
_Headers = list[tuple[bytes, bytes]]


def _header(text: str) -> tuple[bytes, bytes]:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return _NAME, b'299 - "%b"' % quoted.encode("utf-8", "replace")


class Warnings:
    """What the client of one request was warned of.

    Args:
        headers: headers of the answer; warnings are added to them, and written anew when they
            have to be cut.
    """

    __slots__ = ("_cut", "_headers", "_texts", "_written")

    def __init__(self, headers: _Headers) -> None:
        self._headers = headers
        self._texts: dict[str, None] = {}
        self._written = 0
        self._cut = False

    def add(self, texts: Iterable[str]) -> None:
        """Warn of something, once.

        Texts with control characters, such as line breaks, are left out, as by kube-apiserver:
        they must not end a header.

        Args:
            texts: the warnings.
        """
        for text in texts:
            self._add(text)

    def _add(self, text: str) -> None:
        if not text or text in self._texts or (self._cut and self._written >= TOTAL):
            return
        self._texts[text] = None
        if CONTROL.search(text):
            return
        if self._cut or self._written + len(text) <= TOTAL:
            self._write(text)
            return
        self._cut, self._written = True, 0
        self._headers[:] = [header for header in self._headers if header[0] != _NAME]
        for told in self._texts:
            self._write(told)

    def _write(self, text: str) -> None:
        if CONTROL.search(text):
            return
        if self._cut:
            text = text[:EACH]
        self._written += len(text)
        self._headers.append(_header(text))
