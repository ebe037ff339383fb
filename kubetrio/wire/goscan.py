"""An exact, iterative JSON reader that refuses what Go's ``encoding/json`` refuses, in its words.

This is the slow half of ``gojson``: it is run only for bodies that the fast half cannot vouch for
(malformed text, invalid UTF-8, duplicate keys, fractions, deep nesting).  It keeps no Python stack
frame per nesting level, so depth is bounded by the rule and not by the interpreter.

Two habits of Go's scanner decide the wording of errors.  It reads bytes, so the first byte of a
character is named, as Latin-1.  And at the end of input it feeds itself one space: inside a
literal, a number or an escape the complaint is about that space, elsewhere it is
"unexpected end of JSON input".
"""

from __future__ import annotations

import codecs
import re
from typing import Any, Self

from kubetrio.wire.places import ROOT, Places

MAX_DEPTH = 10_000
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_space = re.compile(r"[ \t\r\n]*").match
_PLAIN_CHARS = 65536  # of a string in one call, which must not take long
_plain = re.compile(rf'[^"\\\x00-\x1f]{{0,{_PLAIN_CHARS}}}').match
_number = re.compile(r"-?(?:0|[1-9][0-9]*)").match
_fraction = re.compile(r"\.[0-9]+").match
_exponent = re.compile(r"[eE][+-]?[0-9]+").match
_exponent_start = re.compile(r"[eE][+-]?").match
_hex4 = re.compile(r"[0-9a-fA-F]{0,4}").match
_not_unicode = re.compile(r"[\ud800-\udfff]")

_ESCAPES = {
    '"': '"',
    "\\": "\\",
    "/": "/",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
}
_LITERALS: dict[str, tuple[str, bool | None]] = {
    "t": ("true", True),
    "f": ("false", False),
    "n": ("null", None),
}
# Integers longer than this are read as fractions: int() refuses them and no client means them.
_MAX_DIGITS = 4000

Pairs = list[tuple[str, Any]]


class GoJsonError(ValueError):
    """Malformed JSON; the text of the exception is Go's message."""


