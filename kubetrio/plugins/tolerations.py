"""Taints and tolerations that need not be written: of new nodes, and of pods on failing ones.

Source: docs "Taints and Tolerations".
"""

from __future__ import annotations

from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import POD_SPEC, Base, about, put
from kubetrio.machinery.names import GroupResource
from kubetrio.schema.wellknown import POD_RESOURCE as PODS

Object = dict[str, Any]
NODES = GroupResource("", "nodes")
NODE_SPEC = "io.k8s.api.core.v1.NodeSpec"
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
TOLERATED_S = 300


def _tolerated(tolerations: list[Object], key: str) -> bool:
    return any(
        (each.get("key") or key) == key and (each.get("effect") or "NoExecute") == "NoExecute"
        for each in tolerations
    )


class DefaultTolerationSeconds(Base):
    """Pods stay for a while on nodes that fail.

    Args:
        not_ready_s: seconds on a node that is not ready.
        unreachable_s: seconds on one that cannot be reached.
    """

    name = "DefaultTolerationSeconds"
    resources = frozenset({PODS})
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    def __init__(self, not_ready_s: int = TOLERATED_S, unreachable_s: int = TOLERATED_S) -> None:
        self._seconds = {NOT_READY: not_ready_s, UNREACHABLE: unreachable_s}

    async def mutate(self, attributes: Attributes) -> None:
        """Add the two tolerations that are missing."""
        pod = about(attributes, PODS)
        if pod is None:
            return
        tolerations = list(pod["spec"].get("tolerations") or ())
        missing = [key for key in self._seconds if not _tolerated(tolerations, key)]
        if not missing:
            return
        tolerations += [
            {
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": self._seconds[key],
            }
            for key in missing
        ]
        put(pod, "spec", POD_SPEC, tolerations=tolerations)


class TaintNodesByCondition(Base):
    """New nodes get no pods before they are known to be ready."""

    name = "TaintNodesByCondition"
    resources = frozenset({NODES})

    async def mutate(self, attributes: Attributes) -> None:
        """Taint a new node."""
        node = about(attributes, NODES)
        if node is None:
            return
        taints = list((node.get("spec") or {}).get("taints") or ())
        if any(each["key"] == NOT_READY and each["effect"] == "NoSchedule" for each in taints):
            return
        taints.append({"key": NOT_READY, "effect": "NoSchedule"})
        put(node, "spec", NODE_SPEC, taints=taints)
