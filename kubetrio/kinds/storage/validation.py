"""Storage classes, drivers, attachments and capacities.

Source: "Storage Classes", "Volume Attributes Classes", "CSI Volumes" and "Storage Capacity" in
the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.checks import (
    IMMUTABLE,
    NOT_NEGATIVE,
    Causes,
    Json,
    Validation,
    changes,
    immutable,
    matches,
    member,
    minimum,
    one_of,
    row,
    same,
    table,
    unchanged,
    unless_empty,
)
from kubetrio.kinds.common.gostructs import go_struct_of
from kubetrio.kinds.common.quantities import not_negative_quantity
from kubetrio.kinds.common.selectors import (
    label_selector,
    printed,
    topology_selector_term,
)
from kubetrio.kinds.common.shared_checks import driver_name
from kubetrio.kinds.core.validation.nodelabels import DEPRECATED_LABELS
from kubetrio.kinds.core.validation.persistent import INLINE_SPEC
from kubetrio.machinery.fielderrors import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from kubetrio.machinery.names_validation import (
    byte_length,
    dns1123_subdomain,
    qualified_name,
)

_PARAMETERS_MAX = 512
_BYTES_MAX = 256 * 1024
_NODE_ID_MAX = 256
_ERROR_MAX = 1024
_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
_SUBDOMAIN = matches(dns1123_subdomain)
_ATTACHMENT_TYPE = "io.k8s.api.storage.v1.VolumeAttachmentSpec"
_NODE_DRIVER_TYPE = "io.k8s.api.storage.v1.CSINodeDriver"


def _size(texts: Mapping[str, str]) -> int:
    return sum(byte_length(key) + byte_length(value) for key, value in texts.items())


# --- classes ---


def _lowered_name(value: str, path: str, out: Causes) -> None:
    lowered = value.lower()
    out.extend(invalid(path, lowered, text) for text in qualified_name(lowered))


def _parameters(values: Mapping[str, str], path: str, out: Causes) -> None:
    if len(values) > _PARAMETERS_MAX:
        out.append(too_long(path, _PARAMETERS_MAX))
        return
    if "" in values:
        out.append(invalid(path, "", "field can not be empty."))
    if _size(values) > _BYTES_MAX:
        out.append(too_long(path, _BYTES_MAX))


def _topologies(terms: Sequence[Json], path: str, out: Causes) -> None:
    # kube-apiserver begins with as many empty terms as there are terms, and finds them again
    seen: list[dict[str, frozenset[str]]] = [{} for _ in terms]
    for index, term in enumerate(terms):
        where = f"{path}[{index}]"
        topology_selector_term(term, where, out)
        values = {
            item.get("key") or "": frozenset(item.get("values") or ())
            for item in term.get("matchLabelExpressions") or ()
        }
        out.extend(
            duplicate(f"{where}.matchLabelExpressions", "") for other in seen if other == values
        )
        seen.append(values)


_CLASS = table(
    row("provisioner", _lowered_name, missing=""),
    row("parameters", _parameters),
    row("reclaimPolicy", unless_empty(one_of("Delete", "Retain"))),
    row("volumeBindingMode", one_of("Immediate", "WaitForFirstConsumer"), unset=""),
    row("allowedTopologies", _topologies),
)


def _class_warnings(new: Json, _: Json | None) -> list[str]:
    return [
        f"allowedTopologies[{index}].matchLabelExpressions[{position}]: {DEPRECATED_LABELS[key]}"
        for index, term in enumerate(new.get("allowedTopologies") or ())
        for position, item in enumerate(term.get("matchLabelExpressions") or ())
        if (key := item.get("key")) in DEPRECATED_LABELS
    ]


_ATTRIBUTES_CLASS = table(
    row("driverName", _lowered_name, missing=""),
    row("parameters", _parameters, missing="must contain at least one key/value pair"),
)


def _same_attributes(new: Json, old: Json, out: Causes) -> None:
    for name in ("driverName", "parameters"):
        if not same(new.get(name), old.get(name)):
            out.append(forbidden(name, f"updates to {name} are forbidden."))


# --- drivers ---


def _token_requests(items: Sequence[Json], path: str, out: Causes) -> None:
    audiences: set[str] = set()
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        audience = item.get("audience") or ""
        if audience in audiences:
            out.append(duplicate(f"{where}.audience", audience))
            continue
        audiences.add(audience)
        seconds = item.get("expirationSeconds")
        if seconds is None:
            continue
        if seconds < 600:
            detail = "may not specify a duration less than 10 minutes"
            out.append(invalid(f"{where}.expirationSeconds", seconds, detail))
        if seconds > 1 << 32:
            detail = "may not specify a duration larger than 2^32 seconds"
            out.append(invalid(f"{where}.expirationSeconds", seconds, detail))


def _lifecycle_modes(modes: Sequence[str], path: str, out: Causes) -> None:
    for mode in modes:
        if mode not in ("Persistent", "Ephemeral"):
            out.append(not_supported(path, mode, ("Persistent", "Ephemeral")))


def _attach(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    # the path is kube-apiserver's; the member is called attachRequired
    if spec.get("attachRequired") is None:
        out.append(required(f"{path}.attachedRequired"))


def _token_place(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    place = spec.get("serviceAccountTokenInSecrets")
    if place is not None and not spec.get("tokenRequests"):
        detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        out.append(invalid(f"{path}.serviceAccountTokenInSecrets", place, detail))


_DRIVER = table(
    _attach,
    row("podInfoOnMount", missing=""),
    row("storageCapacity", missing=""),
    row("fsGroupPolicy", one_of("File", "None", "ReadWriteOnceWithFSType")),
    row("tokenRequests", _token_requests),
    row("volumeLifecycleModes", _lifecycle_modes),
    row("seLinuxMount", missing=""),
    row(
        "nodeAllocatableUpdatePeriodSeconds",
        minimum(10, "must be greater than or equal to 10 seconds"),
    ),
    _token_place,
)


_TOKENS_IN_SECRETS = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to "
    "prevent possible logging of tokens in volume attributes"
)


def _driver_warnings(new: Json, old: Json | None) -> list[str]:
    spec = member(new, "spec")
    requests = spec.get("tokenRequests")
    if not requests or spec.get("serviceAccountTokenInSecrets") is not None:
        return []
    known = old is not None and same(requests, member(old, "spec").get("tokenRequests"))
    return [] if known else [_TOKENS_IN_SECRETS]


def _create_driver(obj: Mapping[str, Any], _: str, out: Causes) -> None:
    _DRIVER(member(obj, "spec"), "spec", out)


def _same_attach(new: Json, old: Json, out: Causes) -> None:
    value = member(new, "spec").get("attachRequired")
    if value != member(old, "spec").get("attachRequired"):
        out.append(invalid("spec.attachedRequired", value, IMMUTABLE))


# --- drivers of a node ---


def _topology_keys(driver: Mapping[str, Any], path: str, out: Causes) -> None:
    seen: set[str] = set()
    for key in driver.get("topologyKeys") or ():
        if not key:
            out.append(required(path))
        if key in seen:
            out.append(duplicate(path, key))
        seen.add(key)
        out.extend(invalid(path, key, text) for text in qualified_name(key))


def _node_id(value: str, path: str, out: Causes) -> None:
    if byte_length(value) > _NODE_ID_MAX:
        out.append(invalid(path, value, f"must be {_NODE_ID_MAX} characters or less"))


_NODE_DRIVER = table(
    row("name", driver_name, absent=driver_name),
    row("nodeID", _node_id, missing=""),
    row("allocatable", table(row("count", minimum(0, NOT_NEGATIVE)))),
)


def _node_drivers(items: Sequence[Json], path: str, out: Causes) -> None:
    seen: set[str] = set()
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        _NODE_DRIVER(item, where, out)
        name = item.get("name") or ""
        if name in seen:
            out.append(duplicate(f"{where}.name", name))
        seen.add(name)
        _topology_keys(item, where, out)


_NODE = table(row("spec", table(row("drivers", _node_drivers))))


def _same_node_drivers(new: Json, old: Json, out: Causes) -> None:
    stored = {item.get("name"): item for item in member(old, "spec").get("drivers") or ()}
    for item in member(new, "spec").get("drivers") or ():
        before = stored.get(item.get("name"))
        if before is None:
            continue
        mine, others = ({**it, "allocatable": None} for it in (item, before))
        if any(not same(mine.get(key), others.get(key)) for key in mine.keys() | others.keys()):
            out.append(invalid("spec.drivers", go_struct_of(_NODE_DRIVER_TYPE, mine), IMMUTABLE))


# --- attachments ---


def _source(source: Mapping[str, Any], path: str, out: Causes) -> None:
    inline, name = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    if inline is None and name is None:
        out.append(required(path, _ONE_SOURCE))
    elif inline is not None and name is not None:
        out.append(forbidden(path, _ONE_SOURCE))
    elif name == "":
        where = f"{path}.persistentVolumeName"
        out.append(required(where, "must specify non empty persistentVolumeName"))
    elif inline is not None:
        INLINE_SPEC(inline, f"{path}.inlineVolumeSpec", out)


def _volume_error(error: Mapping[str, Any], path: str, out: Causes) -> None:
    if byte_length(error.get("message") or "") > _ERROR_MAX:
        # the limit told is that of the metadata, as kube-apiserver tells it
        out.append(too_long(f"{path}.message", _BYTES_MAX))
    code = error.get("errorCode")
    if code is not None and code < 0:
        detail = "must be between 0 and 2147483647, inclusive"
        out.append(invalid(f"{path}.errorCode", code, detail))


def _attachment_metadata(values: Mapping[str, str], path: str, out: Causes) -> None:
    if _size(values) > _BYTES_MAX:
        out.append(too_long(path, _BYTES_MAX))


_ATTACHMENT = table(
    row("attacher", missing=""),
    row("source", _source, absent=lambda _, path, out: _source({}, path, out)),
    row("nodeName", _SUBDOMAIN, zero=""),
)
_ATTACHMENT_STATUS = table(
    row("attachmentMetadata", _attachment_metadata),
    row("attachError", _volume_error),
    row("detachError", _volume_error),
)


def _new_attachment(obj: Mapping[str, Any], _: str, out: Causes) -> None:
    spec = member(obj, "spec")
    _attachment(obj, "", out)
    if attacher := spec.get("attacher"):
        driver_name(attacher, "spec.attacher", out)
    name = member(spec, "source").get("persistentVolumeName")
    if name is not None:
        _SUBDOMAIN(name, "spec.source.persistentVolumeName", out)


def _attachment(obj: Mapping[str, Any], _: str, out: Causes) -> None:
    _ATTACHMENT(member(obj, "spec"), "spec", out)
    _ATTACHMENT_STATUS(member(obj, "status"), "status", out)


def _same_attachment(new: Json, old: Json, out: Causes) -> None:
    spec = new.get("spec") or {}
    if not same(spec, old.get("spec")):
        out.append(invalid("spec", go_struct_of(_ATTACHMENT_TYPE, spec), IMMUTABLE))


_update_attachment = changes(unchanged(_new_attachment), _same_attachment)

# --- capacities ---

_CAPACITY = table(
    row("nodeTopology", label_selector),
    row("storageClassName", _SUBDOMAIN, zero=""),
    row("capacity", not_negative_quantity),
)


def _same_capacity(new: Json, old: Json, out: Causes) -> None:
    topology = new.get("nodeTopology")
    if not same(topology, old.get("nodeTopology")):
        shown = None if topology is None else printed(topology)
        out.append(invalid("nodeTopology", shown, IMMUTABLE))
    name = new.get("storageClassName") or ""
    if name != (old.get("storageClassName") or ""):
        out.append(invalid("storageClassName", name, IMMUTABLE))


def _capacity_warnings(new: Json, _: Json | None) -> list[str]:
    topology = member(new, "nodeTopology")
    warnings = [
        f"nodeTopology.matchExpressions[{index}].key: {key} is {DEPRECATED_LABELS[key]}"
        for index, item in enumerate(topology.get("matchExpressions") or ())
        if (key := item.get("key")) in DEPRECATED_LABELS
    ]
    warnings += [
        f"nodeTopology.matchLabels.{key}: {DEPRECATED_LABELS[key]}"
        for key in sorted(topology.get("matchLabels") or ())
        if key in DEPRECATED_LABELS
    ]
    return warnings


STORAGECLASSES = Validation(
    create=_CLASS,
    update=changes(
        unchanged(_CLASS),
        immutable(
            "parameters",
            "provisioner",
            "reclaimPolicy",
            "volumeBindingMode",
            named=("reclaimPolicy", "volumeBindingMode"),
        ),
    ),
    revalidate=False,
    warnings=_class_warnings,
)
VOLUMEATTRIBUTESCLASSES = Validation(create=_ATTRIBUTES_CLASS, update=_same_attributes)
CSIDRIVERS = Validation(
    create=_create_driver,
    update=changes(unchanged(_create_driver), _same_attach, immutable("spec.volumeLifecycleModes")),
    revalidate=False,
    warnings=_driver_warnings,
)
CSINODES = Validation(
    create=_NODE,
    update=changes(unchanged(_NODE), _same_node_drivers),
    revalidate=False,
)
VOLUMEATTACHMENTS = Validation(
    create=_new_attachment,
    update=_update_attachment,
    revalidate=False,
    subresources={"status": _update_attachment},
)
CSISTORAGECAPACITIES = Validation(
    create=_CAPACITY,
    update=changes(unchanged(_CAPACITY), _same_capacity),
    revalidate=False,
    warnings=_capacity_warnings,
)
