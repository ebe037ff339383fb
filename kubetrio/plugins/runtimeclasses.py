"""RuntimeClass: what a container runtime costs, and where it is.

Source: docs "Runtime Class", "Pod Overhead"; KEP-688.
"""

from __future__ import annotations

from typing import Any

from kubetrio.admission.attributes import Attributes
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.plugin import POD_SPEC, Base, about, denied, put
from kubetrio.machinery import quantity
from kubetrio.machinery.fielderrors import quote
from kubetrio.schema.wellknown import POD_RESOURCE as PODS

Object = dict[str, Any]
COLLECTION = "runtimeclasses"


def _same(one: Object, two: Object) -> bool:
    return one.keys() == two.keys() and all(
        quantity.from_json(one[key]) == quantity.from_json(two[key]) for key in one
    )


class RuntimeClass(Base):
    """The plugin.

    Args:
        lookup: reads runtime classes.
    """

    name = "RuntimeClass"
    resources = frozenset({PODS})

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def _class_of(self, attributes: Attributes, pod: Object) -> Object | None:
        name = pod["spec"].get("runtimeClassName")
        if name is None:
            return None
        runtime_class = (await self._lookup.all(COLLECTION)).get(name)
        if runtime_class is None:
            raise denied(attributes, f"pod rejected: RuntimeClass {quote(name)} not found")
        return runtime_class

    async def mutate(self, attributes: Attributes) -> None:
        """Give a pod its class's overhead, node selector and tolerations."""
        pod = about(attributes, PODS)
        if pod is None:
            return
        chosen = await self._class_of(attributes, pod)
        if chosen is None:
            return
        overhead = chosen.get("overhead")
        if overhead is not None:
            self._set_overhead(attributes, pod, overhead.get("podFixed") or {})
        scheduling = chosen.get("scheduling")
        if scheduling is not None:
            self._set_scheduling(attributes, pod, scheduling)

    @staticmethod
    def _set_overhead(attributes: Attributes, pod: Object, fixed: Object) -> None:
        given = pod["spec"].get("overhead")
        if given is not None and not _same(given, fixed):
            raise denied(
                attributes,
                "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
            )
        if fixed:
            put(pod, "spec", POD_SPEC, overhead=dict(fixed))

    @staticmethod
    def _set_scheduling(attributes: Attributes, pod: Object, scheduling: Object) -> None:
        selector = dict(pod["spec"].get("nodeSelector") or {})
        for key, value in sorted((scheduling.get("nodeSelector") or {}).items()):
            if selector.get(key, value) != value:
                raise denied(
                    attributes,
                    f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                    f"pod.spec.nodeSelector[{key}] = {selector[key]}",
                )
            selector[key] = value
        tolerations = list(pod["spec"].get("tolerations") or ())
        tolerations += [
            each for each in scheduling.get("tolerations") or () if each not in tolerations
        ]
        values: Object = {}
        if selector:
            values["nodeSelector"] = dict(sorted(selector.items()))
        if tolerations:
            values["tolerations"] = tolerations
        put(pod, "spec", POD_SPEC, **values)

    async def validate(self, attributes: Attributes) -> None:
        """Overhead comes from a class, never from a client alone."""
        pod = about(attributes, PODS)
        if pod is None:
            return
        overhead = pod["spec"].get("overhead")
        if not overhead:
            return
        chosen = await self._class_of(attributes, pod)
        if chosen is None or chosen.get("overhead") is None:
            raise denied(
                attributes,
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined "
                "Overhead",
            )
