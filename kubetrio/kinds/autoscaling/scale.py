"""Scales: the number of replicas of a workload, read and written without the rest of it.

Source: docs "Workloads" (scale subresource); API reference of autoscaling/v1 Scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubetrio.kinds.parts import BUILTIN
from kubetrio.machinery import labels, objectmeta
from kubetrio.machinery.fielderrors import invalid as invalid_value
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.names_validation import dns1123_subdomain
from kubetrio.machinery.status import conflict, invalid
from kubetrio.schema.kind import Kind

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

_META = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def selector_text(obj: Object) -> str:
    """The selector of a workload as clients of a scale read it: the text of a label selector."""
    selector = (obj.get("spec") or {}).get("selector")
    if not selector:
        return ""
    if obj["kind"] == "ReplicationController":
        selector = {"matchLabels": selector}
    return str(labels.from_label_selector(selector))


def scale_of(obj: Object) -> Object:
    """The scale of a workload."""
    replicas = (obj.get("spec") or {}).get("replicas") or 0
    status: Object = {"replicas": (obj.get("status") or {}).get("replicas") or 0}
    if text := selector_text(obj):
        status["selector"] = text
    return {
        "kind": SCALE.kind,
        "apiVersion": SCALE.api_version,
        "metadata": {key: obj["metadata"][key] for key in _META if key in obj["metadata"]},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


_REPLICAS: Object = {"f:spec": {"f:replicas": {}}}


def _identity(entry: Object) -> tuple[Any, ...]:
    return entry.get("manager"), entry.get("operation"), entry.get("subresource")


def _owns_replicas(entry: Object) -> bool:
    return "f:replicas" in ((entry.get("fieldsV1") or {}).get("f:spec") or {})


def owners_of_scale(entries: Sequence[Object]) -> list[Object]:
    """The managed fields of a scale: those entries of its workload that own the replicas."""
    return [
        {**entry, "apiVersion": SCALE.api_version, "fieldsV1": _REPLICAS}
        for entry in entries
        if _owns_replicas(entry)
    ]


def owners_of_workload(
    entries: Sequence[Object], scale_entries: Sequence[Object], api_version: str
) -> list[Object]:
    """The managed fields of a workload after a write of its scale.

    Args:
        entries: those of the workload before.
        scale_entries: those of the scale after.
        api_version: ``apiVersion`` of the workload.
    """
    owners = {_identity(entry): entry for entry in scale_entries if _owns_replicas(entry)}
    result = []
    for entry in entries:
        if not _owns_replicas(entry) or owners.pop(_identity(entry), None) is not None:
            result.append(entry)
            continue
        fields = dict(entry["fieldsV1"])
        fields["f:spec"] = {k: v for k, v in fields["f:spec"].items() if k != "f:replicas"}
        if not fields["f:spec"] or fields["f:spec"] == {".": {}}:
            del fields["f:spec"]
        if fields:
            result.append({**entry, "fieldsV1": fields})
    result += [
        {**entry, "apiVersion": api_version, "fieldsV1": _REPLICAS} for entry in owners.values()
    ]
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
    causes = objectmeta.validate_object_meta(meta, namespaced=True, name_check=dns1123_subdomain)
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if replicas < 0:
        detail = "must be greater than or equal to 0"
        causes.append(invalid_value("spec.replicas", replicas, detail))
    if causes:
        raise invalid(SCALE.group_kind, name, causes)
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
    owners = owners_of_workload(entries, meta.get("managedFields") or (), obj["apiVersion"])
    if owners:
        changed["managedFields"] = owners
    return {**obj, "metadata": changed, "spec": {**obj["spec"], "replicas": replicas}}
