"""What objects count for in resource quotas, and which quotas they count for.

Source: docs "Resource Quotas" (compute, storage, object count, scopes).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubetrio.kinds.core.podresources import of_pod, total_with_overhead
from kubetrio.machinery import quantity
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.quantity import Quantity

Object = dict[str, Any]
Amounts = dict[str, Quantity]

ONE, ZERO = quantity.parse("1"), quantity.parse("0")
PODS = GroupResource("", "pods")
SERVICES = GroupResource("", "services")
CLAIMS = GroupResource("", "persistentvolumeclaims")
DEVICE_CLAIMS = GroupResource("resource.k8s.io", "resourceclaims")
# Counted under their plain name too, as they were before every resource could be.
PLAIN = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
    }
)
COMPUTE = ("cpu", "memory", "ephemeral-storage")
EXPLICIT = frozenset(
    {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)
STORAGE_CLASS = ".storageclass.storage.k8s.io/"
DEVICES = ".deviceclass.resource.k8s.io/devices"
MOST_DEVICES = 32  # that can be allocated to one request: what asks for all may get as many
OLD_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"


def count_name(resource: GroupResource) -> str:
    """The name under which objects of a resource are counted."""
    return f"count/{resource}"


def _compute(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> Amounts:
    used: Amounts = {}
    for name, value in requests.items():
        if name in COMPUTE or name.startswith("hugepages-"):
            used[name] = used[f"requests.{name}"] = value
        elif "/" in name:
            used[f"requests.{name}"] = value
    for name, value in limits.items():
        if name in COMPUTE:
            used[f"limits.{name}"] = value
    return used


def _pod(pod: Object) -> Amounts:
    used = {count_name(PODS): ONE}
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return used
    spec = pod["spec"]
    used.update(
        _compute(total_with_overhead(spec, "requests"), total_with_overhead(spec, "limits"))
    )
    used["pods"] = ONE
    return used


def _service(service: Object) -> Amounts:
    used = {count_name(SERVICES): ONE, "services": ONE}
    spec = service.get("spec") or {}
    ports = quantity.parse(str(len(spec.get("ports") or ())))
    given = sum(1 for port in spec.get("ports") or () if port.get("nodePort"))
    match spec.get("type"):
        case "NodePort":
            used["services.nodeports"] = ports
        case "LoadBalancer":
            used["services.loadbalancers"] = ONE
            free = spec.get("allocateLoadBalancerNodePorts") is False
            used["services.nodeports"] = quantity.parse(str(given)) if free else ports
    return used


def _claim(claim: Object) -> Amounts:
    name = "persistentvolumeclaims"
    spec = claim.get("spec") or {}
    notes = (claim.get("metadata") or {}).get("annotations") or {}
    used = {count_name(CLAIMS): ONE, name: ONE}
    kind = notes.get(OLD_STORAGE_CLASS) or spec.get("storageClassName")
    if kind:
        used[f"{kind}{STORAGE_CLASS}{name}"] = ONE
    storage = _storage(claim)
    if storage is not None:
        used["requests.storage"] = storage
        if kind:
            used[f"{kind}{STORAGE_CLASS}requests.storage"] = storage
    return used


def _device_claim(claim: Object) -> Amounts:
    """Devices by class; of alternatives the most that each class may have to give."""
    used = {count_name(DEVICE_CLAIMS): ONE}
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        most: dict[str, int] = {}
        exactly = request.get("exactly")
        for one in request.get("firstAvailable") or ([] if exactly is None else [exactly]):
            name = f"{one.get('deviceClassName') or ''}{DEVICES}"
            most[name] = max(most.get(name, 0), _devices(one))
        for name, count in most.items():
            used[name] = used.get(name, ZERO) + quantity.parse(str(count))
    return used


def _devices(request: Object) -> int:
    """How many devices a request may get; none in a mode that is not known."""
    match request.get("allocationMode"):
        case "ExactCount":
            return int(request.get("count") or 0)
        case "All":
            return MOST_DEVICES
    return 0


def _storage(claim: Object) -> Quantity | None:
    """What a claim asks for, or what it was given already if that is more; whole bytes."""
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    asked = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if asked is None:
        return None
    given = (status.get("allocatedResources") or {}).get("storage", asked)
    storage = max(quantity.from_json(asked), quantity.from_json(given))
    whole = quantity.parse(str(storage.value()))
    return storage if storage == whole else whole


def attributes_classes(claim: Object) -> set[str]:
    """The volume attributes classes that a claim names: wanted, in use, and on the way."""
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    named = (
        spec.get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return {name for name in named if name}


def usage(resource: GroupResource, obj: Object) -> Amounts:
    """What one object counts for."""
    if resource == PODS:
        return _pod(obj)
    if resource == SERVICES:
        return _service(obj)
    if resource == CLAIMS:
        return _claim(obj)
    if resource == DEVICE_CLAIMS:
        return _device_claim(obj)
    used = {count_name(resource): ONE}
    if not resource.group and resource.resource in PLAIN:
        used[resource.resource] = ONE
    return used


def counts_otherwise(resource: GroupResource, new: Object, old: Object) -> bool:
    """Whether an object counts for something else after an update, or for other quotas."""
    if usage(resource, new) != usage(resource, old):
        return True
    if resource == PODS:
        return terminates(new) != terminates(old)
    return resource == CLAIMS and attributes_classes(new) != attributes_classes(old)


def resource_of(name: str) -> GroupResource | None:
    """The resource whose objects count under a name of a quota, None for unknown names."""
    if name.startswith("count/"):
        plural, _, group = name.removeprefix("count/").partition(".")
        return GroupResource(group, plural)
    if name in PLAIN:
        return GroupResource("", name)
    if name.startswith("services."):
        return SERVICES
    if name == "requests.storage" or STORAGE_CLASS in name:
        return CLAIMS
    if name.endswith(DEVICES):
        return DEVICE_CLAIMS
    plain = name.removeprefix("requests.").removeprefix("limits.")
    known = plain in COMPUTE or plain.startswith("hugepages-") or name.startswith("requests.")
    return PODS if known else None


def concerned(resource: GroupResource, names: Iterable[str]) -> list[str]:
    """Those names of a quota under which a resource counts."""
    return sorted(name for name in names if resource_of(name) == resource)


def missing_requests(pod: Object, names: Iterable[str]) -> str:
    """What containers must say because a quota counts it; empty when nothing is missing.

    Containers of a pod that says something itself need not.
    """
    needed = sorted(EXPLICIT.intersection(names))
    missing: dict[str, set[str]] = {}
    spec = pod["spec"]
    if _says_itself(spec):
        return ""
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        requests = dict.fromkeys(resources.get("requests") or (), ZERO)
        requested = _compute(requests, dict.fromkeys(resources.get("limits") or (), ZERO))
        for name in needed:
            if name not in requested:
                missing.setdefault(name, set()).add(container["name"])
    if not missing:
        return ""
    texts = [f"{name} for: {','.join(sorted(missing[name]))}" for name in needed if name in missing]
    return f"must specify {'; '.join(texts)}"


def terminates(pod: Object) -> bool:
    """Whether a pod has a time by which it is over."""
    return pod["spec"].get("activeDeadlineSeconds") is not None


def _claim_in_scope(claim: Object, scope: str, operator: str, values: Sequence[str]) -> bool:
    if scope != "VolumeAttributesClass":
        return False
    names = attributes_classes(claim)
    if operator == "Exists":
        return bool(names)
    return any(_selected(name, operator, values) for name in names or {""})


def _in_scope(pod: Object, scope: str, operator: str, values: Sequence[str]) -> bool:
    spec = pod["spec"]
    match scope:
        case "Terminating":
            return terminates(pod)
        case "NotTerminating":
            return not terminates(pod)
        case "BestEffort":
            return _best_effort(pod)
        case "NotBestEffort":
            return not _best_effort(pod)
        case "PriorityClass":
            return _selected(spec.get("priorityClassName") or "", operator, values)
        case "CrossNamespacePodAffinity":
            return _crosses_namespaces(spec)
    return False


def _says_itself(spec: Object) -> bool:
    """Whether a pod has requests or limits beside those of its containers."""
    if not spec.get("resources"):
        return False
    return bool(of_pod(spec, "requests") or of_pod(spec, "limits"))


def _best_effort(pod: Object) -> bool:
    if quality := (pod.get("status") or {}).get("qosClass"):
        return bool(quality == "BestEffort")
    spec = pod["spec"]
    return not _says_itself(spec) and not any(
        (each.get("resources") or {}).get(member)
        for each in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
        for member in ("requests", "limits")
    )


def _selected(value: str, operator: str, values: Sequence[str]) -> bool:
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "DoesNotExist":
            return not value
    return bool(value)


def _crosses_namespaces(spec: Object) -> bool:
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        part = affinity.get(kind) or {}
        terms = list(part.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        terms += [
            weighted["podAffinityTerm"]
            for weighted in part.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        ]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None
               for term in terms):  # fmt: skip
            return True
    return False


_SCOPES = {PODS: _in_scope, CLAIMS: _claim_in_scope}


Scope = tuple[str, str, tuple[str, ...]]
"""A scope's name, its operator and its values."""


def scopes_of(quota: Object) -> list[Scope]:
    """The scopes of a quota."""
    spec = quota.get("spec") or {}
    scopes: list[Scope] = [(name, "Exists", ()) for name in spec.get("scopes") or ()]
    return scopes + [
        scope_of(each) for each in (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    ]


def scope_of(requirement: Object) -> Scope:
    """A scope as a selector names it."""
    values = tuple(requirement.get("values") or ())
    return requirement["scopeName"], requirement.get("operator") or "", values


def in_scope(resource: GroupResource, obj: Object, scope: Scope) -> bool:
    """Whether an object is in a scope; only pods and claims are in any."""
    tells = _SCOPES.get(resource)
    return tells is not None and tells(obj, *scope)


def counts_for(resource: GroupResource, obj: Object, quota: Object) -> bool:
    """Whether an object is in the scopes of a quota."""
    return all(in_scope(resource, obj, scope) for scope in scopes_of(quota))


def printed(amounts: Mapping[str, Quantity]) -> str:
    """Amounts as messages print them."""
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))
