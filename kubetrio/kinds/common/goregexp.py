"""What Go's regexp package says of patterns that it cannot compile.

Source: RE2 syntax (github.com/google/re2/wiki/Syntax).  Python's parser finds the mistakes, apart
from what it knows and RE2 does not.
"""

from __future__ import annotations

import re
import warnings

_UNSUPPORTED = re.compile(r"\(\?(?:[=!>]|<[=!])|\(\?P=")
_REPEATS = re.compile(r"[*+?]{2,}")
_ESCAPE = re.compile(r"\\[0-9]")


def regexp_error(pattern: str) -> str:
    """The error of a pattern, empty when it compiles.

    Args:
        pattern: the regular expression.
    """
    bare = re.sub(r"\\.", "", pattern)
    if found := _UNSUPPORTED.search(bare):
        return _error("invalid or unsupported Perl syntax", found[0])
    if (escape := _ESCAPE.search(pattern)) and escape[0] != r"\0":
        return _error("invalid escape sequence", escape[0])
    try:
        _compile(_pythonic(pattern))
    except re.error as error:
        return _translated(pattern, error)
    except OverflowError:
        return _error("invalid repeat count", pattern)
    return ""


def is_found(pattern: str, text: str) -> bool:
    """Whether a pattern that Go can compile matches some part of a text.

    Args:
        pattern: the regular expression; one that only Go can compile matches everything.
        text: the text.
    """
    try:
        return _compile(pattern).search(text) is not None
    except (re.error, OverflowError):
        return True


def _compile(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        # what Python may read otherwise one day, Go reads as it does today
        warnings.simplefilter("ignore")
        return re.compile(pattern)


def _pythonic(pattern: str) -> str:
    """The pattern with Go's classes and escapes that Python has no words for replaced."""
    text = re.sub(r"\[\[:\^?\w+:\]\]", "[a]", pattern)
    text = re.sub(r"\[:\^?\w+:\]", "a", text)
    text = re.sub(r"\\[pP](?:\{\^?\w+\}|\w)", "a", text)
    return text.replace(r"\z", "$").replace(r"\Q", "").replace(r"\E", "")


def _error(kind: str, part: str) -> str:
    return f"error parsing regexp: {kind}: `{part}`"


def _translated(pattern: str, error: re.error) -> str:
    text, spot = error.msg, error.pos or 0
    if text.startswith("missing )"):
        return _error("missing closing )", pattern)
    if text.startswith("unbalanced parenthesis"):
        return _error("unexpected )", pattern)
    if text.startswith("unterminated character set"):
        return _error("missing closing ]", pattern[spot:])
    if text.startswith("nothing to repeat"):
        return _error("missing argument to repetition operator", pattern[spot : spot + 1])
    if text.startswith("multiple repeat"):
        found = _REPEATS.search(pattern)
        return _error("invalid nested repetition operator", found[0] if found else pattern)
    if text.startswith("bad escape (end"):
        return "error parsing regexp: trailing backslash at end of expression: ``"
    if text.startswith("bad escape"):
        return _error("invalid escape sequence", pattern[spot : spot + 2])
    if text.startswith("bad character range"):
        return _error("invalid character class range", text.removeprefix("bad character range "))
    if text.startswith("min repeat greater"):
        return _error("invalid repeat count", pattern[spot:].partition("}")[0] + "}")
    return _error("invalid or unsupported Perl syntax", pattern[spot : spot + 3])
