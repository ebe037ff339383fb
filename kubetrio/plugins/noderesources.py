"""NodeDeclaredFeatureValidator and PodResizeValidator: what a pod becomes, its node can bear.

Source: KEP-5328 (node declared features); KEP-1287 (in-place update of pod resources); KEP-2837
(resources of pods).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.plugin import Base, denied
from kubetrio.kinds.core import podresources
from kubetrio.machinery import quantity
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.status import ApiError
from kubetrio.plugins.topology import NODE_KEYS
from kubetrio.schema.wellknown import POD_RESOURCE as PODS

Object = dict[str, Any]

RESIZE = "resize"
OS_LABEL = "kubernetes.io/os"


def _pod_resized(old: Object, new: Object) -> bool:
    return bool(old.get("resources") != new.get("resources"))


def _init_container_resized(old: Object, new: Object) -> bool:
    before, after = old.get("initContainers") or (), new.get("initContainers") or ()
    return any(
        one.get("restartPolicy") != "Always" and one.get("resources") != two.get("resources")
        for one, two in zip(before, after, strict=False)
    )


FEATURES: Mapping[str, Callable[[Object, Object], bool]] = {
    "InPlacePodLevelResourcesVerticalScaling": _pod_resized,
    "InPlacePodVerticalScalingInitContainers": _init_container_resized,
}
"""Features of nodes that a change of a pod's spec takes, and when it does."""


class _OnNode(Base):
    """What both plugins share: pods that have a node and whose spec changes.

    Args:
        lookup: reads nodes.
    """

    resources = frozenset({PODS})
    operations = frozenset({Operation.UPDATE})
    subresources = frozenset({RESIZE})

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def validate(self, attributes: Attributes) -> None:
        """Refuse what the pod's node cannot bear.

        Raises:
            ApiError: 403.
        """
        pod, old = attributes.obj, attributes.old
        if attributes.subresource not in self.subresources or pod is None or old is None:
            return
        name = pod["spec"].get("nodeName")
        same = pod["metadata"].get("generation") == old["metadata"].get("generation")
        if name and not same and self._matters(old, pod):
            node = await self._lookup.get(NODE_KEYS + name)
            if node is None:
                raise denied(attributes, f"node {quote(name)} not found")
            self._check(attributes, old, pod, node)

    def _matters(self, old: Object, pod: Object) -> bool:
        """Whether the node has to be looked at."""
        del old, pod
        return True

    def _check(self, attributes: Attributes, old: Object, pod: Object, node: Object) -> None:
        raise NotImplementedError


class NodeDeclaredFeatureValidator(_OnNode):
    """Refuses changes that take a feature which the pod's node does not declare."""

    name = "NodeDeclaredFeatureValidator"
    subresources = frozenset({"", RESIZE})

    @staticmethod
    def _required(old: Object, pod: Object) -> list[str]:
        return [name for name, takes in FEATURES.items() if takes(old["spec"], pod["spec"])]

    def _matters(self, old: Object, pod: Object) -> bool:
        return bool(self._required(old, pod))

    def _check(self, attributes: Attributes, old: Object, pod: Object, node: Object) -> None:
        declared = (node.get("status") or {}).get("declaredFeatures") or ()
        missing = [name for name in self._required(old, pod) if name not in declared]
        if missing:
            raise denied(
                attributes,
                f"pod update requires features {', '.join(missing)} "
                f"which are not available on node {quote(node['metadata']['name'])}",
            )


class PodResizeValidator(_OnNode):
    """Refuses to resize pods beyond their node, or on one that does not run Linux."""

    name = "PodResizeValidator"

    def _check(self, attributes: Attributes, old: Object, pod: Object, node: Object) -> None:
        del old
        meta = node["metadata"]
        system = (meta.get("labels") or {}).get(OS_LABEL)
        if system not in (None, "linux"):
            why = f"pod resize is only supported on linux nodes, node {quote(meta['name'])} is "
            raise _because(attributes, why + quote(system), "UnsupportedPlatform")
        allocatable = quantity.amounts((node.get("status") or {}).get("allocatable"))
        requests = podresources.total_with_overhead(pod["spec"], "requests")
        nothing = quantity.parse("0")
        wanting = []
        for name, shown in (
            ("cpu", quantity.Quantity.milli_value),
            ("memory", quantity.Quantity.value),
        ):
            asked, there = requests.get(name, nothing), allocatable.get(name, nothing)
            if asked > there:
                wanting.append(f"{name}, requested: {shown(asked)}, allocatable: {shown(there)}")
        if wanting:
            why = f"node didn't have enough allocatable resources: {'; '.join(wanting)}"
            raise _because(attributes, why, "NodeCapacity")


def _because(attributes: Attributes, why: str, reason: str) -> ApiError:
    """403 with a cause that programs can read."""
    error = denied(attributes, why)
    error.details = {**(error.details or {}), "causes": [{"reason": reason}]}
    return error
