"""PersistentVolumes.

Source: "Persistent Volumes" in the Kubernetes documentation.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
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
    table,
    union,
)
from kubetrio.kinds.common.differences import difference
from kubetrio.kinds.common.formats import SUBDOMAIN
from kubetrio.kinds.common.quantities import basic_quantity, positive_quantity
from kubetrio.kinds.common.selectors import node_selector, printed_term
from kubetrio.kinds.common.shared_checks import driver_name
from kubetrio.kinds.core.validation import volume_sources as sources
from kubetrio.kinds.core.validation.claims import (
    VOLUME_MODE,
    access_modes,
    storage_class_warnings,
)
from kubetrio.kinds.core.validation.nodelabels import DEPRECATED_LABELS
from kubetrio.kinds.core.validation.podwarnings import (
    DEPRECATED_VOLUMES,
    node_selector_term_warnings,
)
from kubetrio.machinery.fielderrors import (
    forbidden,
    invalid,
    invalid_pointer,
    not_supported,
    required,
)
from kubetrio.machinery.members import shown_map
from kubetrio.machinery.names_validation import dns1123_label

_MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
_WITH_OPTIONS = (
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "cinder",
    "cephfs",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
    "flocker",
    "scaleIO",
    "fc",
    "portworxVolume",
)
"""Volumes that may have mount options in the annotation."""
_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


def _glusterfs(source: Json, path: str, out: Causes) -> None:
    sources.GLUSTERFS(source, path, out)
    namespace, where = source.get("endpointsNamespace"), f"{path}.endpointsNamespace"
    if namespace is None:
        return
    if not namespace:
        detail = "if the endpointnamespace is set, it must be a valid namespace name"
        out.append(invalid(where, namespace, detail))
        return
    out.extend(invalid(where, namespace, text) for text in dns1123_label(namespace))


def _azure_file(source: Json, path: str, out: Causes) -> None:
    sources.AZURE_FILE(source, path, out)
    if source.get("secretNamespace") == "":
        out.append(required(f"{path}.secretNamespace"))


def _csi(source: Json, path: str, out: Causes) -> None:
    driver_name(source.get("driver") or "", f"{path}.driver", out)
    if not source.get("volumeHandle"):
        out.append(required(f"{path}.volumeHandle"))
    for name in _SECRETS:
        if source.get(name) is not None:
            sources.SECRET_REFERENCE(source[name], f"{path}.{name}", out)


_SOURCES: dict[str, Check | None] = {
    "hostPath": sources.HOST_PATH,
    "gcePersistentDisk": sources.at("persistentDisk", sources.disk("pdName")),
    "awsElasticBlockStore": sources.disk("volumeID"),
    "glusterfs": _glusterfs,
    "flocker": sources.flocker,
    "nfs": sources.NFS,
    "rbd": sources.RBD,
    "quobyte": sources.quobyte,
    "cephfs": sources.CEPHFS,
    "iscsi": lambda source, path, out: sources.iscsi(source, path, out, persistent=True),
    "cinder": table(row("volumeID", missing=""), sources.namespaced_secret),
    "fc": sources.fibre_channel,
    "flexVolume": sources.flex,
    "azureFile": _azure_file,
    "vsphereVolume": sources.VSPHERE,
    "photonPersistentDisk": sources.PHOTON,
    "portworxVolume": sources.PORTWORX,
    "azureDisk": sources.azure_disk,
    "scaleIO": sources.SCALE_IO,
    "local": sources.LOCAL,
    "storageos": table(sources.STORAGE_OS, sources.namespaced_secret),
    "csi": _csi,
}
_SOURCE = union(
    _SOURCES,
    more=sources.MORE_THAN_ONE,
    none=sources.NO_VOLUME,
    paths={"cephfs": "cephFS"},
    besides=("flexVolume",),
)


def _capacity(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    capacity, where = spec.get("capacity") or {}, f"{path}.capacity"
    if not capacity:
        out.append(required(where))
    if list(capacity) != ["storage"]:
        out.append(not_supported(where, shown_map(spec, "capacity"), ("storage",)))
    for name, value in capacity.items():
        basic_quantity(value, f"{where}[{name}]", out)
        positive_quantity(value, f"{where}[{name}]", out)


def _node_affinity(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    affinity, where = spec.get("nodeAffinity"), f"{path}.nodeAffinity"
    if affinity is not None:
        if affinity.get("required") is not None:
            node_selector(affinity["required"], f"{where}.required", out)
        else:
            detail = "must specify required node constraints"
            out.append(required(f"{where}.required", detail))
    elif next((name for name in _SOURCES if spec.get(name) is not None), "") == "local":
        out.append(required(where, "Local volume requires node affinity"))


def _root_recycled(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    host = spec.get("hostPath")
    if host is None or spec.get("persistentVolumeReclaimPolicy") != "Recycle":
        return
    if posixpath.normpath(host.get("path") or ".") == "/":
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        out.append(forbidden(f"{path}.persistentVolumeReclaimPolicy", detail))


def _attributes_class(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    name, where = spec.get("volumeAttributesClassName"), f"{path}.volumeAttributesClassName"
    if name is None:
        return
    if name:
        SUBDOMAIN(name, where, out)
    else:
        out.append(required(where, "an empty string is disallowed"))
    if spec.get("csi") is None:
        detail = "has to be specified when using volumeAttributesClassName"
        out.append(required(f"{path}.csi", detail))


_SPEC = table(
    row("accessModes", access_modes, missing=""),
    _capacity,
    row("persistentVolumeReclaimPolicy", one_of("Delete", "Recycle", "Retain")),
    _node_affinity,
    _SOURCE,
    _root_recycled,
    row("storageClassName", SUBDOMAIN),
    row("volumeMode", VOLUME_MODE),
    _attributes_class,
)


# --- without an object of their own ---


def _not_inline(name: str) -> Check:
    def check(spec: Mapping[str, Any], path: str, out: Causes) -> None:
        value = spec.get(name)
        # an object that is there though empty is specified, an empty map or text is not
        if value or (name in ("claimRef", "nodeAffinity") and value is not None):
            detail = "may not be specified in the context of inline volumes"
            out.append(forbidden(f"{path}.{name}", detail))

    return check


def _needs_csi(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    if spec.get("csi") is None:
        detail = "has to be specified in the context of inline volumes"
        out.append(required(f"{path}.csi", detail))


def _retained(policy: str, path: str, out: Causes) -> None:
    if policy != "Retain":
        out.append(forbidden(path, "may only be Retain in the context of inline volumes"))


def _filesystem(mode: str, path: str, out: Causes) -> None:
    if mode != "Filesystem":
        detail = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        out.append(forbidden(path, detail))


INLINE_SPEC: Check = table(
    _not_inline("claimRef"),
    _not_inline("capacity"),
    _needs_csi,
    row("accessModes", access_modes, missing=""),
    row("persistentVolumeReclaimPolicy", _retained),
    _not_inline("nodeAffinity"),
    _SOURCE,
    _root_recycled,
    _not_inline("storageClassName"),
    row("volumeMode", _filesystem),
)
"""Check of the spec of a volume that a VolumeAttachment has inside."""


def _create(volume: Json, _path: str, out: Causes) -> None:
    spec = member(volume, "spec")
    _SPEC(spec, "spec", out)
    if portal := spec.get("iscsi"):
        name = member(volume, "metadata").get("name") or ""
        if detail := sources.iscsi_length(portal, name):
            where = "spec.iscsi.targetportal"
            out.append(invalid(where, portal.get("targetPortal") or "", detail))


def _create_volume(volume: Json, path: str, out: Causes) -> None:
    _create(volume, path, out)
    _mount_options(volume, out)


def _source(spec: Mapping[str, Any]) -> Json:
    return {name: spec[name] for name in _SOURCES if spec.get(name) is not None}


def _may_gain_secret(mine: Json, theirs: Json) -> Json:
    """The new source without a secret that the old one lacked, which may be added."""
    new, old = mine.get("csi"), theirs.get("csi")
    name = "controllerExpandSecretRef"
    if new is None or old is None or old.get(name) is not None:
        return mine
    return {**mine, "csi": {key: value for key, value in new.items() if key != name}}


def _mount_options(volume: Json, out: Causes) -> None:
    sources = member(volume, "spec")
    notes = member(member(volume, "metadata"), "annotations")
    if _MOUNT_OPTIONS in notes and all(sources.get(name) is None for name in _WITH_OPTIONS):
        where = f"metadata.annotations.{_MOUNT_OPTIONS}"
        out.append(forbidden(where, "may not specify mount options for this volume type"))


def _update(new: Json, old: Json, out: Causes) -> None:
    # kube-apiserver checks the volume by itself, and again as a part of the change
    _create_volume(new, "", out)
    _create(new, "", out)
    spec, before = member(new, "spec"), member(old, "spec")
    theirs = _source(before)
    mine = _may_gain_secret(_source(spec), theirs)
    if mine != theirs:
        detail = "spec.persistentvolumesource is immutable after creation\n"
        where = "spec.persistentvolumesource"
        out.append(forbidden(where, detail + difference(theirs, mine)))
    if spec.get("volumeMode") != before.get("volumeMode"):
        out.append(invalid_pointer("volumeMode", spec.get("volumeMode"), IMMUTABLE))
    affinity = before.get("nodeAffinity")
    if affinity is not None and not _same_affinity(spec.get("nodeAffinity"), affinity):
        detail = f"{IMMUTABLE}, except for updating from beta label to GA"
        out.append(invalid("nodeAffinity", _shown_affinity(spec.get("nodeAffinity")), detail))
    name = "volumeAttributesClassName"
    if before.get(name) is not None and spec.get(name) is None:
        detail = "update from non-nil value to nil is forbidden"
        out.append(forbidden(f"spec.{name}", detail))


def _shown_affinity(affinity: Json | None) -> Json | None:
    if affinity is None:
        return None
    required_ = affinity.get("required")
    if required_ is None:
        return {"Required": None}
    terms = [printed_term(term) for term in required_.get("nodeSelectorTerms") or ()]
    return {"Required": {"NodeSelectorTerms": terms or None}}


def _same_affinity(mine: Json | None, theirs: Json) -> bool:
    if mine == theirs:
        return True
    return mine is not None and _renamed(mine) == _renamed(theirs)


def _renamed(affinity: Json) -> Json:
    """The affinity with every beta label under its final name."""
    terms = (affinity.get("required") or {}).get("nodeSelectorTerms") or ()
    return {
        "terms": [
            {
                **term,
                "matchExpressions": [
                    {**item, "key": _GA_LABELS.get(item.get("key"), item.get("key"))}
                    for item in term.get("matchExpressions") or ()
                ],
            }
            for term in terms
        ]
    }


_GA_LABELS: dict[Any, str] = {
    label: text.split('"')[1]
    for label, text in DEPRECATED_LABELS.items()
    if "beta.kubernetes.io" in label
}


def _warnings(new: Json, _: Json | None) -> list[str]:
    spec = member(new, "spec")
    warnings = storage_class_warnings(new)
    if _MOUNT_OPTIONS in member(member(new, "metadata"), "annotations"):
        warnings.append(
            f"metadata.annotations[{_MOUNT_OPTIONS}]: deprecated since v1.31; "
            'use "spec.mountOptions" attribute instead'
        )
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        warnings.append(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning."
        )
    terms = member(member(spec, "nodeAffinity"), "required").get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        path = f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]"
        warnings += node_selector_term_warnings(term, path)
    warnings += [
        f"spec.{'storageOS' if name == 'storageos' else name}: {text}"
        for name, text in DEPRECATED_VOLUMES.items()
        if spec.get(name) is not None
    ]
    return warnings


VOLUMES = Validation(
    create=_create_volume,
    update=_update,
    revalidate=False,
    warnings=_warnings,
)
"""The rules of PersistentVolumes."""
