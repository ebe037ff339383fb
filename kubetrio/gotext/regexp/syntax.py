r"""Patterns as Go reads them: what is wrong with one, in Go's words, or the same pattern for RE2.

Go's parser and RE2's have one origin and differ in details: Go has no ``\C``, has more names for
Unicode classes, lets two groups have one name.  So patterns are read here by Go's rules, and RE2
gets what means the same to it.  Groups capture nothing there: callers do not ask what they hold.

Source: regexp/syntax of Go 1.26 (``parse``, ``repeatIsValid``, ``checkHeight``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from kubetrio.gotext.regexp.classes import POSIX, instructions_of, unicode_class
from kubetrio.gotext.regexp.errors import RegexpError
from kubetrio.gotext.regexp.parts import (
    ANY,
    ASCII_CLASS,
    EMPTY,
    FOLDED,
    LITERAL,
    WIDE,
    WIDE_FOLDED,
    WIDE_LITERAL,
    Group,
    Part,
    counted,
    either,
    looped,
    then,
)

MOST_INSTRUCTIONS = 131_072
"""Of RE2, for one pattern; it takes some 30 ms to make so many."""
MOST_PATHS = 10_000_000
"""Alternatives that RE2 follows to compile one pattern; 30 ms."""
_MOST_HEIGHT = 1000
_MOST_REPEAT = 1000
_TOO_LONG_NUMBER = 9  # digits that Go still reads

_CLASS_RANGE = "invalid character class range"
_ESCAPE = "invalid escape sequence"
_CAPTURE = "invalid named capture"
_PERL = "invalid or unsupported Perl syntax"
_NESTED = "invalid nested repetition operator"
_REPEAT = "invalid repeat count"
_NO_BRACKET = "missing closing ]"
_NO_PAREN = "missing closing )"
_NO_ARGUMENT = "missing argument to repetition operator"
_BACKSLASH = "trailing backslash at end of expression"
_PAREN = "unexpected )"
_DEPTH = "expression nests too deeply"
_LARGE = "expression too large"


@dataclass(frozen=True, slots=True)
class Translation:
    """A pattern that Go can compile.

    Args:
        text: the same for RE2.
        instructions: how many RE2 makes of it, estimated.
    """

    text: str
    instructions: int


_run = re.compile(r"[^\\\[(){|^$.*+?]+")
_repeat = re.compile(r"\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}")
_flags = re.compile(r"\(\?([imsU]*)(-[imsU]+)?([:)])")
_capture_name = re.compile(r"[0-9A-Za-z_]+")
_hex = re.compile(r"[0-9A-Fa-f]")
_meta = re.compile(r"[\\\[\](){}|^$.*+?-]")
_CONTROLS = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_MOST_CHARACTER = 0x10FFFF
_PERL_CLASSES = frozenset("dDsSwW")


def _code(character: int) -> str:
    """A character as RE2 reads it anywhere."""
    return f"\\x{{{character:X}}}"


class _Parser:
    """Reads one pattern.

    Args:
        pattern: the pattern.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._flags = ""
        self._out: list[str] = []
        self._groups = [Group(captures=False, flags="")]
        self._repeated = -1  # where the operator right before began
        self._steps = 0
        self._named_end = -1  # where the next `:]` is that was looked for
        self._readers: dict[str, Callable[[int], bool]] = {
            "(": self._open,
            ")": self._close,
            "|": self._bar,
            "^": self._anchor,
            "$": self._anchor,
            ".": self._dot,
            "[": self._class,
            "*": self._operator,
            "+": self._operator,
            "?": self._operator,
            "{": self._braces,
            "\\": self._backslash,
        }
        """By what a part begins with, what reads it and tells whether it is an operator."""

    def parse(self) -> Translation:
        """Read it.

        Raises:
            RegexpError: it is wrong.
        """
        pattern, length = self._pattern, len(self._pattern)
        while self._at < length:
            begin, repeated = self._at, self._repeated
            self._repeated = -1
            self._step()
            read = self._readers.get(pattern[begin])
            if read is None:
                self._literals()
            elif read(repeated):
                self._repeated = begin if repeated < 0 else repeated
        if len(self._groups) > 1:
            raise RegexpError(_NO_PAREN, pattern)
        whole = self._groups[0].closed()
        self._look(whole)
        if whole.size > MOST_INSTRUCTIONS or whole.paths > MOST_PATHS:
            raise RegexpError(_LARGE, pattern)
        return Translation("".join(self._out), whole.size)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > 2 * MOST_INSTRUCTIONS:
            raise RegexpError(_LARGE, self._pattern)

    def _look(self, part: Part) -> Part:
        if part.height > _MOST_HEIGHT:
            raise RegexpError(_DEPTH, self._pattern)
        return part

    def _separate(self) -> None:
        """Keep what comes from a repetition before it.

        RE2 makes one repetition of ``a{0,1000}a{0,1000}``, and of a hundred such one of 100,000,
        which takes a minute to compile.
        """
        last = self._groups[-1].last
        if last is not None and last.operated:
            self._out.append("(?:)")

    def _push(self, part: Part, text: str) -> None:
        self._separate()
        self._add(part, text)

    def _add(self, part: Part, text: str) -> None:
        group = self._groups[-1]
        if group.last is not None:
            group.parts = then(group.parts, group.last)
        group.last = self._look(part)
        self._out.append(text)

    def _begin(self, text: str, *, captures: bool) -> None:
        """Open a group."""
        self._separate()
        self._groups.append(Group(captures, self._flags))
        self._out.append(text)

    # --- what a part can begin with ---

    def _literals(self) -> None:
        """Characters that mean themselves."""
        run = _run.match(self._pattern, self._at)
        text = run[0] if run else self._pattern[self._at]
        self._at += len(text)
        self._push_text(text, text)

    def _push_text(self, text: str, shown: str) -> None:
        if not text:
            return
        folds = "i" in self._flags
        if len(text) > 1:
            # An operator behind it is of the last character alone.
            many = len(text) - 1 if text.isascii() else 3 * (len(text) - 1)
            many *= 2 if folds and not text.isascii() else 1
            kind = FOLDED if folds else LITERAL
            self._push(kind._replace(size=many, paths=many), "")
        if text[-1].isascii():
            self._push(FOLDED if folds else LITERAL, shown)
        else:
            self._push(WIDE_FOLDED if folds else WIDE_LITERAL, shown)

    def _open(self, _: int) -> bool:
        pattern, at = self._pattern, self._at
        if not pattern.startswith("(?", at):
            self._begin("(?:", captures=True)
            self._at += 1
            return False
        named = pattern.startswith("(?P<", at) and len(pattern) - at > 4
        if named or (pattern.startswith("(?<", at) and len(pattern) - at > 3):
            self._named(at + (4 if named else 3))
            return False
        match_ = _flags.match(pattern, at)
        if match_ is None:
            raise RegexpError(_PERL, self._bad_flags(at))
        on, off, end = match_[1], (match_[2] or "")[1:], match_[3]
        flags = "".join(one for one in {*self._flags, *on} if one not in off)
        if end == ":":
            self._begin(match_[0], captures=False)
        elif on or off:
            self._out.append(match_[0])
        self._flags = flags
        self._at = match_.end()
        return False

    def _named(self, begin: int) -> None:
        pattern, at = self._pattern, self._at
        end = pattern.find(">", at)
        if end < 0:
            raise RegexpError(_CAPTURE, pattern[at:])
        if not _capture_name.fullmatch(pattern, begin, end):
            raise RegexpError(_CAPTURE, pattern[at : end + 1])
        self._begin("(?:", captures=True)
        self._at = end + 1

    def _bad_flags(self, at: int) -> str:
        """What is told of flags that are none: up to the first character that is wrong."""
        pattern, saw, minus = self._pattern, False, False
        for end in range(at + 2, len(pattern)):
            char = pattern[end]
            if char in "imsU":
                saw = True
            elif char == "-" and not minus:
                minus, saw = True, False
            elif char not in ":)" or (minus and not saw):
                return pattern[at : end + 1]
        return pattern[at:]

    def _close(self, _: int) -> bool:
        if len(self._groups) == 1:
            raise RegexpError(_PAREN, self._pattern)
        group = self._groups.pop()
        self._flags = group.flags
        self._at += 1
        self._add(group.closed(), ")")
        return False

    def _bar(self, _: int) -> bool:
        group = self._groups[-1]
        group.before = self._look(either(group.before, group.joined()))
        group.parts = group.last = None
        self._out.append("|")
        self._at += 1
        return False

    def _anchor(self, _: int) -> bool:
        self._push(EMPTY, self._pattern[self._at])
        self._at += 1
        return False

    def _dot(self, _: int) -> bool:
        self._push(ANY, ".")
        self._at += 1
        return False

    # --- operators ---

    def _operator(self, repeated: int) -> bool:
        operator = self._pattern[self._at]
        part = self._repeatable(self._at + 1, repeated)
        self._groups[-1].last = self._look(looped(part, operator))
        return True

    def _braces(self, repeated: int) -> bool:
        repeat = _repeat.match(self._pattern, self._at)
        if repeat is None:
            self._at += 1
            self._push_text("{", r"\{")
            return False
        least = self._count(repeat[1])
        most = least if repeat[2] is None else -1 if repeat[3] is None else self._count(repeat[3])
        if max(least, most) > _MOST_REPEAT or 0 <= most < least:
            raise RegexpError(_REPEAT, repeat[0])
        begin = self._at
        part = counted(self._repeatable(repeat.end(), repeated), least, most)
        self._groups[-1].last = self._look(part)
        if max(least, most) >= 2 and part.repeat > _MOST_REPEAT:
            raise RegexpError(_REPEAT, self._pattern[begin : self._at])
        return True

    def _count(self, digits: str) -> int:
        return _MOST_REPEAT + 1 if len(digits) > _TOO_LONG_NUMBER else int(digits)

    def _repeatable(self, end: int, repeated: int) -> Part:
        """What an operator is behind; takes the operator up to ``end``, and a ``?`` behind it."""
        begin, pattern = self._at, self._pattern
        if pattern.startswith("?", end):
            end += 1
        if repeated >= 0:
            raise RegexpError(_NESTED, pattern[repeated:end])
        part = self._groups[-1].last
        if part is None:
            raise RegexpError(_NO_ARGUMENT, pattern[begin:end])
        self._at = end
        self._out.append(pattern[begin:end])
        return part

    # --- escapes and classes ---

    def _backslash(self, _: int) -> bool:
        pattern, at = self._pattern, self._at
        what = pattern[at + 1 : at + 2]
        if what in ("A", "b", "B", "z"):
            self._push(EMPTY, "\\" + what)
            self._at += 2
        elif what == "C":
            raise RegexpError(_ESCAPE, r"\C")
        elif what == "Q":
            end = pattern.find(r"\E", at + 2)
            text = pattern[at + 2 :] if end < 0 else pattern[at + 2 : end]
            self._at = len(pattern) if end < 0 else end + 2
            self._push_text(text, _meta.sub(lambda found: "\\" + found[0], text))
        elif what in ("p", "P"):
            text = f"[{self._unicode()}]"
            size = instructions_of(text)
            self._push(Part(size, size), text)
        elif what in _PERL_CLASSES:
            self._push(ASCII_CLASS if what.islower() else ANY, "\\" + what)
            self._at += 2
        else:
            character = self._escaped()
            self._push_text(chr(character), _code(character))
        return False

    def _escaped(self) -> int:
        """The character that an escape is, and the place behind it."""
        pattern, at = self._pattern, self._at
        what = pattern[at + 1 : at + 2]
        if not what:
            raise RegexpError(_BACKSLASH, "")
        self._at += 2
        octal = pattern[at + 2 : at + 3]
        if what == "0" or (what in "1234567" and octal and octal in "01234567"):
            return self._octal(int(what))
        if what == "x":
            return self._hexadecimal(at)
        if what in _CONTROLS:
            return _CONTROLS[what]
        if what.isascii() and not what.isalnum():
            return ord(what)
        raise RegexpError(_ESCAPE, pattern[at : self._at])

    def _octal(self, value: int) -> int:
        for _ in range(2):
            digit = self._pattern[self._at : self._at + 1]
            if not digit or digit not in "01234567":
                break
            value = value * 8 + int(digit)
            self._at += 1
        return value

    def _hexadecimal(self, begin: int) -> int:
        pattern = self._pattern
        if not pattern.startswith("{", self._at):
            digits = pattern[self._at : self._at + 2]
            self._at += len(digits)
            if len(digits) == 2 and all(map(_hex.match, digits)):
                return int(digits, 16)
            raise RegexpError(_ESCAPE, pattern[begin : self._at])
        self._at += 1
        value = 0
        for at in range(self._at, len(pattern)):
            self._at = at + 1
            if pattern[at] == "}" and at > begin + 3:
                return value
            if not _hex.match(pattern[at]):
                break
            value = value * 16 + int(pattern[at], 16)
            if value > _MOST_CHARACTER:
                break
        raise RegexpError(_ESCAPE, pattern[begin : self._at])

    def _unicode(self) -> str:
        r"""A class such as ``\p{Greek}``, as RE2 reads it within brackets."""
        pattern, at = self._pattern, self._at
        end = at + 3
        name = pattern[at + 2 : end]
        if name == "{":
            end = pattern.find("}", at) + 1
            if not end:
                raise RegexpError(_CLASS_RANGE, pattern[at:])
            name = pattern[at + 3 : end - 1]
        sign = (pattern[at + 1] == "P") != name.startswith("^")
        found = unicode_class(name.removeprefix("^"), negative=sign, folds="i" in self._flags)
        if found is None:
            raise RegexpError(_CLASS_RANGE, pattern[at:end])
        self._at = end
        return found

    def _class(self, _: int) -> bool:
        pattern, begin = self._pattern, self._at
        self._at += 1
        inverted = pattern.startswith("^", self._at)
        self._at += inverted
        out, first, size = ["[^" if inverted else "["], True, 2
        while first or not pattern.startswith("]", self._at):
            first = False
            self._step()
            text, cost = self._item(begin)
            out.append(text)
            size += cost
        self._at += 1
        out.append("]")
        size = max(size, WIDE) if inverted else size
        self._push(Part(size, size), "".join(out))
        return False

    def _item(self, begin: int) -> tuple[str, int]:
        """What is in brackets: a class, a character or a range."""
        pattern, at = self._pattern, self._at
        if named := self._named_class():
            return named, WIDE if named.startswith("[:^") else 2
        if pattern.startswith((r"\p", r"\P"), at):
            text = self._unicode()
            return text, instructions_of(f"[{text}]")
        escape = pattern[at + 1 : at + 2]
        if pattern.startswith("\\", at) and escape in _PERL_CLASSES:
            self._at += 2
            return "\\" + escape, WIDE if escape.isupper() else 2
        low = high = self._character(begin)
        follows = pattern[self._at : self._at + 2]
        if len(follows) == 2 and follows[0] == "-" and follows[1] != "]":
            self._at += 1
            high = self._character(begin)
            if high < low:
                raise RegexpError(_CLASS_RANGE, pattern[at : self._at])
        size = 1 if high < 0x80 else WIDE
        return _code(low) if low == high else f"{_code(low)}-{_code(high)}", size

    def _named_class(self) -> str:
        """A class such as ``[:alpha:]``, empty where there is none."""
        pattern, at = self._pattern, self._at
        if not pattern.startswith("[:", at):
            return ""
        if self._named_end < at + 2:
            end = pattern.find(":]", at + 2)
            self._named_end = len(pattern) if end < 0 else end
        if self._named_end == len(pattern):
            return ""
        self._at = self._named_end + 2
        named = pattern[at : self._at]
        if named not in POSIX:
            raise RegexpError(_CLASS_RANGE, named)
        return named

    def _character(self, begin: int) -> int:
        at = self._at
        if at >= len(self._pattern):
            raise RegexpError(_NO_BRACKET, self._pattern[begin:])
        if self._pattern[at] == "\\":
            return self._escaped()
        self._at += 1
        return ord(self._pattern[at])


def translated(pattern: str) -> Translation:
    """A pattern as RE2 reads it.

    Args:
        pattern: a regular expression as Go reads it.

    Raises:
        RegexpError: Go cannot compile it, or RE2 would take too long.
    """
    return _Parser(pattern).parse()


def regexp_error(pattern: str) -> str:
    """The error of a pattern, empty when it compiles.

    Args:
        pattern: the regular expression.
    """
    try:
        translated(pattern)
    except RegexpError as error:
        return str(error)
    return ""
