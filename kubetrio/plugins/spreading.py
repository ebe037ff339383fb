"""Where pods may go: LimitPodHardAntiAffinityTopology, ExtendedResourceToleration.

Source: docs "Admission Control in Kubernetes" (of these names).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.chain import Plugin
from kubetrio.admission.plugin import POD_SPEC, Base, about, put
from kubetrio.machinery.names_validation import qualified_name
from kubetrio.machinery.status import forbidden
from kubetrio.schema.wellknown import POD_RESOURCE as PODS

if TYPE_CHECKING:
    from kubetrio.plugins.context import PluginContext

HOST = "kubernetes.io/hostname"
REQUESTS = "requests."  # before the names of what quotas count


class LimitPodHardAntiAffinityTopology(Base):
    """Pods keep others from their node, but not from more than it."""

    name = "LimitPodHardAntiAffinityTopology"
    resources = frozenset({PODS})
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    async def validate(self, attributes: Attributes) -> None:
        """Refuse wider anti-affinity.

        Raises:
            ApiError: 403.
        """
        pod = about(attributes, PODS)
        if pod is None:
            return
        anti = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
        for term in anti.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            key = term.get("topologyKey") or ""
            if key != HOST:
                raise forbidden(
                    PODS,
                    pod["metadata"].get("name") or "",
                    "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey "
                    f"{key} but only key {HOST} is allowed",
                )


def _extended(name: str) -> bool:
    """Whether a resource is none of Kubernetes' own."""
    own = "/" not in name or "kubernetes.io/" in name or name.startswith(REQUESTS)
    return not own and not qualified_name(REQUESTS + name)


class ExtendedResourceToleration(Base):
    """Pods that ask for a device tolerate the taint of nodes that are kept for it."""

    name = "ExtendedResourceToleration"
    resources = frozenset({PODS})
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    async def mutate(self, attributes: Attributes) -> None:
        """Add the tolerations that are missing."""
        pod = about(attributes, PODS)
        if pod is None:
            return
        spec = pod["spec"]
        names = {
            name
            for member in ("containers", "initContainers")
            for container in spec.get(member) or ()
            for name in (container.get("resources") or {}).get("requests") or ()
            if _extended(name)
        }
        tolerations = list(spec.get("tolerations") or ())
        for name in sorted(names):
            own = {"key": name, "operator": "Exists", "effect": "NoSchedule"}
            if not any(_matches(each, own) for each in tolerations):
                tolerations.append(own)
            tolerations = [own if _matches(each, own) else each for each in tolerations]
        if names:
            put(pod, "spec", POD_SPEC, tolerations=tolerations)


def _matches(one: dict[str, object], two: dict[str, object]) -> bool:
    """Whether two tolerations differ at most in how long they hold."""
    return all(
        (one.get(name) or "") == (two.get(name) or "")
        for name in ("key", "effect", "operator", "value")
    )


def anti_affinity(_: PluginContext) -> Plugin:
    """Make the plugin LimitPodHardAntiAffinityTopology."""
    return LimitPodHardAntiAffinityTopology()


def extended_resources(_: PluginContext) -> Plugin:
    """Make the plugin ExtendedResourceToleration."""
    return ExtendedResourceToleration()
