"""Label selectors, node selectors and maps of labels, as members of objects.

Source: "Labels and Selectors" and "Assigning Pods to Nodes" of the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.checks import Causes, Json
from kubetrio.machinery.fielderrors import Named, duplicate, forbidden, invalid, required
from kubetrio.machinery.members import is_zero
from kubetrio.machinery.names_validation import dns1123_subdomain, label_value, qualified_name
from kubetrio.machinery.objectmeta import validate_annotations, validate_labels

_SET = frozenset({"In", "NotIn"})
_PRESENCE = frozenset({"Exists", "DoesNotExist"})
_COMPARISON = frozenset({"Gt", "Lt"})
_NO_OPERATOR = "not a valid selector operator"
_NEEDS_VALUES = "must be specified when `operator` is 'In' or 'NotIn'"
_NO_VALUES = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"


def label_map(value: Mapping[str, str], path: str, out: Causes) -> None:
    """Check a map of labels.

    Args:
        value: keys to values.
        path: its path.
        out: receives causes.
    """
    if value:
        out.extend(validate_labels(value, path))


def annotation_map(value: Mapping[str, str], path: str, out: Causes) -> None:
    """Check a map of annotations.

    Args:
        value: keys to values.
        path: its path.
        out: receives causes.
    """
    if value:
        out.extend(validate_annotations(value, path))


def template_metadata(value: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check the metadata of an object's template, which are labels and annotations alone.

    Args:
        value: the metadata.
        path: its path.
        out: receives causes.
    """
    annotation_map(value.get("annotations") or {}, f"{path}.annotations", out)
    label_map(value.get("labels") or {}, f"{path}.labels", out)
    for name in value:
        if name not in _OF_TEMPLATES and not is_zero(value[name]):
            shown = "uID" if name == "uid" else name  # Go's name with a small letter in front
            out.append(forbidden(f"{path}.{shown}", "cannot be set"))


_OF_TEMPLATES = ("labels", "annotations")


def label_name(value: str, path: str, out: Causes) -> None:
    """Check a label key.

    Args:
        value: the key.
        path: its path.
        out: receives causes.
    """
    for message in qualified_name(value):
        out.append(invalid(path, value, message))


def label_selector(value: Mapping[str, Any] | None, path: str, out: Causes) -> None:
    """Check a ``LabelSelector``.

    Args:
        value: the selector; None is accepted.
        path: its path.
        out: receives causes.
    """
    if not value:
        return
    if pairs := value.get("matchLabels"):
        out.extend(validate_labels(pairs, f"{path}.matchLabels"))
    for index, expression in enumerate(value.get("matchExpressions") or ()):
        label_requirement(expression, f"{path}.matchExpressions[{index}]", out)


def _values(values: Sequence[str], path: str, out: Causes) -> None:
    for index, value in enumerate(values):
        for message in label_value(value):
            out.append(invalid(f"{path}[{index}]", value, message))


def label_requirement(
    expression: Mapping[str, Any], path: str, out: Causes, *, any_operator: bool = False
) -> None:
    """Check one expression of a label selector.

    Args:
        expression: with ``key``, ``operator`` and ``values``.
        path: its path.
        out: receives causes.
        any_operator: whether operators that this server does not know are accepted.
    """
    _operator(expression, path, out, any_operator=any_operator)
    label_name(expression.get("key") or "", f"{path}.key", out)
    _values(expression.get("values") or (), f"{path}.values", out)


