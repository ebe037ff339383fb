"""Scales: the number of replicas of a workload, read and written without the rest of it.

Source: docs "Workloads" (scale subresource); API reference of autoscaling/v1 Scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.replicapaths import replicas_at, steps_of, text_at, with_replicas
from kubetrio.kinds.parts import BUILTIN
from kubetrio.machinery import labels, objectmeta
from kubetrio.machinery.fielderrors import invalid as invalid_value
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.names_validation import dns1123_subdomain
from kubetrio.machinery.status import conflict, invalid
from kubetrio.schema.kind import Kind, ScalePaths

Object = dict[str, Any]

SCALE = Kind(
    group="autoscaling",
    version="v1",
    resource="scale",
    kind="Scale",
    singular="scale",
    namespaced=True,
    verbs=frozenset({"get", "update", "patch"}),
    schema_name="io.k8s.api.autoscaling.v1.Scale",
    builtin=True,
    parts=BUILTIN,
)
"""The type of scales, which are no resource with a path of their own."""

_USUAL: Mapping[str, tuple[str, ...]] = {}
_META = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def selector_text(obj: Object) -> str:
    """The selector of a workload as clients of a scale read it: the text of a label selector."""
    selector = (obj.get("spec") or {}).get("selector")
    if not selector:
        return ""
    if obj["kind"] == "ReplicationController":
        selector = {"matchLabels": selector}
    return str(labels.from_label_selector(selector))


def scale_of(obj: Object, paths: ScalePaths | None = None) -> Object:
    """The scale of a workload.

    Args:
        obj: the workload.
        paths: where it has what its scale shows, if it is a custom resource.

    Raises:
        ValueError: there is something else at a path.
    """
    replicas, actual, text = _numbers(obj) if paths is None else _numbers_at(obj, paths)
    status: Object = {"replicas": actual}
    if text:
        status["selector"] = text
    return {
        "kind": SCALE.kind,
        "apiVersion": SCALE.api_version,
        "metadata": {key: obj["metadata"][key] for key in _META if key in obj["metadata"]},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _numbers(obj: Object) -> tuple[int, int, str]:
    """Replicas wanted and there, and the selector."""
    wanted = (obj.get("spec") or {}).get("replicas") or 0
    return wanted, (obj.get("status") or {}).get("replicas") or 0, selector_text(obj)


def _numbers_at(obj: Object, paths: ScalePaths) -> tuple[int, int, str]:
    """The same of a custom resource.

    Raises:
        ValueError: there is something else at a path.
    """
    wanted, actual = replicas_at(obj, paths.wanted), replicas_at(obj, paths.actual)
    text = text_at(obj, paths.selector) if paths.selector else ""
    return UNSET if wanted is None else wanted, actual or 0, text


UNSET = -(1 << 31)
"""Replicas of a custom resource that does not say how many it wants."""
_REPLICAS: Object = {"f:spec": {"f:replicas": {}}}
_STEPS = ("spec", "replicas")
Places = Mapping[str, tuple[str, ...]]
"""Member names on the way to the replicas by ``apiVersion``; empty where that is the usual one."""


def places_of(resource: Kind) -> Places:
    """Where the versions of a custom resource have the number of replicas wanted."""
    if resource.builtin:
        return {}
    versions = [resource] if resource.family is None else resource.family.versions.values()
    found: dict[str, tuple[str, ...]] = {}
    for kind in versions:
        below = kind.subresources.get("scale")
        if below is not None and below.replicas is not None:
            found[kind.api_version] = steps_of(below.replicas.wanted)
    return found


def _identity(entry: Object) -> tuple[Any, ...]:
    return entry.get("manager"), entry.get("operation"), entry.get("subresource")


def _owns_replicas(entry: Object, places: Places = _USUAL) -> bool:
    steps = places.get(entry.get("apiVersion", "")) if places else _STEPS
    if steps is None:
        return False
    fields: Any = entry.get("fieldsV1")
    for step in steps:
        fields = (fields or {}).get(f"f:{step}")
    return fields is not None


def _without(fields: Object, steps: tuple[str, ...]) -> Object:
    """Owned fields without the one at a path, and without what held only that."""
    name, rest = f"f:{steps[0]}", steps[1:]
    left = {key: value for key, value in fields.items() if key != name}
    if rest and (inner := _without(fields[name], rest)) not in ({}, {".": {}}):
        left[name] = inner
    return left


def _owned_at(steps: tuple[str, ...]) -> Object:
    """Owned fields: the one at a path."""
    return {f"f:{steps[0]}": _owned_at(steps[1:])} if steps else {}


def owners_of_scale(entries: Sequence[Object], places: Places = _USUAL) -> list[Object]:
    """The managed fields of a scale: those entries of its workload that own the replicas."""
    return [
        {**entry, "apiVersion": SCALE.api_version, "fieldsV1": _REPLICAS}
        for entry in entries
        if _owns_replicas(entry, places)
    ]


def owners_of_workload(
    entries: Sequence[Object],
    scale_entries: Sequence[Object],
    api_version: str,
    places: Places = _USUAL,
) -> list[Object]:
    """The managed fields of a workload after a write of its scale.

    Args:
        entries: those of the workload before.
        scale_entries: those of the scale after.
        api_version: ``apiVersion`` of the workload.
        places: where it has the replicas.
    """
    owners = {_identity(entry): entry for entry in scale_entries if _owns_replicas(entry)}
    result = []
    for entry in entries:
        if not _owns_replicas(entry, places) or owners.pop(_identity(entry), None) is not None:
            result.append(entry)
            continue
        steps = places[entry["apiVersion"]] if places else _STEPS
        if fields := _without(entry["fieldsV1"], steps):
            result.append({**entry, "fieldsV1": fields})
    owned = _owned_at(places[api_version]) if places else _REPLICAS
    result += [{**entry, "apiVersion": api_version, "fieldsV1": owned} for entry in owners.values()]
    return result


def with_scale(obj: Object, scale: Object, resource: Kind) -> Object:
    """A workload scaled.

    Args:
        obj: the stored workload; not changed.
        scale: the scale wanted.
        resource: resource of the workload.

    Returns:
        The workload to be stored; its resourceVersion is the scale's, absent where that is.

    Raises:
        ApiError: 422 for a bad scale, 409 for the scale of another object of the same name.
    """
    meta = scale.get("metadata") or {}
    name = obj["metadata"]["name"]
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    paths = resource.subresources["scale"].replicas
    if paths is None:
        _check(scale, name)
    uid, actual = meta.get("uid"), obj["metadata"]["uid"]
    if uid and uid != actual:
        raise conflict(
            GroupResource(resource.group, f"{resource.resource}/scale"),
            name,
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {actual}",
        )
    changed = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    if meta.get("resourceVersion"):
        changed["resourceVersion"] = meta["resourceVersion"]
    entries = changed.pop("managedFields", ())
    owners = owners_of_workload(
        entries, meta.get("managedFields") or (), obj["apiVersion"], places_of(resource)
    )
    if owners:
        changed["managedFields"] = owners
    if paths is not None:
        return with_replicas({**obj, "metadata": changed}, paths.wanted, replicas)
    return {**obj, "metadata": changed, "spec": {**obj["spec"], "replicas": replicas}}


def _check(scale: Object, name: str) -> None:
    """Refuse a scale of a workload that is built in; custom resources are checked themselves.

    Raises:
        ApiError: 422.
    """
    meta = scale.get("metadata") or {}
    causes = objectmeta.validate_object_meta(meta, namespaced=True, name_check=dns1123_subdomain)
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if replicas < 0:
        detail = "must be greater than or equal to 0"
        causes.append(invalid_value("spec.replicas", replicas, detail))
    if causes:
        raise invalid(SCALE.group_kind, name, causes)
