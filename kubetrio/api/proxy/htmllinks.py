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
from collections.abc import Callable, Iterator
from contextlib import suppress

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
GZIP_WINDOW = 16 + zlib.MAX_WBITS
RAW_TEXT = frozenset({"script", "style", "textarea", "title", "xmp"})
"""Elements whose content has no tags."""
MAX_LINK = 8192  # a longer value is no link that a browser follows

_TAG = re.compile(r"[A-Za-z][^\s/>]*")
_SKIP = re.compile(r"[\s/]*")
_NAME = re.compile(r"[^\s/>][^\s/>=]*")
_EQUALS = re.compile(r"\s*=\s*")
_BARE = re.compile(r"[^\s>]*")

Rewrite = Callable[[str], str]


class _Unfinished(Exception):
    """The text ends inside a construct, so that it has no further tags."""


def _past(text: str, mark: str, at: int) -> int:
    """Behind the next occurrence of a mark."""
    begin = text.find(mark, at)
    if begin < 0:
        raise _Unfinished
    return begin + len(mark)


def _links(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Link attributes as (begin, end, name, value), each looked at once.

    The tokenizer of HTML (WHATWG, 13.2.5) as far as start tags are concerned: no character is read
    more than twice, whatever a page holds.

    Raises:
        _Unfinished: at the end of a text that is cut off.
    """
    at = 0
    while (at := text.find("<", at)) >= 0:
        tag = _TAG.match(text, at + 1)
        if tag is None:
            if text.startswith("<!--", at):
                at = _past(text, "-->", at + 4)
            else:
                at = (
                    _past(text, ">", at + 1) if text[at + 1 : at + 2] in ("/", "!", "?") else at + 1
                )
            continue
        name = tag[0].lower()
        link_attributes = LINKS.get(name, ())
        at = tag.end()
        while True:
            at = _skip(_SKIP, text, at)
            attribute = _NAME.match(text, at)
            if attribute is None:
                at = _past(text, ">", at)
                break
            begin, at = at, attribute.end()
            equals = _EQUALS.match(text, at)
            if equals is None:
                continue
            at = equals.end()
            if text[at : at + 1] in ('"', "'"):
                end = _past(text, text[at], at + 1)
                value = text[at + 1 : end - 1]
            else:
                end = _skip(_BARE, text, at)
                value = text[at:end]
            at = end
            if attribute[0].lower() in link_attributes:
                yield begin, end, attribute[0], value
        if name in RAW_TEXT:
            closing = re.compile(f"</{name}", re.IGNORECASE | re.ASCII).search(text, at)
            if closing is None:
                raise _Unfinished
            at = closing.start()


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    skipped = pattern.match(text, at)
    return skipped.end() if skipped is not None else at


def rewrite_links(page: bytes, rewrite: Rewrite) -> bytes:
    """A page whose links lead where a function says.

    Args:
        page: HTML in UTF-8 or anything that agrees with ASCII.
        rewrite: from a link to another one, or itself.
    """
    text = page.decode("utf-8", "surrogateescape")
    parts, done = [], 0
    with suppress(_Unfinished):
        for begin, end, name, value in _links(text):
            if len(value) > MAX_LINK:
                continue
            try:
                link = html.unescape(value)
            except ValueError:  # a reference to a character with thousands of digits
                continue
            moved = rewrite(link)
            if moved != link:
                parts += [text[done:begin], f'{name}="{html.escape(moved)}"']
                done = end
    parts.append(text[done:])
    return "".join(parts).encode("utf-8", "surrogateescape")


def rewrite_coded(body: bytes, coding: str, rewrite: Rewrite, most: int) -> bytes:
    """Rewrite the links of a page that may be compressed (slow); unreadable ones stay as they are.

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
