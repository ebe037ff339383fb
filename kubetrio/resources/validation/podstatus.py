"""Writes to the status of pods.

Source: "Pod Lifecycle" and the PodStatus of the API reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.machinery.fielderrors import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
)
from kubetrio.resources.validation.addresses import IP, is_dual_stack
from kubetrio.resources.validation.formats import QUALIFIED, SUBDOMAIN, user_id
from kubetrio.resources.validation.library import IMMUTABLE, Causes, Json

_SYSTEM_CONDITIONS = frozenset({"PodScheduled", "Ready", "Initialized"})
_HEALTHS = ("Healthy", "Unhealthy", "Unknown")
_LISTS = (
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
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
    for index, condition in enumerate(mine.get("conditions") or ()):
        kind = condition.get("type") or ""
        if kind not in _SYSTEM_CONDITIONS:
            QUALIFIED(kind, f"metadata.conditions[{index}].Type", out)
    if (new.get("spec") or {}).get("nodeName") != spec.get("nodeName"):
        out.append(forbidden("status.nodeName", "may not be changed directly"))
    nominated = mine.get("nominatedNodeName")
    if nominated and nominated != theirs.get("nominatedNodeName"):
        SUBDOMAIN(nominated, "status.nominatedNodeName", out)
    if (mine.get("qosClass") or "") != (theirs.get("qosClass") or ""):
        out.append(invalid("status.qosClass", mine.get("qosClass") or "", IMMUTABLE))
    for name, containers in _LISTS:
        _transitions(mine, theirs, name, (spec, containers), out)
    _claims(mine, new.get("spec") or {}, out)
    _addresses(mine, "podIPs", out)
    _host_addresses(mine, out)
    windows = (spec.get("os") or {}).get("name") == "windows"
    for name, containers in _LISTS:
        statuses = mine.get(name) or ()
        _users(statuses, f"status.{name}", out, windows)
        _devices(statuses, f"status.{name}", out, (spec.get(containers) or (), name[:1] == "e"))


_Spec = tuple[Mapping[str, Any], str]


def _may_restart(name: str, code: int, spec: Mapping[str, Any], containers: str) -> bool:
    for container in spec.get(containers) or ():
        if container.get("name") == name:
            if container.get("restartPolicyRules") or container.get("restartPolicy") == "Always":
                return True
            policy = container.get("restartPolicy") or spec.get("restartPolicy")
            return bool(policy == "Always" or (policy == "OnFailure" and code))
    policy = spec.get("restartPolicy")
    return bool(policy == "Always" or (policy == "OnFailure" and code))


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
        where = f"status.resourceClaimStatuses[{index}].name"
        name = item.get("name") or ""
        if name not in known:
            detail = "must match the name of an entry in `spec.resourceClaims`"
            out.append(invalid(where, name, detail))
        if name in seen:
            out.append(duplicate(where, name))
        seen.add(name)
        if item.get("resourceClaimName") is not None:
            SUBDOMAIN(item["resourceClaimName"], where, out)


def _addresses(status: Json, name: str, out: Causes) -> None:
    items = status.get(name) or []
    texts = [item.get("ip") or "" for item in items]
    for index, text in enumerate(texts):
        IP(text, f"status.{name}[{index}]", out)
    if len(texts) < 2:
        return
    shown = [{"IP": text} for text in texts]
    if not is_dual_stack(texts) or len(texts) > 2:
        out.append(invalid(f"status.{name}", shown, _ONE_EACH))
    for index, text in enumerate(texts):
        if text in texts[:index]:
            out.append(duplicate(f"status.{name}[{index}]", shown[index]))


def _host_addresses(status: Json, out: Causes) -> None:
    items = status.get("hostIPs") or []
    if items and (status.get("hostIP") or "") != (items[0].get("ip") or ""):
        first = items[0].get("ip") or ""
        out.append(invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
    _addresses(status, "hostIPs", out)


def _users(statuses: Sequence[Json], path: str, out: Causes, windows: bool) -> None:
    for index, status in enumerate(statuses):
        linux = (status.get("user") or {}).get("linux")
        if linux is None:
            continue
        where = f"{path}[{index}].linux"
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
        if identity in seen:
            out.append(duplicate(f"{where}.resourceID", identity))
        seen.add(identity)