class Float(float):
    """A number with a fraction or an exponent, and the text it was written as.

    Args:
        text: the number as JSON text; out of range it becomes an infinity and keeps the text.
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        """Read ``text``."""
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __reduce__(self) -> tuple[type[Float], tuple[str]]:
        return (Float, (self.text,))


def integer(text: str) -> int | Float:
    """An integer literal, exact."""
    return int(text) if len(text) <= _MAX_DIGITS else Float(text)


def quote_byte(byte: int) -> str:
    """One byte as Go's scanner prints it in messages, quotes included."""
    if byte == 0x27:
        return r"'\''"
    if byte == 0x22:
        return "'\"'"
    char = chr(byte)
    if byte == 0x5C:
        return r"'\\'"
    if char.isprintable():
        return f"'{char}'"
    short = {7: r"\a", 8: r"\b", 9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r"}.get(byte)
    return f"'{short or (f'x{byte:02x}' if byte < 0x80 else f'u{byte:04x}').join((chr(92), ''))}'"


def _decoded(body: bytes) -> str:
    """Text of bytes, a piece at a time: repairing it takes long."""
    decoder = _utf8("surrogateescape")
    pieces = (body[at : at + _PIECE_BYTES] for at in range(0, len(body), _PIECE_BYTES))
    return "".join([*map(decoder.decode, pieces), decoder.decode(b"", final=True)])


_utf8 = codecs.getincrementaldecoder("utf-8")
_PIECE_BYTES = 256 * 1024


class Scanner:
    """One pass over a text.

    Args:
        body: JSON text; invalid UTF-8 becomes U+FFFD, one for each byte, as in Go.

    Attributes:
        duplicates: paths of repeated keys in document order, without repetition, at most 100.
        repeated: for each object with a repeated key, by ``id``, all its members in order.
    """

    __slots__ = ("_places", "duplicates", "repeated", "text")

    def __init__(self, body: bytes) -> None:
        # Each undecodable byte becomes one surrogate; strings turn it into U+FFFD.
        self.text = _decoded(body)
        self.duplicates: list[str] = []
        self.repeated: dict[int, Pairs] = {}
        self._places = Places()

    def _fail(self, at: int, context: str, *, at_end: bool = False) -> GoJsonError:
        char = self.text[at : at + 1]
        if not char:
            if not at_end:
                return GoJsonError("unexpected end of JSON input")
            char = " "
        byte = char.encode("utf-8", "surrogateescape")[0]
        return GoJsonError(f"invalid character {quote_byte(byte)} {context}")

    def _skip(self, at: int) -> int:
        space = _space(self.text, at)
        return space.end() if space else at

    def _escape(self, at: int) -> tuple[str, int]:
        """The character of the escape whose letter is at ``at``, and where it ends."""
        letter = self.text[at : at + 1]
        plain = _ESCAPES.get(letter)
        if plain is not None:
            return plain, at + 1
        if letter != "u":
            raise self._fail(at, "in string escape code", at_end=True)
        code, at = self._hex(at + 1)
        if 0xD800 <= code < 0xE000:
            if code < 0xDC00 and self.text.startswith("\\u", at):
                low, after = self._hex(at + 2)
                if 0xDC00 <= low < 0xE000:
                    return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), after
            return REPLACEMENT, at
        return chr(code), at

    def _hex(self, at: int) -> tuple[int, int]:
        code = _hex4(self.text, at)
        digits = code.group() if code else ""
        if len(digits) < 4:
            raise self._fail(at + len(digits), r"in \u hexadecimal character escape", at_end=True)
        return int(digits, 16), at + 4

    def _string(self, at: int) -> tuple[str, int]:
        """The string whose opening quote is before ``at``."""
        text = self.text
        pieces: list[str] = []
        while True:
            found = _plain(text, at)
            if found and found.end() > at:
                piece = found.group()
                if not piece.isascii():
                    piece = _not_unicode.sub(REPLACEMENT, piece)
                pieces.append(piece)
                at = found.end()
                if len(piece) == _PLAIN_CHARS:
                    continue
            char = text[at : at + 1]
            if char == '"':
                return "".join(pieces), at + 1
            if char != "\\":
                raise self._fail(at, "in string literal")
            piece, at = self._escape(at + 1)
            pieces.append(piece)

    def _scalar(self, at: int) -> tuple[Any, int]:
        """The string, number or literal at ``at``."""
        text = self.text
        char = text[at : at + 1]
        if char == '"':
            return self._string(at + 1)
        if char in _LITERALS:
            word, value = _LITERALS[char]
            for offset in range(1, len(word)):
                if text[at + offset : at + offset + 1] != word[offset]:
                    context = f"in literal {word} (expecting {quote_byte(ord(word[offset]))})"
                    raise self._fail(at + offset, context, at_end=True)
            return value, at + len(word)
        found = _number(text, at)
        if not found:
            if char == "-":
                raise self._fail(at + 1, "in numeric literal", at_end=True)
            raise self._fail(at, "looking for beginning of value")
        end = whole = found.end()
        if text[end : end + 1] == ".":
            fraction = _fraction(text, end)
            if not fraction:
                raise self._fail(end + 1, "after decimal point in numeric literal", at_end=True)
            end = fraction.end()
        if text[end : end + 1] in ("e", "E"):
            exponent = _exponent(text, end)
            if not exponent:
                start = _exponent_start(text, end)
                bad = start.end() if start else end
                raise self._fail(bad, "in exponent of numeric literal", at_end=True)
            end = exponent.end()
        literal = text[at:end]
        return (integer(literal) if end == whole else Float(literal)), end

    def scan(self) -> Any:
        """The value of the whole text.

        Raises:
            GoJsonError: the text is not one JSON value, or is nested deeper than 10000.
        """
        text = self.text
        stack: list[_Frame] = []
        at = self._skip(0)
        while True:
            char = text[at : at + 1]
            value: Any
            if char in ("{", "["):
                if len(stack) >= MAX_DEPTH:
                    raise self._fail(at, "exceeded max depth")
                at = self._skip(at + 1)
                value = {} if char == "{" else []
                if text[at : at + 1] == ("}" if char == "{" else "]"):
                    at += 1
                else:
                    frame = _Frame(value)
                    stack.append(frame)
                    if char == "{":
                        at = self._key(frame, at)
                    continue
            else:
                value, at = self._scalar(at)
            done, at = self._store(stack, value, at)
            if done:
                return self._finish(done[0], at)

    def _store(self, stack: list[_Frame], value: Any, at: int) -> tuple[list[Any], int]:
        """Put a value in its container, closing what ends; ``[value]`` when it was the last."""
        text = self.text
        while stack:
            frame = stack[-1]
            container = frame.container
            at = self._skip(at)
            char = text[at : at + 1]
            if type(container) is list:
                container.append(value)
                if char == ",":
                    return [], self._skip(at + 1)
                if char != "]":
                    raise self._fail(at, "after array element")
            else:
                if frame.key in container:
                    self._duplicate(stack)
                if frame.pairs is not None:
                    frame.pairs.append((frame.key, value))
                container[frame.key] = value
                if char == ",":
                    return [], self._key(frame, self._skip(at + 1))
                if char != "}":
                    raise self._fail(at, "after object key:value pair")
            value = container
            stack.pop()
            at += 1
        return [value], at

    def _key(self, frame: _Frame, at: int) -> int:
        """Read a key and its colon; returns where the value begins."""
        if self.text[at : at + 1] != '"':
            raise self._fail(at, "looking for beginning of object key string")
        frame.key, at = self._string(at + 1)
        at = self._skip(at)
        if self.text[at : at + 1] != ":":
            raise self._fail(at, "after object key")
        return self._skip(at + 1)

    def _duplicate(self, stack: list[_Frame]) -> None:
        frame = stack[-1]
        if frame.pairs is None:
            frame.pairs = list(frame.container.items())
            self.repeated[id(frame.container)] = frame.pairs
        places = self._places
        if places.full or not places.new(self._place(stack), frame.key):
            return
        path = "".join(f.step() for f in stack).removeprefix(".")
        if places.take(path):
            self.duplicates.append(path)

    def _place(self, stack: list[_Frame]) -> int:
        """The number of the innermost container; of those around it most are known already."""
        known = len(stack) - 1
        while known and stack[known].place is None:
            known -= 1
        place = stack[known].place or ROOT
        for above, frame in zip(stack[known:], stack[known + 1 :], strict=False):
            place = frame.place = self._places.inside(place, above.step())
        return place

    def _finish(self, value: Any, at: int) -> Any:
        at = self._skip(at)
        if at < len(self.text):
            raise self._fail(at, "after top-level value")
        return value


class _Frame:
    """A container being read, the key whose value is next, and all members once one repeats."""

    __slots__ = ("container", "key", "pairs", "place")

    def __init__(self, container: Any) -> None:
        self.container = container
        self.key = ""
        self.pairs: Pairs | None = None
        self.place: int | None = None

    def step(self) -> str:
        """The way to the value that is next, as messages print it."""
        if type(self.container) is list:
            return f"[{len(self.container)}]"
        return f".{self.key}"
