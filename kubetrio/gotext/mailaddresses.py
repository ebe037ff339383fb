"""Mail addresses as Go's package ``net/mail`` takes them: one address, with or without a name.

What is between two positions is looked at once, so that an address takes linear time.

Source: RFC 5322, sections 3.2 and 3.4; RFC 2047 (encoded words).
"""

from __future__ import annotations

import binascii
import ipaddress
import re

_spaces = re.compile(r"[ \t]*")
_atom = re.compile(r'[^\x00-\x20\x7f()<>\[\]:;@\\,"]+')
_quoted = re.compile(r'"((?:\\[^\x00-\x08\x0a-\x1f\x7f]|[^\x00-\x08\x0a-\x1f\x7f"\\])*+)"')
_literal = re.compile(r"\[([^\x00-\x20\x7f\[\]\\]*)\]")
_encoded = re.compile(r"=\?([^?]+)\?([bBqQ])\?([^?]*)\?=")
_bad_escape = re.compile(r"=(?![0-9A-Fa-f]{2})|[^\t\r\n\x20-\x7e]")
_CHARSETS = frozenset({"utf-8", "iso-8859-1", "us-ascii"})


class _NoAddress(Exception):
    """A text is no address."""


def is_address(text: str) -> bool:
    """Whether a text is one mail address.

    Args:
        text: such as ``a@example.com`` or ``"A. B." <a@example.com>``.
    """
    reader = _Reader(text)
    try:
        count = reader.address(groups=True)
        reader.comments()
    except _NoAddress:
        return False
    return count == 1 and reader.ends


class _Reader:
    """Reads addresses of a text.

    Args:
        text: the text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    @property
    def ends(self) -> bool:
        """Whether all of the text is read."""
        return self._at == len(self._text)

    def address(self, *, groups: bool) -> int:
        """Read an address, or a group of them; returns how many there were.

        Args:
            groups: whether a group may stand here.

        Raises:
            _NoAddress: there is none.
        """
        self._skip()
        if self.ends:
            raise _NoAddress
        if self._plain():
            self._skip()
            if self._next("("):
                _decode_words(self._comment())
            return 1
        if not self._sees("<"):
            self._phrase()
        self._skip()
        if groups and self._next(":"):
            return self._group()
        if not (self._next("<") and self._plain() and self._next(">")):
            raise _NoAddress
        return 1

    def comments(self) -> None:
        """Read spaces and comments.

        Raises:
            _NoAddress: a comment does not end.
        """
        self._skip()
        while self._next("("):
            self._comment()
            self._skip()

    def _group(self) -> int:
        self._skip()
        if self._next(";"):
            self.comments()
            return 0
        count = 0
        while True:
            self._skip()
            count += self.address(groups=False)
            self.comments()
            if self._next(";"):
                self.comments()
                return count
            if not self._next(","):
                raise _NoAddress

    def _plain(self) -> bool:
        """Read a local part and a domain, if they stand here; nothing else is read."""
        before = self._at
        self._skip()
        if self._sees('"'):
            quoted = _quoted.match(self._text, self._at)
            good = quoted is not None and bool(quoted[1])
            self._at = quoted.end() if quoted is not None else self._at
        else:
            good = self._dotted()
        good = good and self._next("@")
        self._skip()
        if good and self._domain():
            return True
        self._at = before
        return False

    def _domain(self) -> bool:
        if not self._sees("["):
            return self._dotted()
        literal = _literal.match(self._text, self._at)
        if literal is None or "%" in literal[1]:
            return False
        self._at = literal.end()
        try:
            ipaddress.ip_address(literal[1])
        except ValueError:
            return False
        return True

    def _dotted(self) -> bool:
        atom = _atom.match(self._text, self._at)
        if atom is None:
            return False
        self._at = atom.end()
        return not (atom[0].startswith(".") or atom[0].endswith(".") or ".." in atom[0])

    def _phrase(self) -> None:
        """Read the words of a name; it ends before what is no word."""
        words, encoded = 0, False
        while True:
            if words:
                self.comments()
            self._skip()
            word = (_quoted if self._sees('"') else _atom).match(self._text, self._at)
            if word is None:
                break
            self._at = word.end()
            try:
                content = None if word[0].startswith('"') else _decode(word[0])
            except _NoAddress:
                break
            if content is not None:
                encoded = encoded or bool(content)
            else:
                words, encoded = words + encoded + 1, False
        if not words + encoded and not self.ends:
            raise _NoAddress

    def _comment(self) -> str:
        """Read a comment, behind its parenthesis; returns what is in it."""
        depth, start, skip = 1, self._at, False
        for at in range(start, len(self._text)):
            char = self._text[at]
            if skip:
                skip = False
            elif char == "\\" and at + 1 < len(self._text):
                skip = True
            elif char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
                if not depth:
                    self._at = at + 1
                    return self._text[start:at]
        raise _NoAddress

    def _skip(self) -> None:
        spaces = _spaces.match(self._text, self._at)
        self._at = spaces.end() if spaces is not None else self._at

    def _sees(self, char: str) -> bool:
        return self._text.startswith(char, self._at)

    def _next(self, char: str) -> bool:
        seen = self._sees(char)
        self._at += seen
        return seen


def _decode_words(text: str) -> None:
    for word in re.split(r"[ \t]+", text):
        _decode(word)


def _decode(word: str) -> str | None:
    """What is in an encoded word, None for one that is not encoded.

    Raises:
        _NoAddress: it is, in a set of characters that is not known.
    """
    parts = _encoded.fullmatch(word)
    if parts is None:
        return None
    charset, encoding, content = parts.groups()
    if encoding in "bB":
        try:
            binascii.a2b_base64(content, strict_mode=True)
        except (binascii.Error, ValueError):
            return None
    elif _bad_escape.search(content):
        return None
    if charset.lower() not in _CHARSETS:
        raise _NoAddress
    return str(content)
