"""Which names, label keys and label values are allowed.

Every check returns a list of messages in Kubernetes' wording, empty when the text is good.
Source: "Object Names and IDs" and "Labels and Selectors" of the Kubernetes documentation, RFC 1035
and RFC 1123.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

NameCheck = Callable[[str, bool], list[str]]
"""A check of a name: (name, whether it is only a prefix of one) to messages."""

_DNS1123_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS1123_SUBDOMAIN = rf"{_DNS1123_LABEL}(\.{_DNS1123_LABEL})*"
_DNS1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_LABEL_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_LABEL_NAME})?"

_label_re = re.compile(_DNS1123_LABEL)
_subdomain_re = re.compile(_DNS1123_SUBDOMAIN)
_dns1035_re = re.compile(_DNS1035_LABEL)
_label_name_re = re.compile(_LABEL_NAME)
_label_value_re = re.compile(_LABEL_VALUE)
_SHORT = "(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?"
_label_values_re = re.compile(rf"{_SHORT}(?:\n{_SHORT})*")

_domain_path = re.compile("[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+")

LABEL_MAX = 63
"""Bytes in a DNS label, in a label value and in the name part of a label key."""
SUBDOMAIN_MAX = 253
"""Bytes in a DNS subdomain."""


def _regex_message(text: str, regex: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {shown}regex used for validation is '{regex}')"


_EDGES = "must start and end with an alphanumeric character"
_LABEL_MESSAGE = _regex_message(
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    f"{_EDGES}",
    _DNS1123_LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_MESSAGE = _regex_message(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    f"'.', and {_EDGES}",
    _DNS1123_SUBDOMAIN,
    "example.com",
)
_DNS1035_MESSAGE = _regex_message(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character",
    _DNS1035_LABEL,
    "my-name",
    "abc-123",
)
_LABEL_NAME_MESSAGE = _regex_message(
    f"must consist of alphanumeric characters, '-', '_' or '.', and {_EDGES}",
    _LABEL_NAME,
    "MyName",
    "my.name",
    "123-abc",
)
_LABEL_KEY_HINT = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
_LABEL_VALUE_MESSAGE = _regex_message(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    f"'.', and {_EDGES}",
    _LABEL_VALUE,
    "MyValue",
    "my_value",
    "12345",
)


def byte_length(text: str) -> int:
    """Length in bytes of UTF-8, which is what every limit counts."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _without_trailing_dash(name: str) -> str:
    """A name that is as good as any made from the prefix ``name``."""
    return f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name


def _too_long(maximum: int, unit: str) -> str:
    return f"must be no more than {maximum} {unit}"


def dns1123_label(name: str, prefix: bool = False) -> list[str]:
    """Messages about a DNS label (RFC 1123), the form of namespace names.

    Args:
        name: the text to check.
        prefix: whether random characters will be added, so that a trailing ``-`` is good.
    """
    if prefix:
        name = _without_trailing_dash(name)
    good = _label_re.fullmatch(name)
    if good and len(name) <= LABEL_MAX:
        return []
    messages = []
    if byte_length(name) > LABEL_MAX:
        messages.append(_too_long(LABEL_MAX, "characters"))
    if not good:
        dotted = _subdomain_re.fullmatch(name)
        messages.append("must not contain dots" if dotted else _LABEL_MESSAGE)
    return messages


def dns1123_subdomain(name: str, prefix: bool = False) -> list[str]:
    """Messages about a DNS subdomain (RFC 1123), the form of most names.

    Args:
        name: the text to check.
        prefix: whether random characters will be added, so that a trailing ``-`` is good.
    """
    if prefix:
        name = _without_trailing_dash(name)
    return _subdomain(name, "characters")


def _subdomain(name: str, unit: str) -> list[str]:
    good = _subdomain_re.fullmatch(name)  # which is of single bytes
    if good and len(name) <= SUBDOMAIN_MAX:
        return []
    messages = []
    if byte_length(name) > SUBDOMAIN_MAX:
        messages.append(_too_long(SUBDOMAIN_MAX, unit))
    if not good:
        messages.append(_SUBDOMAIN_MESSAGE)
    return messages


