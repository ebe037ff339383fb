"""Parts that claims, classes and slices of devices share.

Source: "Dynamic Resource Allocation" in the Kubernetes documentation; KEP-4381, KEP-5055.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.checks import Causes, Check, matches, row, table
from kubetrio.kinds.common.selectors import label_name
from kubetrio.kinds.common.shared_checks import (
    Compile,
    Expression,
    compiled,
    driver_name,
)
from kubetrio.machinery.fielderrors import (
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from kubetrio.machinery.names_validation import (
    byte_length,
    dns1123_label,
    dns1123_subdomain,
    label_value,
)
from kubetrio.wire.jsonwire import encode

PARAMETERS_MAX = 10 * 1024
"""Bytes of opaque parameters."""
SELECTORS_MAX = 32
"""Selectors of a request or class."""
CONFIG_MAX = 32
"""Configurations of a claim or class."""
BINDING_CONDITIONS_MAX = 4
"""Conditions to wait for of a device."""
_EXPRESSION_MAX = 10 * 1024
_POOL_MAX = 253
_ID_MAX = 32
_EFFECTS = ("NoExecute", "NoSchedule", "None")
_OPERATORS = ("Equal", "Exists")
_C_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_c_identifier_re = re.compile(_C_IDENTIFIER)
_C_MESSAGE = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of "
    "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for "
    f"validation is '{_C_IDENTIFIER}')"
)

device_name = matches(dns1123_label)
"""Check of the name of a device, request or set of counters."""


def limited(limit: int, item: Check) -> Check:
    """A check of a list: nothing more is said of one that is too long.

    Args:
        limit: items allowed.
        item: check of an item.
    """

    def check(items: Sequence[Any], path: str, out: Causes) -> None:
        if len(items) > limit:
            out.append(too_many(path, len(items), limit))
            return
        for index, value in enumerate(items):
            item(value, f"{path}[{index}]", out)

    return check


def distinct(
    limit: int,
    item: Check,
    key: Callable[[Any], Hashable],
    shown: Callable[[Any], Any] | None = None,
) -> Check:
    """A check of a list whose items differ.

    Args:
        limit: items allowed.
        item: check of an item.
        key: what makes an item different.
        shown: what to print of a repeated item; its key by default.
    """
    every = limited(limit, item)

    def check(items: Sequence[Any], path: str, out: Causes) -> None:
        every(items, path, out)
        if len(items) > limit:
            return
        seen: set[Hashable] = set()
        for index, value in enumerate(items):
            mine = key(value)
            if mine in seen:
                out.append(duplicate(f"{path}[{index}]", (shown or key)(value)))
            seen.add(mine)

    return check


def name_of(item: Mapping[str, Any]) -> str:
    """The name of an item, maybe empty."""
    return str(item.get("name") or "")


def pool_name(value: str, path: str, out: Causes) -> None:
    """Check the name of a pool: subdomains with slashes between.

    Args:
        value: the name.
        path: its path.
        out: receives causes.
    """
    if not value:
        out.append(required(path))
        return
    if byte_length(value) > _POOL_MAX:
        out.append(too_long(path, _POOL_MAX))
    for part in value.split("/"):
        out.extend(invalid(path, part, text) for text in dns1123_subdomain(part))


def _identifier(value: str, path: str, out: Causes) -> None:
    if byte_length(value) > _ID_MAX:
        out.append(too_long(path, _ID_MAX))
    if not _c_identifier_re.fullmatch(value):
        out.append(invalid(path, value, _C_MESSAGE))


def qualified_name(value: str, path: str, out: Causes) -> None:
    """Check the name of an attribute or capacity, with or without a domain.

    Args:
        value: the name.
        path: its path.
        out: receives causes.
    """
    parts = value.split("/")
    if len(parts) == 1:
        _identifier(value, path, out)
    elif len(parts) == 2:  # upstream looks at nothing that has more slashes
        domain, name = parts
        if not domain:
            out.append(invalid(path, "", "the domain must not be empty"))
        else:
            driver_name(domain, path, out)
        if not name:
            out.append(invalid(path, "", "the name must not be empty"))
        else:
            _identifier(name, path, out)


def fully_qualified_name(value: str, path: str, out: Causes) -> None:
    """Check the name of an attribute with its domain.

    Args:
        value: the name.
        path: its path.
        out: receives causes.
    """
    qualified_name(value, path, out)
    if "/" not in value:
        detail = "a fully qualified name must be a domain and a name separated by a slash"
        out.append(invalid(path, value, detail))


# --- selectors and configurations ---


def selector(compiler: Compile, *, stored: bool = False) -> Check:
    """A check of a device selector.

    Args:
        compiler: tells what is wrong with an expression.
        stored: whether the expression was accepted before.
    """

    def check(value: Mapping[str, Any], path: str, out: Causes) -> None:
        cel = value.get("cel")
        if cel is None:
            out.append(required(f"{path}.cel"))
            return
        text, where = cel.get("expression") or "", f"{path}.cel.expression"
        if stored:
            return
        if byte_length(text) > _EXPRESSION_MAX:
            out.append(too_long(where, _EXPRESSION_MAX))
            return
        compiled(compiler, Expression(text=text, purpose="device", authorizer=False), where, out)

    return check


def raw_object(value: Any, path: str, out: Causes, limit: int | None) -> None:
    """Check an embedded object.

    Args:
        value: what it is.
        path: its path.
        out: receives causes.
        limit: bytes allowed, or None.
    """
    if value is None:
        out.append(required(path))
    elif limit is not None and len(encode(value)) > limit:
        out.append(too_long(path, limit))
    elif not isinstance(value, dict):
        out.append(invalid(path, "<value omitted>", "must be a valid JSON object"))


def configuration(value: Mapping[str, Any], path: str, out: Causes, *, stored: bool) -> None:
    """Check the configuration of devices.

    Args:
        value: with ``opaque``.
        path: its path.
        out: receives causes.
        stored: whether it was accepted before.
    """
    opaque = value.get("opaque")
    if opaque is None:
        out.append(required(f"{path}.opaque"))
        return
    driver_name(opaque.get("driver") or "", f"{path}.opaque.driver", out)
    limit = None if stored else PARAMETERS_MAX
    raw_object(opaque.get("parameters"), f"{path}.opaque.parameters", out, limit)


# --- taints, tolerations, binding ---


def _label_value(value: str, path: str, out: Causes) -> None:
    out.extend(invalid(path, value, text) for text in label_value(value))


_TAINT = table(
    row("key", label_name, zero=""),
    row("value", _label_value),
)


def taint(value: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check a taint of a device.

    Args:
        value: the taint.
        path: its path.
        out: receives causes.
    """
    _TAINT(value, path, out)
    effect = value.get("effect") or ""
    if not effect:
        out.append(required(f"{path}.effect"))
    elif effect not in _EFFECTS:
        out.append(not_supported(f"{path}.effect", effect, _EFFECTS))


