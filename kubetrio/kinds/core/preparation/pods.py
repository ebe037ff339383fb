"""Pods: status of a new pod, selectors completed from its labels, AppArmor, subresources.

Source: docs "Pod Quality of Service Classes", "Pod Scheduling Readiness", KEP-3633 and KEP-3243
(label keys of affinity and of topology spread), KEP-24 (AppArmor).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubetrio.kinds.common.defaulters import ordered
from kubetrio.kinds.common.metadata import copy_member, keep_metadata_of_stored
from kubetrio.kinds.core.amounts import qos_class
from kubetrio.schema.rules import Context, Json

_CORE = "io.k8s.api.core.v1."
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_LOCALHOST = "localhost/"
_MAX_PROFILE = 4096


def create(pod: Json, context: Context) -> None:
    """A new pod is pending."""
    spec = pod["spec"]
    status: Json = {"phase": "Pending"}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": context.now,
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    status["qosClass"] = qos_class(spec)
    pod["status"] = status
    labels = (pod.get("metadata") or {}).get("labels") or {}
    for term in _selecting_terms(spec):
        _merge_keys(term, labels)
    _sync_apparmor(pod)


def _selecting_terms(spec: Json) -> Iterator[Json]:
    """Everything in a pod that selects other pods."""
    affinity = spec.get("affinity") or {}
    for name in ("podAffinity", "podAntiAffinity"):
        side = affinity.get(name) or {}
        for weighted in side.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted["podAffinityTerm"]
        yield from side.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    yield from spec.get("topologySpreadConstraints") or ()


def _merge_keys(term: Json, labels: Json) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for name, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(name) or ():
            if key in labels:
                requirement = {"key": key, "operator": operator, "values": [labels[key]]}
                selector["matchExpressions"] = [
                    *(selector.get("matchExpressions") or ()),
                    requirement,
                ]


def _sync_apparmor(pod: Json) -> None:
    """Old annotations become fields, where a container has no profile of its own."""
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    spec = pod["spec"]
    if (spec.get("os") or {}).get("name") == "windows":
        return
    if not any(key.startswith(_APPARMOR) for key in annotations):
        return
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(group) or ():
            profile = _profile(annotations.get(_APPARMOR + container.get("name", "")))
            security = container.get("securityContext") or {}
            if profile and profile != of_pod and not security.get("appArmorProfile"):
                security["appArmorProfile"] = profile
                container["securityContext"] = ordered(f"{_CORE}SecurityContext", security)
                type_name = "EphemeralContainer" if group[0] == "e" else "Container"
                members = ordered(_CORE + type_name, container)
                container.clear()
                container.update(members)


def _profile(annotation: str | None) -> Json | None:
    """The profile an annotation means; None for what is no profile."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    if annotation and annotation.startswith(_LOCALHOST):
        name = annotation.removeprefix(_LOCALHOST)
        if name and name == name.strip() and len(name) <= _MAX_PROFILE:
            return {"type": "Localhost", "localhostProfile": name}
    return None


def update(new: Json, old: Json, _: Context, subresource: str) -> None:
    """Keep what a subresource may not write."""
    if subresource == "status":
        _update_status(new, old)
    elif subresource == "ephemeralcontainers":
        given = new["spec"].get("ephemeralContainers")
        spec = {key: value for key, value in old["spec"].items() if key != "ephemeralContainers"}
        if given:
            spec["ephemeralContainers"] = given
        new["spec"] = ordered(f"{_CORE}PodSpec", spec)
        _keep_rest(new, old)
    elif subresource == "resize":
        _resize(new, old)


def _keep_rest(new: Json, old: Json) -> None:
    copy_member(new, old, "status")
    keep_metadata_of_stored(new, old)
    if new["spec"] != old["spec"]:
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _update_status(new: Json, old: Json) -> None:
    for name in ("deletionTimestamp", "ownerReferences"):
        copy_member(new["metadata"], old["metadata"], name)
    status, was = new.get("status") or {}, old.get("status") or {}
    for name in ("qosClass", "observedGeneration"):
        if not status.get(name) and was.get(name):
            status[name] = was[name]
    known: dict[str, list[int]] = {}
    for condition in was.get("conditions") or ():
        seen = condition.get("observedGeneration", 0)
        known.setdefault(condition.get("type", ""), []).append(seen)
    conditions = []
    for condition in status.get("conditions") or ():
        generations = known.get(condition.get("type", ""))
        seen = generations.pop(0) if generations else 0
        if seen and not condition.get("observedGeneration"):
            condition = ordered(f"{_CORE}PodCondition", {**condition, "observedGeneration": seen})
        conditions.append(condition)
    if conditions:
        status["conditions"] = conditions
    new["status"] = ordered(f"{_CORE}PodStatus", status)


_RESIZED = ("resources", "resizePolicy")


def _resize(new: Json, old: Json) -> None:
    """Only resources change; containers that come and go are left for validation to refuse."""
    spec = dict(old["spec"])
    for group in ("containers", "initContainers"):
        given, stored = new["spec"].get(group) or [], old["spec"].get(group) or []
        if [item.get("name") for item in given] != [item.get("name") for item in stored]:
            if len(given) != len(stored):
                return
            spec[group] = given
            continue
        if stored:
            spec[group] = [_resized(one, other) for one, other in zip(given, stored, strict=True)]
    copy_member(spec, new["spec"], "resources")
    new["spec"] = ordered(f"{_CORE}PodSpec", spec)
    _keep_rest(new, old)


def _resized(given: Json, stored: Json) -> Json:
    merged = dict(stored)
    for name in _RESIZED:
        copy_member(merged, given, name)
    return ordered(f"{_CORE}Container", merged)
