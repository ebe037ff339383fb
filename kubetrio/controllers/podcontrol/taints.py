"""Nodes as those see them who put pods on them: labels, taints, and what pods stand.

Source: docs "Taints and Tolerations".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson

from kubetrio.informers.digests import Digests
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.kinds.core.nodedigests import PREFIX

Object = dict[str, Any]

NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"


class Taint(NamedTuple):
    """A taint of a node."""

    key: str
    value: str
    effect: str


class Node(NamedTuple):
    """What decides whether a node has a pod.

    Args:
        name: of the node.
        labels: pairs of key and value.
        taints: of the node.
    """

    name: str
    labels: tuple[tuple[str, str], ...]
    taints: tuple[Taint, ...]


def node_view(value: bytes) -> Node:
    """What is kept of a node.

    Args:
        value: the stored node.
    """
    node: Object = orjson.loads(value)
    taints = (node.get("spec") or {}).get("taints") or ()
    return Node(
        node["metadata"]["name"],
        tuple((node["metadata"].get("labels") or {}).items()),
        tuple(
            Taint(one.get("key") or "", one.get("value") or "", one.get("effect") or "")
            for one in taints
        ),
    )


def nodes_in(informers: SharedInformerFactory) -> Digests[Node]:
    """The nodes of a server, as DaemonSets see them."""
    return informers.digests(PREFIX, node_view)


def tolerates(toleration: Object, taint: Taint) -> bool:
    """Whether a toleration is about a taint."""
    effect, key = toleration.get("effect"), toleration.get("key")
    if effect and effect != taint.effect:
        return False
    if key and key != taint.key:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return bool(key) and (toleration.get("value") or "") == taint.value
    return bool(operator == "Exists")


def stands_for_s(tolerations: Iterable[Object], taints: Iterable[Taint]) -> float | None:
    """For how many seconds a pod stands taints; None for ever.

    Args:
        tolerations: of the pod.
        taints: of its node, those that evict.
    """
    limits, known = list[float](), list(tolerations)
    for taint in taints:
        used = next((one for one in known if tolerates(one, taint)), None)
        if used is None:
            return 0.0
        if used.get("tolerationSeconds") is not None:
            limits.append(max(float(used["tolerationSeconds"]), 0.0))
    return min(limits, default=None)
