"""Links in HTML pages that come through a proxy: those to the backend are led through it, too.

Everything but the values of link attributes stays as it is, byte by byte.

Source: HTML 4.01, appendix "Attributes" (those of type URI) and ``formaction``, ``src`` and the
like of HTML 5: the list that kube-apiserver's proxies go by.
"""

from __future__ import annotations

import gzip
import html
import re
import zlib
from collections.abc import Callable
from html.parser import HTMLParser

LINKS = {
    "a": ("href",), "applet": ("codebase",), "area": ("href",), "audio": ("src",),
    "base": ("href",), "blockquote": ("cite",), "body": ("background",),
    "button": ("formaction",), "command": ("icon",), "del": ("cite",), "embed": ("src",),
    "form": ("action",), "frame": ("longdesc", "src"), "head": ("profile",), "html": ("manifest",),
    "iframe": ("longdesc", "src"), "img": ("longdesc", "src", "usemap"),
    "input": ("src", "usemap", "formaction"), "ins": ("cite",), "link": ("href",),
    "object": ("classid", "codebase", "data", "usemap"), "q": ("cite",), "script": ("src",),
    "source": ("src",), "video": ("poster", "src"),
}  # fmt: skip
ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
GZIP_WINDOW = 16 + zlib.MAX_WBITS

Rewrite = Callable[[str], str]


class _Finder(HTMLParser):
    """Finds start tags with links, and what to put in their place."""

    def __init__(self, text: str, rewrite: Rewrite) -> None:
        super().__init__(convert_charrefs=False)
        self.changes: list[tuple[int, str, str]] = []
        self._rewrite = rewrite
        self._lines = [0]
        for line in text.split("\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        wanted = LINKS.get(tag)
        raw = self.get_starttag_text()
        if wanted is None or not raw or not any(name in wanted for name, _ in attrs):
            return
        names = frozenset(wanted)

        def change(found: re.Match[str]) -> str:
            if found[1].lower() not in names:
                return found[0]
            value = html.unescape(next((v for v in found.groups()[1:] if v is not None), ""))
            moved = self._rewrite(value)
            return found[0] if moved == value else f'{found[1]}="{html.escape(moved)}"'

        changed = ATTRIBUTE.sub(change, raw)
        if changed != raw:
            line, column = self.getpos()
            self.changes.append((self._lines[line - 1] + column, raw, changed))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)


def rewrite_links(page: bytes, rewrite: Rewrite) -> bytes:
    """A page whose links lead where a function says.

    Args:
        page: HTML in UTF-8 or anything that agrees with ASCII.
        rewrite: from a link to another one, or itself.
    """
    text = page.decode("utf-8", "surrogateescape")
    finder = _Finder(text, rewrite)
    finder.feed(text)
    finder.close()
    parts, done = [], 0
    for at, raw, changed in finder.changes:
        parts += [text[done:at], changed]
        done = at + len(raw)
    parts.append(text[done:])
    return "".join(parts).encode("utf-8", "surrogateescape")


def rewrite_coded(body: bytes, coding: str, rewrite: Rewrite, most: int) -> bytes:
    """The same for a page that may be compressed; what cannot be read stays as it is.  Slow.

    Args:
        body: the page as it came.
        coding: its ``Content-Encoding``: ``gzip``, ``deflate`` or empty.
        rewrite: from a link to another one, or itself.
        most: bytes of a page; a larger one stays as it is.
    """
    if not coding:
        return rewrite_links(body, rewrite)
    reader = zlib.decompressobj(GZIP_WINDOW if coding == "gzip" else -zlib.MAX_WBITS)
    try:
        page = reader.decompress(body, most)
    except zlib.error:
        return body
    if reader.unconsumed_tail or not reader.eof:
        return body
    page = rewrite_links(page, rewrite)
    if coding == "gzip":
        return gzip.compress(page, mtime=0)
    writer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return writer.compress(page) + writer.flush()
