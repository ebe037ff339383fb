"""LimitRanger: a namespace's limits for one container, pod or claim.

Source: docs "Limit Ranges".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.plugin import Base, denied, put
from kubetrio.gotext.text import aggregate
from kubetrio.kinds.core.podresources import total
from kubetrio.machinery import quantity
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.quantity import Quantity
from kubetrio.schema.wellknown import POD_RESOURCE as PODS

Object = dict[str, Any]
CLAIMS = GroupResource("", "persistentvolumeclaims")
NOTE = "kubernetes.io/limit-ranger"
CONTAINER = "io.k8s.api.core.v1.Container"
RESOURCES = "io.k8s.api.core.v1.ResourceRequirements"

Amounts = Mapping[str, Quantity]


def fill_in(pod: Object, limit_range: Object) -> None:
    """Give containers the defaults of a limit range; changes the pod."""
    defaults: dict[str, Object] = {"limits": {}, "requests": {}}
    for limit in limit_range["spec"].get("limits") or ():
        if limit["type"] == "Container":
            defaults["limits"].update(limit.get("default") or {})
            defaults["requests"].update(limit.get("defaultRequest") or {})
    notes: list[str] = []
    spec = dict(pod["spec"])
    for member, word in (("containers", "container"), ("initContainers", "init container")):
        if spec.get(member):
            spec[member] = [_filled(container, defaults, word, notes) for container in spec[member]]
    if notes:
        pod["spec"] = spec
        meta = pod["metadata"]
        text = f"LimitRanger plugin set: {'; '.join(notes)}"
        meta["annotations"] = dict(sorted({**(meta.get("annotations") or {}), NOTE: text}.items()))


def _filled(container: Object, defaults: dict[str, Object], word: str, notes: list[str]) -> Object:
    resources = dict(container.get("resources") or {})
    added: dict[str, list[str]] = {}
    for member, values in defaults.items():
        present = resources.get(member) or {}
        missing = sorted(key for key in values if key not in present)
        if missing:
            added[member] = missing
            merged = {**present, **{key: values[key] for key in missing}}
            resources[member] = dict(sorted(merged.items()))
    if not added:
        return container
    for member, noun in (("requests", "request"), ("limits", "limit")):
        if member in added:
            notes.append(f"{', '.join(added[member])} {noun} for {word} {container['name']}")
    holder = dict(container)
    put(holder, "resources", RESOURCES, **resources)
    filled = {"container": holder}
    put(filled, "container", CONTAINER)
    return filled["container"]


def _minimum(kind: str, name: str, low: Quantity, asked: Amounts, limit: Amounts) -> Iterator[str]:
    rule = f"minimum {name} usage per {kind} is {low}"
    if name not in asked:
        yield f"{rule}.  No request is specified"
    elif asked[name] < low:
        yield f"{rule}, but request is {asked[name]}"
    elif name in limit and limit[name] < low:
        yield f"{rule}, but limit is {limit[name]}"


def _maximum(kind: str, name: str, high: Quantity, asked: Amounts, limit: Amounts) -> Iterator[str]:
    rule = f"maximum {name} usage per {kind} is {high}"
    if name not in limit:
        yield f"{rule}.  No limit is specified"
    elif limit[name] > high:
        yield f"{rule}, but limit is {limit[name]}"
    elif name in asked and asked[name] > high:
        yield f"{rule}, but request is {asked[name]}"


def _ratio(kind: str, name: str, most: Quantity, asked: Amounts, limit: Amounts) -> Iterator[str]:
    rule = f"{name} max limit to request ratio per {kind} is {most}"
    if not asked.get(name):
        yield f"{rule}, but no request is specified or request is 0"
    elif not limit.get(name):
        yield f"{rule}, but no limit is specified or limit is 0"
    else:
        observed = limit[name].milli_value() / asked[name].milli_value()
        if observed * 1000 > most.milli_value():
            yield f"{rule}, but provided ratio is {observed:.6f}"


def _violations(limit: Object, asked: Amounts, allowed: Amounts) -> Iterator[str]:
    kind = limit["type"]
    for member, check in (
        ("min", _minimum),
        ("max", _maximum),
        ("maxLimitRequestRatio", _ratio),
    ):
        for name, value in sorted((limit.get(member) or {}).items()):
            yield from check(kind, name, quantity.from_json(value), asked, allowed)


def pod_violations(pod: Object, limit_range: Object) -> list[str]:
    """What of a limit range a pod violates, in the order of the limits."""
    problems: list[str] = []
    spec = pod["spec"]
    for limit in limit_range["spec"].get("limits") or ():
        if limit["type"] == "Container":
            for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
                resources = container.get("resources") or {}
                asked, allowed = (
                    quantity.amounts(resources.get(key)) for key in ("requests", "limits")
                )
                problems += _violations(limit, asked, allowed)
        elif limit["type"] == "Pod":
            problems += _violations(limit, total(spec, "requests"), total(spec, "limits"))
    return problems


def claim_violations(claim: Object, limit_range: Object) -> list[str]:
    """What of a limit range a claim violates."""
    resources = (claim.get("spec") or {}).get("resources") or {}
    asked = quantity.amounts(resources.get("requests"))
    problems: list[str] = []
    for limit in limit_range["spec"].get("limits") or ():
        if limit["type"] != "PersistentVolumeClaim":
            continue
        for name, value in sorted((limit.get("min") or {}).items()):
            problems += _minimum(limit["type"], name, quantity.from_json(value), asked, {})
        for name, value in sorted((limit.get("max") or {}).items()):
            high = quantity.from_json(value)
            rule = f"maximum {name} usage per {limit['type']} is {high}"
            if name not in asked:
                problems.append(f"{rule}.  No request is specified")
            elif asked[name] > high:
                problems.append(f"{rule}, but request is {asked[name]}")
    return problems


class LimitRanger(Base):
    """The plugin.

    Args:
        lookup: reads limit ranges.
    """

    name = "LimitRanger"
    resources = frozenset({PODS, CLAIMS})
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def _ranges(self, attributes: Attributes) -> list[Object]:
        """Limit ranges that matter for a write: containers of a pod change by resize only."""
        resource, creating = attributes.resource, attributes.operation is Operation.CREATE
        if resource.group_resource == PODS:
            if attributes.subresource != ("" if creating else "resize"):
                return []
        elif resource.group_resource != CLAIMS or attributes.subresource:
            return []
        return await self._lookup.of_namespace("limitranges", attributes.namespace)

    async def mutate(self, attributes: Attributes) -> None:
        """Fill in requests and limits of a new pod."""
        if attributes.resource.group_resource == PODS and attributes.obj is not None:
            for each in await self._ranges(attributes):
                fill_in(attributes.obj, each)

    async def validate(self, attributes: Attributes) -> None:
        """Refuse what is out of a range."""
        obj = attributes.obj
        if obj is None:
            return
        for each in await self._ranges(attributes):
            pods = attributes.resource.group_resource == PODS
            problems = pod_violations(obj, each) if pods else claim_violations(obj, each)
            if problems:
                raise denied(attributes, aggregate(problems))
