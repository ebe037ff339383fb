"""Writes to the status of pods.

Source: "Pod Lifecycle" and the PodStatus of the API reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.addresses import ip_check, is_dual_stack
from kubetrio.kinds.common.checks import IMMUTABLE, Causes, Json
from kubetrio.kinds.common.formats import LABEL, QUALIFIED, SUBDOMAIN, user_id
from kubetrio.machinery.fielderrors import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from kubetrio.machinery.names_validation import byte_length

_SYSTEM_CONDITIONS = frozenset({"PodScheduled", "Ready", "Initialized"})
_HEALTHS = ("Healthy", "Unhealthy", "Unknown")
_LISTS = (
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
)
_MAX_MESSAGE = 1024
_MAPPING = ("containerName", "resourceName", "requestName")
_NO_CONTAINER = (
    "must match the name of an entry in spec.initContainers.name or spec.containers.name"
)
_NO_RESOURCE = (
    "must match the extended resource name of an entry in "
    "spec.initContainers.resources.requests or spec.containers.resources.requests"
)
_ONE_EACH = "may specify no more than one IP for each IP family"


def update_status(new: Json, old: Json, out: Causes) -> None:
    """Check a write to ``status`` of a pod.

    Args:
        new: the pod as it would be stored.
        old: the pod as it is stored.
        out: receives causes.
    """
    mine, theirs = new.get("status") or {}, old.get("status") or {}
    spec = old.get("spec") or {}
    _conditions(mine, out)
    if (new.get("spec") or {}).get("nodeName") != spec.get("nodeName"):
        out.append(forbidden("status.nodeName", "may not be changed directly"))
    nominated = mine.get("nominatedNodeName")
    if nominated and nominated != theirs.get("nominatedNodeName"):
        SUBDOMAIN(nominated, "status.nominatedNodeName", out)
        if spec.get("nodeName"):
            detail = "may not be set on pods that are already bound to a node"
            out.append(forbidden("status.nominatedNodeName", detail))
    _generation(mine, "status", out)
    if (mine.get("qosClass") or "") != (theirs.get("qosClass") or ""):
        out.append(invalid("status.qosClass", mine.get("qosClass") or "", IMMUTABLE))
    for name, containers in _LISTS:
        _transitions(mine, theirs, name, (spec, containers), out)
    _claims(mine, new.get("spec") or {}, out)
    if (extended := mine.get("extendedResourceClaimStatus")) is not None:
        _extended_claim(extended, new.get("spec") or {}, out)
    _addresses(mine, theirs, "podIPs", out)
    _host_addresses(mine, theirs, out)
    windows = (spec.get("os") or {}).get("name") == "windows"
    for name, containers in _LISTS:
        statuses = mine.get(name) or ()
        _users(statuses, f"status.{name}", out, windows)
        _devices(statuses, f"status.{name}", out, (spec.get(containers) or (), name[:1] == "e"))


def _generation(holder: Mapping[str, Any], path: str, out: Causes) -> None:
    seen = holder.get("observedGeneration") or 0
    if seen < 0:
        out.append(invalid(f"{path}.observedGeneration", seen, "must be a non-negative integer"))


def _conditions(status: Json, out: Causes) -> None:
    for index, condition in enumerate(status.get("conditions") or ()):
        where = f"status.conditions[{index}]"
        _generation(condition, where, out)
        kind = condition.get("type") or ""
        if kind not in _SYSTEM_CONDITIONS:
            QUALIFIED(kind, f"{where}.Type", out)


_Spec = tuple[Mapping[str, Any], str]


def _all_may_restart(spec: Mapping[str, Any]) -> bool:
    """Whether the end of some container may restart all of them (KEP-5532)."""
    return any(
        rule.get("action") == "RestartAllContainers"
        for name in ("containers", "initContainers")
        for container in spec.get(name) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _restarts(container: Json, code: int, policy: str) -> bool:
    """Whether a container starts again after it ended with a code (KEP-5307)."""
    own = container.get("restartPolicy")
    for rule in container.get("restartPolicyRules") or () if own is not None else ():
        codes = rule.get("exitCodes")
        if codes is not None and (code in (codes.get("values") or ())) == (
            codes.get("operator") == "In"
        ):
            if rule.get("action") == "Restart":
                return True
            break
    policy = own or policy
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _may_restart(name: str, code: int, spec: Mapping[str, Any], containers: str) -> bool:
    if _all_may_restart(spec):
        return True
    for container in spec.get(containers) or ():
        if container.get("name") == name:
            return _restarts(container, code, spec.get("restartPolicy") or "Always")
    return False


def _transitions(mine: Json, theirs: Json, name: str, spec: _Spec, out: Causes) -> None:
    """Containers that ended for good do not start again."""
    ephemeral = name == "ephemeralContainerStatuses"
    after = {item.get("name"): item for item in mine.get(name) or ()}
    for index, status in enumerate(theirs.get(name) or ()):
        ended = (status.get("state") or {}).get("terminated")
        if ended is None:
            continue
        code = ended.get("exitCode") or 0
        if not ephemeral and _may_restart(status.get("name") or "", code, *spec):
            continue
        now = after.get(status.get("name"))
        if now is not None and (now.get("state") or {}).get("terminated") is None:
            detail = "may not be transitioned to non-terminated state"
            out.append(forbidden(f"status.{name}[{index}].state", detail))


def _claims(status: Json, spec: Json, out: Causes) -> None:
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for index, item in enumerate(status.get("resourceClaimStatuses") or ()):
        where = f"status.resourceClaimStatuses[{index}]"
        name = item.get("name") or ""
        if name not in known:
            detail = "must match the name of an entry in `spec.resourceClaims`"
            out.append(invalid(f"{where}.name", name, detail))
        if name in seen:
            out.append(duplicate(f"{where}.name", name))
        seen.add(name)
        if item.get("resourceClaimName") is not None:
            SUBDOMAIN(item["resourceClaimName"], f"{where}.resourceClaimName", out)


def _extended_claim(status: Json, spec: Json, out: Causes) -> None:
    """The claim made for extended resources names what containers asked for (KEP-5004)."""
    path = "status.extendedResourceClaimStatus"
    mappings = status.get("requestMappings") or ()
    if not mappings:
        out.append(required(f"{path}.requestMappings", "at least one request mapping is required"))
    asked = {
        container.get("name") or "": (container.get("resources") or {}).get("requests") or {}
        for name in ("initContainers", "containers")
        for container in spec.get(name) or ()
    }
    seen: set[tuple[str, ...]] = set()
    for index, item in enumerate(mappings):
        where = f"{path}.requestMappings[{index}]"
        key = tuple(item.get(name) or "" for name in _MAPPING)
        container, resource, request = key
        if container not in asked:
            out.append(invalid(f"{where}.containerName", container, _NO_CONTAINER))
        elif resource not in asked[container]:
            out.append(invalid(f"{where}.resourceName", resource, _NO_RESOURCE))
        # kube-apiserver leaves the index out of this path
        LABEL(request, f"{path}.requestName", out)
        if key in seen:
            out.extend(
                duplicate(f"{where}.{name}", text) for name, text in zip(_MAPPING, key, strict=True)
            )
        seen.add(key)
    if name := status.get("resourceClaimName"):
        SUBDOMAIN(name, f"{path}.resourceClaimName", out)
    else:
        out.append(required(f"{path}.resourceClaimName"))


def _texts(status: Json, name: str) -> list[str]:
    return [item.get("ip") or "" for item in status.get(name) or ()]


def _addresses(status: Json, old: Json, name: str, out: Causes) -> None:
    texts = _texts(status, name)
    check = ip_check(_texts(old, name))
    for index, text in enumerate(texts):
        check(text, f"status.{name}[{index}]", out)
    if len(texts) > 1 and (not is_dual_stack(texts) or len(texts) > 2):
        shown = [{"IP": text} for text in texts]
        out.append(invalid(f"status.{name}", shown, _ONE_EACH))


def _host_addresses(status: Json, old: Json, out: Causes) -> None:
    items = status.get("hostIPs") or []
    if items and (status.get("hostIP") or "") != (items[0].get("ip") or ""):
        first = items[0].get("ip") or ""
        out.append(invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
    _addresses(status, old, "hostIPs", out)


def _users(statuses: Sequence[Json], path: str, out: Causes, windows: bool) -> None:
    for index, status in enumerate(statuses):
        linux = (status.get("user") or {}).get("linux")
        if linux is None:
            continue
        where = f"{path}[{index}].user.linux"
        if windows:
            out.append(forbidden(where, "cannot be set for a windows pod"))
            continue
        numbers = [("uid", linux.get("uid") or 0), ("gid", linux.get("gid") or 0)]
        groups = linux.get("supplementalGroups") or ()
        numbers += [(f"supplementalGroups[{at}]", gid) for at, gid in enumerate(groups)]
        for name, number in numbers:
            out.extend(invalid(f"{where}.{name}", number, text) for text in user_id(number))


_Containers = tuple[Sequence[Json], bool]
"""Containers of a list, and whether they are ephemeral."""


def _devices(statuses: Sequence[Json], path: str, out: Causes, where: _Containers) -> None:
    containers, ephemeral = where
    by_name = {container.get("name"): container for container in containers}
    for index, status in enumerate(statuses):
        allocated = status.get("allocatedResourcesStatus") or ()
        at = f"{path}[{index}].allocatedResourcesStatus"
        if allocated and ephemeral:
            out.append(forbidden(at, "must not be specified in container status"))
            continue
        container = by_name.get(status.get("name"))
        for number, item in enumerate(allocated):
            if container is not None:
                _allocated(item, container, f"{at}[{number}]", out)
            _health(item, f"{at}[{number}]", out)


def _allocated(item: Json, container: Json, path: str, out: Causes) -> None:
    name = item.get("name") or ""
    resources = container.get("resources") or {}
    if name.startswith("claim:"):
        known = {
            f"claim:{claim.get('name') or ''}"
            + (f"/{claim['request']}" if claim.get("request") else "")
            for claim in resources.get("claims") or ()
        }
        detail = (
            "must match one of the container's resource claims in a format "
            "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
        )
    else:
        known = set(resources.get("requests") or ())
        detail = "must match one of the container's resource requests"
    if name not in known:
        out.append(invalid(f"{path}.name", name, detail))


def _health(item: Json, path: str, out: Causes) -> None:
    seen: set[str] = set()
    for index, resource in enumerate(item.get("resources") or ()):
        where = f"{path}.resources[{index}]"
        health, identity = resource.get("health") or "", resource.get("resourceID") or ""
        if health not in _HEALTHS:
            out.append(not_supported(f"{where}.health", health, _HEALTHS))
        if (message := resource.get("message")) is not None:
            if not message:
                out.append(required(f"{where}.message", "must be non-empty if specified"))
            elif byte_length(message) > _MAX_MESSAGE:
                out.append(too_long(f"{where}.message", _MAX_MESSAGE))
        if identity in seen:
            out.append(duplicate(f"{where}.resourceID", identity))
        seen.add(identity)
