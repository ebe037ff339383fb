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
from kubetrio.machinery.fieldpath import Path
from kubetrio.machinery.fieldset import FieldSet
from kubetrio.machinery.managedfields import InvalidManagedFields, decode, encode
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.names_validation import dns1123_subdomain
from kubetrio.machinery.ownership import Manager, Owned
from kubetrio.machinery.status import ApiError, conflict, invalid
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
    replicas = (obj.get("spec") or {}).get("replicas") or 0
    return replicas, (obj.get("status") or {}).get("replicas") or 0, selector_text(obj)


def _numbers_at(obj: Object, paths: ScalePaths) -> tuple[int, int, str]:
    """Numbers and selector of a custom resource, at the paths that its definition names.

    Raises:
        ValueError: there is something else at a path.
    """
    wanted, actual = replicas_at(obj, paths.wanted), replicas_at(obj, paths.actual)
    text = text_at(obj, paths.selector) if paths.selector else ""
    return UNSET if wanted is None else wanted, actual or 0, text


UNSET = -(1 << 31)
"""Replicas of a custom resource that does not say how many it wants."""
_STEPS = ("spec", "replicas")
_REPLICAS = FieldSet.of(("f:spec", "f:replicas"))
Places = Mapping[str, tuple[str, ...] | None]
"""Member names on the way to the replicas by ``apiVersion``; None where there is no scale."""
_OLD_APPS: Places = dict.fromkeys(("apps/v1beta2", "apps/v1beta1"), _STEPS)
"""Versions that are not served any more, in which workloads may still be owned."""


def places_of(resource: Kind) -> Places:
    """Where the versions of a workload have the number of replicas wanted."""
    if resource.builtin:
        return {resource.api_version: _STEPS, **(_OLD_APPS if resource.group == "apps" else {})}
    versions = [resource] if resource.family is None else resource.family.versions.values()
    places: dict[str, tuple[str, ...] | None] = {}
    for kind in versions:
        below = kind.subresources.get("scale")
        paths = None if below is None else below.replicas
        places[kind.api_version] = None if paths is None else steps_of(paths.wanted)
    return places


def _path(steps: tuple[str, ...]) -> Path:
    return tuple(f"f:{step}" for step in steps)


def owners_of_scale(entries: Sequence[Object], places: Places) -> list[Object]:
    """The managed fields of a scale: those entries of its workload that own the replicas.

    Args:
        entries: of the workload.
        places: where it has the replicas.

    Raises:
        InvalidManagedFields: an entry cannot be read.
    """
    owners: dict[Manager, Owned] = {}
    for manager, owned in decode(entries).items():
        steps = places.get(owned.api_version)
        if steps is not None and _path(steps) in owned.fields:
            owners[manager] = Owned(_REPLICAS, SCALE.api_version, owned.time)
    return encode(owners)


def owners_of_workload(
    entries: Sequence[Object], scale_entries: Sequence[Object], api_version: str, places: Places
) -> list[Object]:
    """The managed fields of a workload after a write of its scale.

    Updates are known by the version in which they were made: those of the workload are none of the
    scale's, so that a client that scales takes the replicas from all of them.  A new entry has no
    time.

    Args:
        entries: those of the workload before.
        scale_entries: those of the scale after.
        api_version: ``apiVersion`` of the workload.
        places: where it has the replicas; entries in other versions go.

    Raises:
        InvalidManagedFields: an entry cannot be read.
    """
    before, scaled = decode(entries), decode(scale_entries)
    owners: dict[Manager, Owned] = {}
    for manager, owned in before.items():
        if owned.api_version not in places:
            continue
        path = _path(places[owned.api_version] or ())
        if path not in owned.fields or scaled.pop(manager, None) is not None:
            owners[manager] = owned
        elif left := owned.fields.difference(FieldSet.of(path)):
            owners[manager] = owned._replace(fields=left)
    own = _path(places[api_version] or ())
    for manager, owned in scaled.items():
        if _path(_STEPS) in owned.fields:
            was = before.get(manager)
            time = None if was is None else was.time
            owners[manager] = Owned(FieldSet.of(own), api_version, time)
    return encode(owners)


def with_scale(obj: Object, scale: Object, resource: Kind) -> Object:
    """A workload scaled.

    Args:
        obj: the workload; not changed.
        scale: the scale wanted.
        resource: resource of the workload.

    Returns:
        The workload to be written; its resourceVersion is the scale's, absent where that is.

    Raises:
        ApiError: 422 for a bad scale, 409 for the scale of another object of the same name, 500 for
            owners that cannot be read.
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
    try:
        owners = owners_of_workload(
            entries, meta.get("managedFields") or (), resource.api_version, places_of(resource)
        )
    except InvalidManagedFields as error:
        raise ApiError(500, "", str(error)) from error
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
