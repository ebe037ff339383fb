"""Formats of single values beyond names: ports, paths, keys, percentages.

Functions named for a format give messages; those in capitals are checks made of them.
Source: "Object Names and IDs", the API reference of the kinds that use them,
RFC 6335.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kubetrio.kinds.common.checks import Causes, between, matches
from kubetrio.machinery.fielderrors import Named, invalid, required
from kubetrio.machinery.names_validation import (
    byte_length,
    dns1123_label,
    dns1123_subdomain,
    path_segment,
    prefixed_path,
    qualified_name,
)
from kubetrio.machinery.remember import remembered

PORT_NUMBER = "must be between 1 and 65535, inclusive"
FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"

_NONE: tuple[str, ...] = ()
_port_chars = re.compile("[-a-z0-9]+")
_config_key = re.compile("[-._a-zA-Z0-9]+")
_env_relaxed = re.compile("[ -<>-~]+")
_http_header = re.compile("[-A-Za-z0-9]+")
_percent = re.compile("[0-9]+%")
_underscored_label = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORED = rf"{_underscored_label}(\.{_underscored_label})*"
_underscored = re.compile(_UNDERSCORED)
_MAX_ID = 2147483647


def max_length(text: str, limit: int) -> Sequence[str]:
    """The message about a text of more bytes than allowed.

    Args:
        text: the text.
        limit: bytes allowed.
    """
    return (f"must be no more than {limit} characters",) if byte_length(text) > limit else _NONE


def port_name(text: str) -> Sequence[str]:
    """Messages about a service name (RFC 6335).

    Args:
        text: the text to check.
    """
    messages: list[str] = [*max_length(text, 15)]
    if not _port_chars.fullmatch(text):
        messages.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= char <= "z" for char in text):
        messages.append("must contain at least one letter (a-z)")
    if "--" in text:
        messages.append("must not contain consecutive hyphens")
    if text and (text[0] == "-" or text[-1] == "-"):
        messages.append("must not begin or end with a hyphen")
    return messages


def config_key(text: str) -> Sequence[str]:
    """Messages about a key of a ConfigMap or Secret.

    Args:
        text: the text to check.
    """
    # The same keys come again and again; one that is too long is not worth keeping.
    return _config_key_messages(text) if len(text) <= 253 else _check_config_key(text)


def _check_config_key(text: str) -> Sequence[str]:
    messages: list[str] = [*max_length(text, 253)]
    if not _config_key.fullmatch(text):
        messages.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
            "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
            "'[-._a-zA-Z0-9]+')"
        )
    messages.extend(_dots(text))
    return messages


_config_key_messages = remembered(1024, 253)(_check_config_key)


def _dots(text: str) -> Sequence[str]:
    if text in (".", ".."):
        return (f"must not be '{text}'",)
    return ("must not start with '..'",) if text.startswith("..") else _NONE


def env_name(text: str) -> Sequence[str]:
    """Messages about the name of an environment variable.

    Args:
        text: the text to check.
    """
    if not text:
        return ("environment variable name must be non-empty",)
    if _env_relaxed.fullmatch(text):
        return _NONE
    return (
        (
            "a valid environment variable name must consist only of printable ASCII characters "
            "other than '='"
        ),
    )


def http_header(text: str) -> Sequence[str]:
    """Messages about the name of an HTTP header.

    Args:
        text: the text to check.
    """
    if _http_header.fullmatch(text):
        return _NONE
    return (
        (
            "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. "
            "'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
        ),
    )


def percent(text: str) -> Sequence[str]:
    """Messages about a percentage.

    Args:
        text: the text to check.
    """
    if _percent.fullmatch(text):
        return _NONE
    return (
        (
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. "
            "'1%',  or '93%', regex used for validation is '[0-9]+%')"
        ),
    )


def underscored_subdomain(text: str) -> Sequence[str]:
    """Messages about a DNS subdomain that may have underscores.

    Args:
        text: the text to check.
    """
    messages: list[str] = [*max_length(text, 253)]
    if not _underscored.fullmatch(text):
        messages.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'_', '-' or '.', and must start and end with an alphanumeric character (e.g. "
            f"'example.com', regex used for validation is '{_UNDERSCORED}')"
        )
    return messages


def user_id(value: int) -> Sequence[str]:
    """Messages about a user or group id.

    Args:
        value: the number to check.
    """
    if 0 <= value <= _MAX_ID:
        return _NONE
    return (f"must be between 0 and {_MAX_ID}, inclusive",)


# --- checks ---

LABEL = matches(dns1123_label)
SUBDOMAIN = matches(dns1123_subdomain)
QUALIFIED = matches(qualified_name)
SEGMENT = matches(path_segment)
CONFIG_KEY = matches(config_key)
PORT = between(1, 65535)
USER_ID = between(0, _MAX_ID)
FILE_MODE_BITS = between(0, 0o777, FILE_MODE)


def port_or_name(value: Any, path: str, out: Causes) -> None:
    """Check a port that is a number or the name of one.

    Args:
        value: an integer or a text; None is port 0.
        path: its path.
        out: receives causes.
    """
    if isinstance(value, str):
        out.extend(invalid(path, value, text) for text in port_name(value))
    elif not 1 <= (value or 0) <= 65535:
        out.append(invalid(path, value or 0, PORT_NUMBER))


def no_backsteps(value: str, path: str, out: Causes) -> None:
    """Check that a path does not go up.

    Args:
        value: the path in a file system.
        path: path of the field.
        out: receives causes.
    """
    if ".." in value and ".." in value.split("/"):
        out.append(invalid(path, value, "must not contain '..'"))


def descending(value: str, path: str, out: Causes) -> None:
    """Check that a path is relative and does not go up.

    Args:
        value: the path in a file system.
        path: path of the field.
        out: receives causes.
    """
    if value.startswith("/"):
        out.append(invalid(path, value, "must be a relative path"))
    no_backsteps(value, path, out)


def local_path(value: str, path: str, out: Causes) -> None:
    """Check that a path is relative, does not go up and does not look as if it did.

    Args:
        value: the path in a file system.
        path: path of the field.
        out: receives causes.
    """
    descending(value, path, out)
    if value.startswith("..") and not value.startswith("../"):
        out.append(invalid(path, value, "must not start with '..'"))


def domain_prefixed_path(value: str, path: str, out: Causes) -> None:
    """Check a text such as ``example.com/controller``.

    Args:
        value: the text to check.
        path: path of the field.
        out: receives causes.
    """
    if not value:
        out.append(required(path))
        return
    for part, detail in prefixed_path(value):
        out.append(invalid(path, part, detail))


# --- numbers that may be percentages ---


def percent_value(value: Any) -> int | None:
    """The number of a percentage, None for what is none.

    Args:
        value: an integer or a text.
    """
    if isinstance(value, str) and _percent.fullmatch(value):
        return int(value[:-1][:18])
    return None


def number_or_percent(value: Any) -> int:
    """The number of either; 0 for what is neither.

    Args:
        value: an integer, a text or None.
    """
    number = percent_value(value)
    if number is not None:
        return number
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() else 0
    return value or 0


def positive_or_percent(value: Any, path: str, out: Causes) -> None:
    """Check a number that is not negative, or a percentage.

    Args:
        value: an integer or a text.
        path: path of the field.
        out: receives causes.
    """
    if isinstance(value, str):
        if not _percent.fullmatch(value):
            out.extend(invalid(path, Named(value), text) for text in percent(value))
    elif value < 0:
        out.append(invalid(path, value, "must be greater than or equal to 0"))


def at_most_hundred_percent(value: Any, path: str, out: Causes) -> None:
    """Check that a percentage is not over 100.

    Args:
        value: an integer or a text.
        path: path of the field.
        out: receives causes.
    """
    if (percent_value(value) or 0) > 100:
        out.append(invalid(path, value, "must not be greater than 100%"))
