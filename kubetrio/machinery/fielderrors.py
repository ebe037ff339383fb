"""Causes of an invalid object, in Kubernetes' wording.

Each constructor makes the :class:`~kubetrio.machinery.status.Cause` of one error type of
apimachinery's ``util/validation/field``; the ``Invalid value: ...`` part of a message is written
here and nowhere else.  Of very many causes the first are made, see `telling`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kubetrio.gotext import text as gotext
from kubetrio.machinery.status import MORE, Cause
from kubetrio.machinery.telling import cause, told_enough

# Go's JSON encoder escapes these so that its output can be put into HTML.
_HTML = str.maketrans(
    {
        "<": "\\u003c",
        ">": "\\u003e",
        "&": "\\u0026",
        chr(0x2028): "\\u2028",
        chr(0x2029): "\\u2029",
    }
)


quote = gotext.quote
"""A string in double quotes as Go's ``%q`` prints it."""


class Named(str):
    """A text of a type that Go has a name for, such as an enumeration: messages have it as JSON."""

    __slots__ = ()


def format_value(value: Any) -> str:
    """The value part of a message.

    Args:
        value: a JSON value.  Strings are quoted as Go does (`Named` ones as JSON does), numbers and
            booleans are bare, None is ``null``, lists and objects are compact JSON with members in
            the order given (Go prints the keys of a map sorted and the members of a struct as
            declared).
    """
    if value is None:
        return "null"
    if isinstance(value, str) and type(value) is not Named:
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return gotext.shortest(value)
    return _json_text(value)


def _json_text(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.translate(_HTML)


def _body(label: str, detail: str) -> str:
    return f"{label}: {detail}" if detail else label


def invalid(path: str, value: Any, detail: str) -> Cause:
    """A malformed value.

    Args:
        path: path of the field.
        value: the value refused, see :func:`format_value`.
        detail: what is wrong with it; may be empty.
    """
    if told_enough():
        return MORE
    return cause("FieldValueInvalid", _body(f"Invalid value: {format_value(value)}", detail), path)


def invalid_pointer(path: str, value: Any, detail: str) -> Cause:
    """A malformed value that Go's type holds by pointer, which is printed as JSON.

    Args:
        path: path of the field.
        value: the value refused.
        detail: what is wrong with it; may be empty.
    """
    if told_enough():
        return MORE
    return cause("FieldValueInvalid", _body(f"Invalid value: {_json_text(value)}", detail), path)


def type_invalid(path: str, value: Any, detail: str) -> Cause:
    """A value of another type than the schema's.

    Args:
        path: path of the field.
        value: the value refused, or the name of its type.
        detail: what was expected.
    """
    if told_enough():
        return MORE
    message = _body(f"Invalid value: {format_value(value)}", detail)
    return cause("FieldValueTypeInvalid", message, path)


def required(path: str, detail: str = "") -> Cause:
    """A missing value.

    Args:
        path: path of the field.
        detail: when it is required; may be empty.
    """
    if told_enough():
        return MORE
    return cause("FieldValueRequired", _body("Required value", detail), path)


def not_supported(path: str, value: Any, supported: Sequence[str], *, named: bool = True) -> Cause:
    """A value that is not in an enumeration.

    Args:
        path: path of the field.
        value: the value refused.
        supported: the values to print, in the order to print them.
        named: whether Go has a type for the enumeration (see `Named`), where the value is a text.
    """
    if told_enough():
        return MORE
    if named and isinstance(value, str):
        value = Named(value)
    quoted = ", ".join(map(quote, supported))
    detail = f"supported values: {quoted}" if supported else ""
    message = _body(f"Unsupported value: {format_value(value)}", detail)
    return cause("FieldValueNotSupported", message, path)


def duplicate(path: str, value: Any, detail: str = "") -> Cause:
    """A value that must be unique and is not.

    Args:
        path: path of the second occurrence.
        value: the value.
        detail: what makes values unique; may be empty.
    """
    if told_enough():
        return MORE
    message = _body(f"Duplicate value: {format_value(value)}", detail)
    return cause("FieldValueDuplicate", message, path)


def forbidden(path: str, detail: str) -> Cause:
    """A value that is well formed but not allowed now.

    Args:
        path: path of the field.
        detail: why it is not allowed.
    """
    if told_enough():
        return MORE
    return cause("FieldValueForbidden", _body("Forbidden", detail), path)


def too_long(path: str, maximum: int, *, unit: str = "byte") -> Cause:
    """A text over its limit; the text is not repeated.

    Args:
        path: path of the field.
        maximum: the limit, in units; a negative number of bytes is not told.
        unit: ``byte`` or ``character``.
    """
    if told_enough():
        return MORE
    detail = f"may not be more than {maximum} {_plural(maximum, unit)}"
    if maximum < 0 and unit == "byte":
        detail = "value is too long"
    return cause("FieldValueTooLong", f"Too long: {detail}", path)


def too_many(path: str, actual: int, maximum: int) -> Cause:
    """A list over its limit.

    Args:
        path: path of the list.
        actual: number of items in it; negative leaves it out of the message.
        maximum: the limit; a negative one is not told.
    """
    if told_enough():
        return MORE
    label = f"Too many: {actual}" if actual >= 0 else "Too many"
    detail = f"must have at most {maximum} {_plural(maximum, 'item')}"
    if maximum < 0:
        detail = "has too many items"
    return cause("FieldValueTooMany", f"{label}: {detail}", path)


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"


def not_found(path: str, value: Any) -> Cause:
    """A reference to something that is not there.

    Args:
        path: path of the reference.
        value: what it names.
    """
    if told_enough():
        return MORE
    return cause("FieldValueNotFound", f"Not found: {format_value(value)}", path)


def internal(path: str, detail: str) -> Cause:
    """An error of the server found while validating.

    Args:
        path: path of the field.
        detail: the error's text.
    """
    if told_enough():
        return MORE
    return cause("InternalError", _body("Internal error", detail), path)
