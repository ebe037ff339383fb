"""Node affinity: the nodes that a pod's selector and affinity allow, and those that it prefers.

Source: docs "Assigning Pods to Nodes";
k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubetrio.controllers.podcontrol.nodeselector import (
    PREFERRED,
    REQUIRED,
    any_term,
    node_affinity,
    selected,
    term_selects,
)
from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.framework import Check, Refusal, Rejected, normalized
from kubetrio.controllers.scheduler.shapes import PodShape, PodView

NAME = "NodeAffinity"
Object = dict[str, Any]

ENFORCED = Refusal(("node(s) didn't match scheduler-enforced node affinity",), resolvable=False)
NOT_SELECTED = Refusal(("node(s) didn't match Pod's node affinity/selector",), resolvable=False)
CONFLICT = Rejected("pod affinity terms conflict")


def named_nodes(shape: PodShape) -> frozenset[str] | None:
    """The names of the only nodes that a pod's affinity can allow; None for no such limit."""
    required = node_affinity(shape.spec).get(REQUIRED) or {}
    names: set[str] = set()
    terms = required.get("nodeSelectorTerms") or ()
    for term in terms:
        values = [
            set(one.get("values") or ())
            for one in term.get("matchFields") or ()
            if one.get("key") == "metadata.name" and one.get("operator") == "In"
        ]
        if not values:
            return None
        names |= set.intersection(*values)
    return frozenset(names) if terms else None


def not_selected(
    pod: PodView, _: Cluster, *, added: Object | None = None
) -> Check | Rejected | None:
    """Prepare the check that a pod's selector and required affinity allow a node.

    Args:
        pod: to be placed.
        added: affinity that all pods have.
    """
    spec, more = pod.shape.spec, (added or {}).get(REQUIRED)
    own = bool(spec.get("nodeSelector")) or node_affinity(spec).get(REQUIRED) is not None
    if not own and more is None:
        return None
    names = named_nodes(pod.shape)
    if names is not None and not names:
        return CONFLICT

    def check(node: NodeState) -> Refusal | None:
        facts = node.facts
        if more is not None and not any_term(
            more.get("nodeSelectorTerms") or (), facts.name, facts.labels
        ):
            return ENFORCED
        return None if not own or selected(spec, facts.name, facts.labels) else NOT_SELECTED

    return check


def preferred(
    pod: PodView, _: Cluster, nodes: Sequence[NodeState], *, added: Object | None = None
) -> list[int] | None:
    """Rate nodes by the weights of the preferred terms that select them, as `not_selected`."""
    rows = [
        *(node_affinity(pod.shape.spec).get(PREFERRED) or ()),
        *((added or {}).get(PREFERRED) or ()),
    ]
    terms = [(one.get("preference") or {}, one.get("weight") or 0) for one in rows]
    if not terms:
        return None
    return normalized(
        [
            sum(
                weight
                for term, weight in terms
                if term_selects(term, node.facts.name, node.facts.labels)
            )
            for node in nodes
        ]
    )
