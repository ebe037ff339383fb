"""PodTopologyLabels: pods carry the zone and region of their node.

Source: KEP-4742.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.admission.attributes import Attributes
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.plugin import Base
from kubetrio.machinery.names import GroupResource
from kubetrio.schema.wellknown import POD_RESOURCE as PODS

Object = dict[str, Any]
BINDINGS = GroupResource("", "bindings")
NODE_KEYS = "/registry/minions/"
LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def topology_of(labels: Mapping[str, str]) -> Object:
    """The labels that a pod takes over from its node.

    Args:
        labels: of the node.
    """
    return {key: labels[key] for key in LABELS if key in labels}


class PodTopologyLabels(Base):
    """The plugin.

    Args:
        lookup: reads nodes.
    """

    name = "PodTopologyLabels"
    resources = frozenset({PODS, BINDINGS})

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def mutate(self, attributes: Attributes) -> None:
        """Copy the labels to a binding, or to a pod that is created on a node."""
        obj = attributes.obj
        if obj is None:
            return
        where = (attributes.resource.group_resource, attributes.subresource)
        if where in ((PODS, "binding"), (BINDINGS, "")):
            node = (obj.get("target") or {}).get("name")
            if (obj.get("target") or {}).get("kind") not in (None, "", "Node"):
                return
        elif where == (PODS, ""):
            node = (obj.get("spec") or {}).get("nodeName")
        else:
            return
        if not node:
            return
        node_object = await self._lookup.get(NODE_KEYS + node)
        known = (node_object or {}).get("metadata", {}).get("labels") or {}
        copied = topology_of(known)
        if copied:
            meta = obj.setdefault("metadata", {})
            meta["labels"] = dict(sorted({**(meta.get("labels") or {}), **copied}.items()))
