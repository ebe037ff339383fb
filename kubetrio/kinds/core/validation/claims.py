"""PersistentVolumeClaims and the specs of claims that other objects carry.

Source: "Persistent Volumes" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.checks import (
    IMMUTABLE,
    Causes,
    Check,
    Json,
    Validation,
    member,
    one_of,
    row,
    same,
    table,
    unless_empty,
)
from kubetrio.kinds.common.differences import difference
from kubetrio.kinds.common.formats import SUBDOMAIN
from kubetrio.kinds.common.quantities import (
    amount_of,
    basic_quantity,
    is_native,
    not_negative_quantity,
    positive_quantity,
)
from kubetrio.kinds.common.selectors import label_selector
from kubetrio.machinery.fielderrors import (
    forbidden,
    invalid,
    invalid_pointer,
    not_supported,
    required,
)
from kubetrio.machinery.names_validation import dns1123_label, dns1123_subdomain, qualified_name

_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_SINGLE = "ReadWriteOncePod"
_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
_SPEC_IMMUTABLE = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims\n"
)
_RESIZES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)
VOLUME_MODE = one_of("Block", "Filesystem")


def access_modes(modes: Sequence[str], path: str, out: Causes) -> None:
    """Check access modes: known, and the exclusive one alone.

    Args:
        modes: the list.
        path: its path.
        out: receives causes.
    """
    for mode in modes:
        if mode not in _MODES:
            out.append(not_supported(path, mode, _MODES))
    if _SINGLE in modes and any(mode in _MODES and mode != _SINGLE for mode in modes):
        out.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))


def _storage(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    requests = member(member(spec, "resources"), "requests")
    where = f"{path}.resources[storage]"
    if "storage" not in requests:
        out.append(required(where))
    else:
        positive_quantity(requests["storage"], where, out)


def _data_source(reference: Mapping[str, Any], path: str, out: Causes) -> None:
    _data_source_named(reference, path, out)
    if group := reference.get("apiGroup"):
        for message in dns1123_subdomain(group):
            out.append(invalid(f"{path}.apiGroup", group, message))
    _data_source_namespace(reference, path, out)


def _data_source_of_any_group(reference: Mapping[str, Any], path: str, out: Causes) -> None:
    _data_source_named(reference, path, out)
    _data_source_namespace(reference, path, out)


def _data_source_named(reference: Mapping[str, Any], path: str, out: Causes) -> None:
    kind = reference.get("kind") or ""
    if not reference.get("name"):
        out.append(required(f"{path}.name"))
    if not kind:
        out.append(required(f"{path}.kind"))
    if not reference.get("apiGroup") and kind != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        out.append(invalid(path, kind, detail))


def _data_source_namespace(reference: Mapping[str, Any], path: str, out: Causes) -> None:
    if namespace := reference.get("namespace"):
        for message in dns1123_label(namespace):
            out.append(invalid(f"{path}.namespace", namespace, message))


def _data_sources(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        detail = "may not be specified when dataSourceRef.namespace is specified"
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        detail = "must match dataSourceRef"
    else:
        return
    # upstream gives a path where the value should be, and a path prints as an empty object
    out.append(invalid(path, {}, detail))


def _claim_spec(data_source: Check) -> Check:
    return table(
        row("accessModes", access_modes, missing="at least 1 access mode is required"),
        row("selector", label_selector),
        _storage,
        row("storageClassName", unless_empty(SUBDOMAIN)),
        row("volumeMode", VOLUME_MODE),
        row("dataSource", data_source),
        row("dataSourceRef", data_source),
        _data_sources,
        row("volumeAttributesClassName", unless_empty(SUBDOMAIN)),
    )


CLAIM_SPEC = _claim_spec(_data_source)
"""The check of the spec of a claim."""
_SPEC_OF_ANY_GROUP = _claim_spec(_data_source_of_any_group)
"""The check for a claim that named the group of its data source before: it is kept as it is."""


def _names_group(claim: Json) -> bool:
    spec = member(claim, "spec")
    return any(
        member(spec, name).get("apiGroup") is not None for name in ("dataSource", "dataSourceRef")
    )


def _annotations(claim: Json) -> Mapping[str, Any]:
    return member(member(claim, "metadata"), "annotations")


def _storage_request(claim: Json) -> Any:
    return member(member(member(claim, "spec"), "resources"), "requests").get("storage")


def _class_upgraded(new: Json, old: Json) -> bool:
    """Whether the class moves from the old annotation into the spec."""
    before = _annotations(old).get(_STORAGE_CLASS)
    if before is None or member(old, "spec").get("storageClassName") is not None:
        return False
    after = _annotations(new).get(_STORAGE_CLASS, before)
    return bool(member(new, "spec").get("storageClassName") == before and after == before)


def _masked_specs(new: Json, old: Json) -> tuple[Json, Json]:
    """Both specs with the changes that are allowed undone."""
    mine, theirs = dict(member(new, "spec")), dict(member(old, "spec"))
    if not theirs.get("volumeName"):
        mine.pop("volumeName", None)
        theirs.pop("volumeName", None)
    before = _annotations(old).get(_STORAGE_CLASS)
    name = mine.get("storageClassName")
    if theirs.get("storageClassName") is None and name is not None and before in (None, name):
        mine.pop("storageClassName")
    if member(new, "status").get("phase") == "Bound":
        mine.pop("volumeAttributesClassName", None)
        theirs.pop("volumeAttributesClassName", None)
        resources = dict(member(mine, "resources"))
        if requests := resources.get("requests"):
            resources["requests"] = {**requests, "storage": _storage_request(old)}
            mine["resources"] = resources
    return mine, theirs


def _update(new: Json, old: Json, out: Causes) -> None:
    check = _SPEC_OF_ANY_GROUP if _names_group(old) else CLAIM_SPEC
    check(member(new, "spec"), "spec", out)
    if not _class_upgraded(new, old):
        value = _annotations(new).get(_STORAGE_CLASS) or ""
        if value != (_annotations(old).get(_STORAGE_CLASS) or ""):
            path = f"metadata.annotations.{_STORAGE_CLASS}"
            out.append(invalid(path, value, IMMUTABLE))
    mine, theirs = _masked_specs(new, old)
    if not all(same(mine.get(name), theirs.get(name)) for name in mine.keys() | theirs.keys()):
        out.append(forbidden("spec", f"{_SPEC_IMMUTABLE}{difference(theirs, mine)}"))
    requested, before = _storage_request(new), _storage_request(old)
    if amount_of(requested) < amount_of(before):
        capacity = member(member(old, "status"), "capacity").get("storage")
        if amount_of(requested) <= amount_of(capacity):
            path = "spec.resources.requests.storage"
            out.append(forbidden(path, "field can not be less than status.capacity"))
    mode = member(new, "spec").get("volumeMode")
    if mode != member(old, "spec").get("volumeMode"):
        out.append(invalid_pointer("volumeMode", mode, IMMUTABLE))
    _class_of_attributes(new, old, out)


def _class_of_attributes(new: Json, old: Json, out: Causes) -> None:
    mine = member(new, "spec").get("volumeAttributesClassName")
    theirs = member(old, "spec").get("volumeAttributesClassName")
    # a class that was never applied may go again
    if mine == theirs or member(old, "status").get("currentVolumeAttributesClassName") is None:
        return
    if not mine:
        what = "nil" if mine is None else "empty string"
        detail = (
            f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
        )
        out.append(forbidden("spec.volumeAttributesClassName", detail))


def _resource_key(name: str, path: str, out: Causes) -> bool:
    messages = qualified_name(name)
    out.extend(invalid(path, name, message) for message in messages)
    if messages:
        return False
    if is_native(name) and name != "storage":
        out.append(not_supported(path, name, ("storage",)))
        return False
    return True


def _status(new: Json, _: Json, out: Causes) -> None:
    status = member(new, "status")
    if not member(new, "spec").get("accessModes"):
        out.append(required("Spec.accessModes"))
    for name, value in member(status, "capacity").items():
        basic_quantity(value, f"status.capacity[{name}]", out)
    path = "status.allocatedResourceStatuses"
    for name, value in member(status, "allocatedResourceStatuses").items():
        _resource_key(name, path, out)
        if value not in _RESIZES:
            out.append(not_supported(path, name, _RESIZES))
    for name, value in member(status, "allocatedResources").items():
        if _resource_key(name, "status.allocatedResources", out):
            where = f"status.allocatedResources[{name}]"
            before = len(out)
            basic_quantity(value, where, out)
            if len(out) == before:
                not_negative_quantity(value, where, out)


def storage_class_warnings(obj: Json) -> list[str]:
    """Warnings about the annotation that ``storageClassName`` replaced.

    Args:
        obj: a claim or a volume.
    """
    if _STORAGE_CLASS not in _annotations(obj):
        return []
    return [
        (
            f"metadata.annotations[{_STORAGE_CLASS}]: deprecated since v1.8; "
            'use "storageClassName" attribute instead'
        )
    ]


def claim_spec_warnings(spec: Mapping[str, Any], path: str) -> list[str]:
    """Warnings about amounts that are not whole bytes.

    Args:
        spec: the spec of a claim.
        path: its path.
    """
    warnings = []
    for side in ("requests", "limits"):
        value = member(member(spec, "resources"), side).get("storage")
        if value is not None and amount_of(value).milli_value() % 1000:
            warnings.append(
                f'{path}.resources.{side}[storage]: fractional byte value "{value}" is invalid, '
                "must be an integer"
            )
    return warnings


def _warnings(new: Json, _: Json | None) -> list[str]:
    return storage_class_warnings(new) + claim_spec_warnings(member(new, "spec"), "spec")


CLAIMS = Validation(
    create=table(row("spec", CLAIM_SPEC, zero={})),
    update=_update,
    revalidate=False,
    subresources={"status": _status},
    warnings=_warnings,
)
"""The rules of PersistentVolumeClaims."""
