"""Selectors of requests and of access reviews, as authorizers get them.

A selector can only make a request narrower.  So what cannot be read is left out, and the
authorizer sees the wider request.

Source: KEP-4601; API reference of ``ResourceAttributes`` in authorization.k8s.io.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from kubetrio.machinery import fields, labels
from kubetrio.machinery.identity import Narrowing, SelectorRequirement
from kubetrio.machinery.names_validation import label_value, qualified_name
from kubetrio.machinery.selectors import Selectors

Requirements = tuple[SelectorRequirement, ...]

_FIELD_OPERATORS = {"=": "In", "!=": "NotIn"}
_LABEL_OPERATORS = {
    "=": "In", "==": "In", "in": "In", "!=": "NotIn", "notin": "NotIn",
    "exists": "Exists", "!": "DoesNotExist",
}  # fmt: skip


class Read(NamedTuple):
    """What came of a selector.

    Args:
        requirements: what could be read; None for nothing.
        failed: whether some of it could not.
    """

    requirements: Requirements | None = None
    failed: bool = False


def _some(found: Sequence[SelectorRequirement], *, failed: bool = False) -> Read:
    return Read(tuple(found) or None, failed)


def field_requirements(text: str) -> Read:
    """The requirements of a field selector.

    Args:
        text: as in a query.
    """
    return _of_fields(partial(fields.parse, text))


def _of_fields(parsed: Callable[[], fields.Selector]) -> Read:
    try:
        selector = parsed()
    except ValueError:
        return Read(failed=True)
    return _some(
        [
            SelectorRequirement(field, _FIELD_OPERATORS[operator], (value,))
            for field, operator, value in selector.requirements
        ]
    )


def label_requirements(text: str) -> Read:
    """The requirements of a label selector; numbers are compared by no authorizer.

    Args:
        text: as in a query.
    """
    return _of_labels(partial(labels.parse, text))


def _of_labels(parsed: Callable[[], labels.Selector]) -> Read:
    try:
        selector = parsed()
    except ValueError:
        return Read(failed=True)
    return _some(
        [
            SelectorRequirement(one.key, _LABEL_OPERATORS[one.operator], one.values)
            for one in selector.requirements
            if one.operator in _LABEL_OPERATORS
        ]
    )


class Selected(Narrowing):
    """What the selectors of a request restrict it to, read when an authorizer looks.

    Args:
        selectors: of the request.
    """

    __slots__ = ("_read", "_selectors")

    def __init__(self, selectors: Selectors) -> None:
        super().__init__()
        self._selectors = selectors
        self._read = False

    def _known(self) -> None:
        if not self._read:
            self._read = True
            self._fields = _of_fields(self._selectors.fields).requirements
            self._labels = _of_labels(self._selectors.labels).requirements

    @property
    def fields(self) -> Requirements | None:
        """See `Narrowing`."""
        self._known()
        return self._fields

    @property
    def labels(self) -> Requirements | None:
        """See `Narrowing`."""
        self._known()
        return self._labels


def _reviewed_field(one: Mapping[str, Any]) -> SelectorRequirement | None:
    operator, values = one.get("operator"), tuple(one.get("values") or ())
    if operator not in ("In", "NotIn") or len(values) != 1:
        return None
    return SelectorRequirement(one.get("key") or "", operator, values)


def _reviewed_label(one: Mapping[str, Any]) -> SelectorRequirement | None:
    key, operator = one.get("key") or "", one.get("operator")
    values = tuple(one.get("values") or ())
    if operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
        return None
    if (operator in ("In", "NotIn")) is not bool(values):
        return None
    if qualified_name(key) or any(map(label_value, values)):
        return None
    return SelectorRequirement(key, operator, values)


def _reviewed(
    selector: Mapping[str, Any] | None,
    parse: Callable[[str], Read],
    read: Callable[[Mapping[str, Any]], SelectorRequirement | None],
) -> Read:
    requirements = Read()
    if selector is None:
        return requirements
    if raw := selector.get("rawSelector"):
        requirements = parse(raw)
    if asked := selector.get("requirements"):
        known = [one for one in map(read, asked) if one is not None]
        requirements = _some(known, failed=len(known) < len(asked))
    return requirements


def reviewed_fields(selector: Mapping[str, Any] | None) -> Read:
    """The requirements of an access review's ``fieldSelector``."""
    return _reviewed(selector, field_requirements, _reviewed_field)


def reviewed_labels(selector: Mapping[str, Any] | None) -> Read:
    """The requirements of an access review's ``labelSelector``."""
    return _reviewed(selector, label_requirements, _reviewed_label)