def toleration(value: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check a toleration of device taints.

    Args:
        value: the toleration.
        path: its path.
        out: receives causes.
    """
    if key := value.get("key"):
        label_name(key, f"{path}.key", out)
    operator, text = value.get("operator") or "", value.get("value") or ""
    if not operator:
        out.append(required(f"{path}.operator"))
    elif operator not in _OPERATORS:
        out.append(not_supported(f"{path}.operator", operator, _OPERATORS))
    elif operator == "Equal":
        _label_value(text, f"{path}.value", out)
    elif text:
        out.append(invalid(f"{path}.value", text, "must be empty for operator `Exists`"))
    effect = value.get("effect")
    if effect and effect not in _EFFECTS:
        out.append(not_supported(f"{path}.effect", effect, _EFFECTS))


_LABEL_NAMES = limited(BINDING_CONDITIONS_MAX, label_name)


def binding_conditions(value: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check what a device waits for before pods are bound.

    Args:
        value: with ``bindingConditions`` and ``bindingFailureConditions``.
        path: its path.
        out: receives causes.
    """
    names = ("bindingConditions", "bindingFailureConditions")
    good, bad = (list(value.get(name) or ()) for name in names)
    where, failures = (f"{path}.{name}" for name in names)
    _LABEL_NAMES(good, where, out)
    _LABEL_NAMES(bad, failures, out)
    for index, condition in enumerate(good):
        if condition in good[:index]:
            out.append(duplicate(f"{where}[{index}]", condition))
    for index, condition in enumerate(bad):
        if condition in bad[:index]:
            out.append(duplicate(f"{failures}[{index}]", condition))
        if condition in good:
            detail = "bindingFailureConditions must not overlap with bindingConditions"
            out.append(invalid(f"{failures}[{index}]", condition, detail))
    if bad and not good:
        detail = "bindingConditions are required to use bindingFailureConditions"
        out.append(invalid(where, None, detail))
    if good and not bad:
        detail = "bindingFailureConditions are required to use bindingConditions"
        out.append(invalid(failures, None, detail))