def dns1035_label(name: str, prefix: bool = False) -> list[str]:
    """Messages about a DNS label that starts with a letter (RFC 1035).

    Args:
        name: the text to check.
        prefix: whether random characters will be added, so that a trailing ``-`` is good.
    """
    if prefix:
        name = _without_trailing_dash(name)
    messages = []
    if byte_length(name) > LABEL_MAX:
        messages.append(_too_long(LABEL_MAX, "characters"))
    if not _dns1035_re.fullmatch(name):
        messages.append(_DNS1035_MESSAGE)
    return messages


def long_name(name: str, prefix: bool = False) -> list[str]:
    """Messages about a DNS subdomain where the limit is told in bytes and no prefix is checked.

    Args:
        name: the text to check.
        prefix: whether random characters will be added; then anything is good.
    """
    return [] if prefix else _subdomain(name, "bytes")


def any_name(_name: str, _prefix: bool = False) -> list[str]:
    """No messages: the kind takes any name, and what holds for all kinds is checked elsewhere."""
    return []


def path_segment(name: str, prefix: bool = False) -> list[str]:
    """Messages about a name that only has to fit into a path, such as a role's.

    Args:
        name: the text to check.
        prefix: whether random characters will be added, so that ``.`` and ``..`` are good.
    """
    if not prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{illegal}'" for illegal in "/%" if illegal in name]


def whole_path_segment(name: str, _prefix: bool = False) -> list[str]:
    """Messages about a path segment, also about what is only a prefix of one, as roles have it.

    Args:
        name: the text to check.
    """
    return path_segment(name)


def qualified_name(value: str) -> list[str]:
    """Messages about a label key: a name with an optional DNS subdomain and ``/`` before it.

    Args:
        value: the text to check.
    """
    prefix, slash, name = value.partition("/")
    if "/" in name:
        return [f"a valid label key {_LABEL_NAME_MESSAGE} {_LABEL_KEY_HINT}"]
    messages = []
    if not slash:
        name = prefix
    elif not prefix:
        messages.append("prefix part must be non-empty")
    else:
        messages.extend(f"prefix part {text}" for text in _subdomain(prefix, "bytes"))
    if not name:
        messages.append("name part must be non-empty")
    elif byte_length(name) > LABEL_MAX:
        messages.append(f"name part {_too_long(LABEL_MAX, 'bytes')}")
    if not _label_name_re.fullmatch(name):
        messages.append(f"name part {_LABEL_NAME_MESSAGE}")
    return messages


label_key = qualified_name


def label_value(value: str) -> list[str]:
    """Messages about a label value.

    Args:
        value: the text to check.
    """
    messages = []
    if byte_length(value) > LABEL_MAX:
        messages.append(_too_long(LABEL_MAX, "bytes"))
    if not _label_value_re.fullmatch(value):
        messages.append(_LABEL_VALUE_MESSAGE)
    return messages


def label_values(values: Sequence[str]) -> bool:
    """Whether texts are label values, all of them; faster than one by one.

    Args:
        values: the texts to check.
    """
    text = "\n".join(values)
    return _label_values_re.fullmatch(text) is not None and text.count("\n") < len(values)


NAME_CHECKS: Mapping[str, NameCheck] = MappingProxyType(
    {
        "dns1035Label63": dns1035_label,
        "dns1123Label63": dns1123_label,
        "dns1123Subdomain253": dns1123_subdomain,
        "pathSegment": whole_path_segment,
    }
)
"""Checks by the class names used in ``schemas/names.json``."""


def prefixed_path(value: str) -> list[tuple[str, str]]:
    """What is wrong with a path that begins with a domain, such as ``acme.io/foo``.

    Args:
        value: the path, not empty.

    Returns:
        The part that is wrong, and the message.
    """
    domain, _, rest = value.partition("/")
    if not domain or not rest:
        return [(value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [(domain, message) for message in dns1123_subdomain(domain)]
    if not _domain_path.fullmatch(rest):
        detail = f"Invalid path (regex used for validation is '{_domain_path.pattern}')"
        errors.append((rest, detail))
    return errors
