"""Volumes of pods: one source each, of every kind.

Source: "Volumes", "Projected Volumes" and "Ephemeral Volumes" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubetrio.kinds.common.checks import (
    Causes,
    Check,
    Json,
    each,
    member,
    one_of,
    row,
    table,
    union,
)
from kubetrio.kinds.common.formats import FILE_MODE_BITS, descending, local_path
from kubetrio.kinds.common.quantities import ZERO, amount_of
from kubetrio.kinds.common.selectors import label_selector, template_metadata
from kubetrio.kinds.common.shared_checks import driver_name
from kubetrio.kinds.core.validation import volume_sources as sources
from kubetrio.kinds.core.validation.claims import CLAIM_SPEC
from kubetrio.kinds.core.validation.downward import VOLUME_FIELDS, field_ref, resource_field_ref
from kubetrio.machinery.fielderrors import duplicate, forbidden, invalid, quote, required
from kubetrio.machinery.names_validation import dns1123_label, dns1123_subdomain

PULL_POLICY = one_of("Always", "IfNotPresent", "Never")
KEY_TO_PATH = table(
    row("key", missing=""),
    row("path", local_path, missing=""),
    row("mode", FILE_MODE_BITS),
)
_DUPLICATE_PATHS = "conflicting duplicate paths"


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeContext:
    """What checks of volumes need to know about their pod.

    Args:
        pod_name: name of the pod, empty in templates.
        is_pod: whether it is a pod and not a template of one.
    """

    pod_name: str = ""
    is_pod: bool = False


def _size_limit(source: Mapping[str, Any], path: str, out: Causes) -> None:
    limit = source.get("sizeLimit")
    if limit is not None and amount_of(limit) < ZERO:
        detail = "SizeLimit field must be a valid resource quantity"
        out.append(forbidden(f"{path}.sizeLimit", detail))


def downward_file(item: Json, path: str, out: Causes) -> None:
    """Check a file of the downward API.

    Args:
        item: the file.
        path: path that causes name: the list has none of its own.
        out: receives causes.
    """
    name = item.get("path") or ""
    if not name:
        out.append(required(f"{path}.path"))
    local_path(name, f"{path}.path", out)
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        field_ref(field, f"{path}.fieldRef", out, VOLUME_FIELDS)
        if resource is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            out.append(invalid(path, "resource", detail))
    elif resource is not None:
        resource_field_ref(resource, f"{path}.resourceFieldRef", out, volume=True)
    else:
        out.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    if item.get("mode") is not None:
        FILE_MODE_BITS(item["mode"], f"{path}.mode", out)


def _downward(source: Json, path: str, out: Causes) -> None:
    if source.get("defaultMode") is not None:
        FILE_MODE_BITS(source["defaultMode"], f"{path}.defaultMode", out)
    for item in source.get("items") or ():
        downward_file(item, path, out)


def _csi(source: Json, path: str, out: Causes) -> None:
    driver_name(source.get("driver") or "", f"{path}.driver", out)
    if source.get("nodePublishSecretRef") is None:
        return
    name = member(source, "nodePublishSecretRef").get("name") or ""
    if not name:
        out.append(required(f"{path}.nodePublishSecretRef.name"))
    for message in dns1123_subdomain(name) if name else ():
        out.append(invalid(f"{path}.name", name, message))


def _ephemeral(source: Json, path: str, out: Causes) -> None:
    template = source.get("volumeClaimTemplate")
    where = f"{path}.volumeClaimTemplate"
    if template is None:
        out.append(required(where))
        return
    template_metadata(member(template, "metadata"), f"{where}.metadata", out)
    CLAIM_SPEC(member(template, "spec"), f"{where}.spec", out)


# --- projected ---


class _Projection:
    """One pass over the sources of a projected volume; remembers the paths taken."""

    def __init__(self, path: str, out: Causes) -> None:
        self.path = path
        self.out = out
        self.taken: set[str] = set()

    def take(self, path: str, shown: str) -> None:
        if path in self.taken:
            self.out.append(invalid(self.path, shown, _DUPLICATE_PATHS))
        elif path:
            self.taken.add(path)

    def keys(self, source: Json, path: str) -> None:
        name = source.get("name") or ""
        if not name:
            self.out.append(required(f"{path}.name"))
        for index, item in enumerate(source.get("items") or ()):
            KEY_TO_PATH(item, f"{path}.items[{index}]", self.out)
            self.take(item.get("path") or "", name)

    def downward(self, source: Json, path: str) -> None:
        for item in source.get("items") or ():
            downward_file(item, path, self.out)
            self.take(item.get("path") or "", item.get("path") or "")

    def token(self, source: Json, path: str) -> None:
        seconds = source.get("expirationSeconds") or 0
        where = f"{path}.expirationSeconds"
        if seconds < 600:
            detail = "may not specify a duration less than 10 minutes"
            self.out.append(invalid(where, seconds, detail))
        if seconds > 1 << 32:
            detail = "may not specify a duration larger than 2^32 seconds"
            self.out.append(invalid(where, seconds, detail))
        if name := source.get("path"):
            local_path(name, f"{self.path}.path", self.out)
        else:
            self.out.append(required(f"{self.path}.path"))

    def bundle(self, source: Json, path: str) -> None:
        self._bundle_name(source, path)
        name = source.get("path") or ""
        if not name:
            self.out.append(required(f"{path}.path"))
        local_path(name, f"{path}.path", self.out)
        self.take(name, name)

    def _bundle_name(self, source: Json, path: str) -> None:
        name, signer = source.get("name"), source.get("signerName")
        if name is not None and signer is not None:
            detail = "only one of name and signerName may be used"
            self.out.append(invalid(path, source, detail))
        elif name is not None:
            if not name:
                self.out.append(required(f"{path}.name", "must be a valid object name"))
            for message in dns1123_subdomain(name.replace(":", "-")):
                detail = f"not a valid clustertrustbundlename: {message}"
                self.out.append(invalid(f"{path}.name", name, detail))
            if source.get("labelSelector") is not None:
                detail = "labelSelector must be unset if name is specified"
                self.out.append(invalid(f"{path}.labelSelector", source["labelSelector"], detail))
        elif signer is not None:
            if not signer:
                self.out.append(required(f"{path}.signerName", "must be a valid signer name"))
            label_selector(source.get("labelSelector"), f"{path}.labelSelector", self.out)
        else:
            self.out.append(required(path, "either name or signerName must be specified"))

    def certificate(self, source: Json, path: str) -> None:
        for name in ("signerName", "keyType"):
            if not source.get(name):
                self.out.append(required(f"{path}.{name}"))
        for name in ("credentialBundlePath", "keyPath", "certificateChainPath"):
            if target := source.get(name):
                local_path(target, f"{path}.{name}", self.out)
                self.take(target, target)

    def source(self, source: Json, path: str) -> None:
        handlers = (
            ("secret", self.keys),
            ("configMap", self.keys),
            ("downwardAPI", self.downward),
            ("serviceAccountToken", self.token),
            ("clusterTrustBundle", self.bundle),
            ("podCertificate", self.certificate),
        )
        count = 0
        for name, handler in handlers:
            value = source.get(name)
            if value is not None:
                count += 1
                handler(value, f"{path}.{name}")
        if count > 1:
            detail = "may not specify more than 1 volume type per source"
            self.out.append(forbidden(path, detail))


def _projected(source: Json, path: str, out: Causes) -> None:
    if source.get("defaultMode") is not None:
        FILE_MODE_BITS(source["defaultMode"], f"{path}.defaultMode", out)
    projection = _Projection(path, out)
    for index, item in enumerate(source.get("sources") or ()):
        projection.source(item, f"{path}.sources[{index}]")


def _keyed(name: str) -> Check:
    return table(
        row(name, missing=""),
        row("defaultMode", FILE_MODE_BITS),
        row("items", each(KEY_TO_PATH)),
    )


_with_secret = sources.local_secret
_SOURCES: dict[str, Check | None] = {
    "emptyDir": _size_limit,
    "hostPath": sources.HOST_PATH,
    "gitRepo": table(row("repository", missing=""), row("directory", descending)),
    "gcePersistentDisk": sources.at("persistentDisk", sources.disk("pdName")),
    "awsElasticBlockStore": sources.disk("volumeID"),
    "secret": _keyed("secretName"),
    "nfs": sources.NFS,
    "iscsi": lambda source, path, out: sources.iscsi(source, path, out, persistent=False),
    "glusterfs": sources.GLUSTERFS,
    "flocker": sources.flocker,
    "persistentVolumeClaim": table(row("claimName", missing="")),
    "rbd": sources.RBD,
    "cinder": table(row("volumeID", missing=""), _with_secret),
    "cephfs": sources.CEPHFS,
    "quobyte": sources.quobyte,
    "downwardAPI": _downward,
    "fc": sources.fibre_channel,
    "flexVolume": sources.flex,
    "configMap": _keyed("name"),
    "azureFile": sources.AZURE_FILE,
    "vsphereVolume": sources.VSPHERE,
    "photonPersistentDisk": sources.PHOTON,
    "portworxVolume": sources.PORTWORX,
    "azureDisk": sources.azure_disk,
    "storageos": table(sources.STORAGE_OS, _with_secret),
    "projected": _projected,
    "scaleIO": sources.SCALE_IO,
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": table(row("pullPolicy", PULL_POLICY, missing="")),
}
_SOURCE = union(
    _SOURCES,
    more=sources.MORE_THAN_ONE,
    none=sources.NO_VOLUME,
    paths={"cephfs": "cephFS", "downwardAPI": "downwarAPI"},
)


def _in_context(volume: Json, path: str, out: Causes, context: VolumeContext) -> None:
    """What depends on the pod or on the volume's own name."""
    name = volume.get("name") or ""
    if (portal := volume.get("iscsi")) and (detail := sources.iscsi_length(portal, name)):
        out.append(invalid(f"{path}.name", name, detail))
    if volume.get("ephemeral") is not None and context.pod_name and name:
        claim = f"{context.pod_name}-{name}"
        for message in dns1123_subdomain(claim):
            out.append(invalid(f"{path}.name", name, f"PVC name {quote(claim)}: {message}"))
    first = next((source for source in _SOURCES if volume.get(source) is not None), "")
    if context.is_pod and first == "image" and not volume["image"].get("reference"):
        out.append(required(f"{path}.image.reference"))


def volumes(
    listed: Sequence[Json], path: str, out: Causes, context: VolumeContext
) -> dict[str, Json]:
    """Check the volumes of a pod.

    Args:
        listed: the volumes.
        path: path of the list.
        out: receives causes.
        context: about the pod.

    Returns:
        The good ones by name: mounts may refer to them.
    """
    good: dict[str, Json] = {}
    created: set[str] = set()
    if context.pod_name:
        created = {
            f"{context.pod_name}-{volume.get('name') or ''}"
            for volume in listed
            if volume.get("ephemeral") is not None
        }
    for index, volume in enumerate(listed):
        where = f"{path}[{index}]"
        name = volume.get("name") or ""
        before = len(out)
        _SOURCE(volume, where, out)
        _in_context(volume, where, out, context)
        if not name:
            out.append(required(f"{where}.name"))
        else:
            out.extend(invalid(f"{where}.name", name, text) for text in dns1123_label(name))
        if name in good:
            out.append(duplicate(f"{where}.name", name))
        if len(out) == before:
            good[name] = volume
        claim = member(volume, "persistentVolumeClaim").get("claimName") if created else None
        if claim in created:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            out.append(invalid(f"{where}.persistentVolumeClaim.claimName", claim, detail))
    return good