def field_requirement(expression: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check one expression of a field selector; its operator may be unknown.

    Args:
        expression: with ``key``, ``operator`` and ``values``.
        path: its path.
        out: receives causes.
    """
    if not expression.get("key"):
        out.append(required(f"{path}.key", "must be specified"))
    _operator(expression, path, out, any_operator=True)


def _operator(expression: Mapping[str, Any], path: str, out: Causes, *, any_operator: bool) -> None:
    operator = expression.get("operator") or ""
    values = expression.get("values") or ()
    if operator in _SET:
        if not values:
            out.append(required(f"{path}.values", _NEEDS_VALUES))
    elif operator in _PRESENCE:
        if values:
            out.append(forbidden(f"{path}.values", _NO_VALUES))
    elif not any_operator:
        out.append(invalid(f"{path}.operator", Named(operator), _NO_OPERATOR))


def _node_expression(expression: Mapping[str, Any], path: str, out: Causes, strict: bool) -> None:
    operator = expression.get("operator") or ""
    values = expression.get("values") or ()
    if operator in _SET:
        if not values:
            out.append(required(f"{path}.values", _NEEDS_VALUES))
    elif operator in _PRESENCE:
        if values:
            out.append(forbidden(f"{path}.values", _NO_VALUES))
    elif operator in _COMPARISON:
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            out.append(required(f"{path}.values", detail))
    else:
        out.append(invalid(f"{path}.operator", Named(operator), _NO_OPERATOR))
    label_name(expression.get("key") or "", f"{path}.key", out)
    if strict:
        _values(values, f"{path}.values", out)


def _node_field(expression: Mapping[str, Any], path: str, out: Causes) -> None:
    operator = expression.get("operator") or ""
    values = expression.get("values") or ()
    if operator not in _SET:
        out.append(invalid(f"{path}.operator", Named(operator), _NO_OPERATOR))
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        out.append(required(f"{path}.values", detail))
    key = expression.get("key") or ""
    if key != "metadata.name":
        out.append(invalid(f"{path}.key", key, "not a valid field selector key"))
        return
    for index, value in enumerate(values):
        for message in dns1123_subdomain(value):
            out.append(invalid(f"{path}.values[{index}]", value, message))


def node_selector_term(
    term: Mapping[str, Any], path: str, out: Causes, *, strict: bool = True
) -> None:
    """Check one term of a node selector.

    Args:
        term: with ``matchExpressions`` and ``matchFields``.
        path: its path.
        out: receives causes.
        strict: whether values must be label values, which preferences need not be.
    """
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        _node_expression(expression, f"{path}.matchExpressions[{index}]", out, strict)
    for index, expression in enumerate(term.get("matchFields") or ()):
        _node_field(expression, f"{path}.matchFields[{index}]", out)


def node_selector(value: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check a ``NodeSelector``: at least one term.

    Args:
        value: with ``nodeSelectorTerms``.
        path: its path.
        out: receives causes.
    """
    terms = value.get("nodeSelectorTerms") or ()
    where = f"{path}.nodeSelectorTerms"
    if not terms:
        out.append(required(where, "must have at least one node selector term"))
    for index, term in enumerate(terms):
        node_selector_term(term, f"{where}[{index}]", out)


def topology_selector_term(term: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check one term of ``allowedTopologies`` of a StorageClass.

    Args:
        term: with ``matchLabelExpressions``.
        path: its path.
        out: receives causes.
    """
    keys: set[str] = set()
    for index, expression in enumerate(term.get("matchLabelExpressions") or ()):
        where = f"{path}.matchLabelExpressions[{index}]"
        values = expression.get("values") or ()
        if not values:
            out.append(required(f"{where}.values"))
        seen: set[str] = set()
        for position, value in enumerate(values):
            if value in seen:
                out.append(duplicate(f"{where}.values[{position}]", value))
            seen.add(value)
        key = expression.get("key") or ""
        label_name(key, f"{where}.key", out)
        if key in keys:
            out.append(duplicate(f"{where}.key", key))
        keys.add(key)


def printed(selector: Mapping[str, Any]) -> Json:
    """A ``LabelSelector`` as it is printed in messages: empty members are left out.

    Args:
        selector: the selector.
    """
    out: Json = {}
    if pairs := selector.get("matchLabels"):
        out["matchLabels"] = dict(sorted(pairs.items()))
    if expressions := selector.get("matchExpressions"):
        out["matchExpressions"] = expressions
    return out


def printed_term(term: Mapping[str, Any]) -> Json:
    """A term of a node selector as Go prints it: its own names, every member.

    Args:
        term: with ``matchExpressions`` and ``matchFields``.
    """
    return {
        name[:1].upper() + name[1:]: [
            {
                "Key": item.get("key") or "",
                "Operator": item.get("operator") or "",
                "Values": item.get("values"),
            }
            for item in term[name]
        ]
        if term.get(name)
        else None
        for name in ("matchExpressions", "matchFields")
    }
