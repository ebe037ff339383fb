"""Node selectors: which nodes a pod's selector and node affinity allow, and a volume's.

Source: docs "Assigning Pods to Nodes"; API reference of NodeSelector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Object = dict[str, Any]
Labels = Mapping[str, str]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def selected(spec: Object, name: str, labels: Labels) -> bool:
    """Whether a pod's selector and required affinity allow a node.

    Args:
        spec: of the pod.
        name: of the node.
        labels: of the node.
    """
    if not (spec.get("nodeSelector") or {}).items() <= labels.items():
        return False
    required = node_affinity(spec).get(REQUIRED)
    return required is None or any_term(required.get("nodeSelectorTerms") or (), name, labels)


def node_affinity(spec: Object) -> Object:
    """The node affinity of a pod, empty for none."""
    return (spec.get("affinity") or {}).get("nodeAffinity") or {}


def any_term(terms: Iterable[Object], name: str, labels: Labels) -> bool:
    """Whether one of some terms selects a node."""
    return any(term_selects(term, name, labels) for term in terms)


def term_selects(term: Object, name: str, labels: Labels) -> bool:
    """Whether a term selects a node; an empty one selects none.

    Args:
        term: a NodeSelectorTerm.
        name: of the node.
        labels: of the node.
    """
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(_matches(one, labels) for one in expressions) and all(
        _matches(one, {"metadata.name": name}) for one in fields
    )


def _matches(requirement: Object, labels: Labels) -> bool:
    key, values = requirement.get("key") or "", requirement.get("values") or []
    has = labels.get(key)
    match requirement.get("operator"):
        case "In":
            return has in values
        case "NotIn":
            return has not in values
        case "Exists":
            return has is not None
        case "DoesNotExist":
            return has is None
        case "Gt" | "Lt" as operator if has is not None and values:
            try:
                number, limit = int(has), int(values[0])
            except ValueError:
                return False
            return number > limit if operator == "Gt" else number < limit
        case _:
            return False
