"""Priority: a pod's priority class becomes numbers.

Source: docs "Pod Priority and Preemption"; KEP-268, KEP-902.
"""

from __future__ import annotations

from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.plugin import POD_SPEC, Base, about, denied, put
from kubetrio.machinery.names import GroupResource
from kubetrio.schema.wellknown import POD_RESOURCE as PODS

Object = dict[str, Any]
CLASSES = GroupResource("scheduling.k8s.io", "priorityclasses")
COLLECTION = "priorityclasses"
SYSTEM = frozenset({"system-cluster-critical", "system-node-critical"})


class Priority(Base):
    """The plugin.

    Args:
        lookup: reads priority classes.
    """

    name = "Priority"
    resources = frozenset({PODS, CLASSES})
    operations = frozenset({Operation.CREATE, Operation.UPDATE, Operation.DELETE})

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def mutate(self, attributes: Attributes) -> None:
        """Resolve the class of a pod; keep what was resolved when a client leaves it out."""
        pod = about(attributes, PODS)
        if pod is None:
            return
        if attributes.operation is Operation.CREATE:
            await self._resolve(attributes, pod)
        elif attributes.operation is Operation.UPDATE:
            was = (attributes.old or {}).get("spec") or {}
            kept = {
                name: was[name]
                for name in ("priority", "preemptionPolicy")
                if was.get(name) is not None and pod["spec"].get(name) is None
            }
            if kept:
                put(pod, "spec", POD_SPEC, **kept)

    async def _resolve(self, attributes: Attributes, pod: Object) -> None:
        spec = pod["spec"]
        class_name = spec.get("priorityClassName") or ""
        chosen: Object | None
        if class_name:
            chosen = (await self._lookup.all(COLLECTION)).get(class_name)
            if chosen is None:
                raise denied(attributes, f"no PriorityClass with name {class_name} was found")
        else:
            chosen = await self._default()
        values: Object = {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
        if chosen is not None:
            values["priority"] = chosen.get("value") or 0
            values["preemptionPolicy"] = chosen.get("preemptionPolicy")
            values["priorityClassName"] = chosen["metadata"]["name"]
        self._compare(attributes, spec, values)
        put(pod, "spec", POD_SPEC, **{k: v for k, v in values.items() if v is not None})

    @staticmethod
    def _compare(attributes: Attributes, spec: Object, values: Object) -> None:
        computed = "must not be provided in pod spec; priority admission controller computed"
        given, right = spec.get("priority"), values["priority"]
        if given is not None and given != right:
            raise denied(
                attributes,
                f"the integer value of priority ({given}) {computed} {right} from the given "
                "PriorityClass name",
            )
        policy, right = spec.get("preemptionPolicy"), values["preemptionPolicy"]
        if policy is not None and right is not None and policy != right:
            raise denied(
                attributes,
                f"the string value of PreemptionPolicy ({policy}) {computed} {right} from the "
                "given PriorityClass name",
            )

    async def _default(self) -> Object | None:
        """The global default; of several, that of the lowest value."""
        marked = [
            each
            for each in (await self._lookup.all(COLLECTION)).values()
            if each.get("globalDefault")
        ]
        return min(marked, key=lambda each: int(each.get("value") or 0), default=None)

    async def validate(self, attributes: Attributes) -> None:
        """One global default at most; the system's classes stay."""
        if attributes.resource.group_resource != CLASSES:
            return
        if attributes.operation is Operation.DELETE:
            if attributes.name in SYSTEM:
                why = "this is a system priority class and cannot be deleted"
                raise denied(attributes, why)
            return
        if not (attributes.obj or {}).get("globalDefault"):
            return
        default = await self._default()
        if default is None:
            return
        name = default["metadata"]["name"]
        if attributes.operation is Operation.CREATE or name != attributes.name:
            raise denied(
                attributes,
                f"PriorityClass {name} is already marked as default. Only one default can exist",
            )
