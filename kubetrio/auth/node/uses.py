"""Which other objects a pod or a volume names, as far as a kubelet needs them.

Source: API reference of Pod and PersistentVolume; docs "Using Node Authorization" (a kubelet reads
what the pods on its node refer to).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Object = Mapping[str, Any]
Use = tuple[str, str, str]
"""What is used: its kind (below), namespace and name."""

CONFIG_MAP, SECRET, ACCOUNT = "configmap", "secret", "serviceAccount"
CLAIM, VOLUME, RESOURCE_CLAIM = "pvc", "pv", "resourceclaim"
POD, SLICE, ATTACHMENT = "pod", "resourceslice", "volumeattachment"
CERTIFICATE_REQUEST = "podcertificaterequest"

MIRROR = "kubernetes.io/config.mirror"
"""Annotation of pods that a kubelet made itself: they give it nothing, or it could help itself."""

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")

_POD_SOURCES: tuple[tuple[str, str], ...] = (
    ("azureFile", "secretName"),
    ("cephfs", "secretRef"),
    ("cinder", "secretRef"),
    ("flexVolume", "secretRef"),
    ("projected", ""),
    ("rbd", "secretRef"),
    ("secret", "secretName"),
    ("scaleIO", "secretRef"),
    ("iscsi", "secretRef"),
    ("storageos", "secretRef"),
    ("csi", "nodePublishSecretRef"),
)
"""Sources of a pod's volumes, and their members that name a Secret."""

_VOLUME_SOURCES: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("cephfs", ("secretRef",), True),
    ("cinder", ("secretRef",), False),
    ("flexVolume", ("secretRef",), True),
    ("rbd", ("secretRef",), True),
    ("scaleIO", ("secretRef",), True),
    ("iscsi", ("secretRef",), True),
    ("storageos", ("secretRef",), False),
    ("csi", ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"), False),
)
"""Sources of volumes, their members that name Secrets for kubelets, and whether a Secret without a
namespace is meant in that of the claim."""


def uses_of_pod(pod: Object) -> Iterator[Use]:
    """What a pod names; nothing for a mirror pod.

    Args:
        pod: as it is stored.
    """
    meta, spec = pod["metadata"], pod.get("spec") or {}
    if MIRROR in (meta.get("annotations") or {}):
        return
    namespace = meta["namespace"]
    for kind, name in _named(pod, spec):
        if name:
            yield kind, namespace, name


def _named(pod: Object, spec: Object) -> Iterator[tuple[str, str | None]]:
    yield ACCOUNT, spec.get("serviceAccountName")
    for reference in spec.get("imagePullSecrets") or ():
        yield SECRET, reference.get("name")
    for group in _CONTAINERS:
        for container in spec.get(group) or ():
            yield from _of_container(container)
    for volume in spec.get("volumes") or ():
        yield from _of_volume(pod, volume)
    status = pod.get("status") or {}
    yield from _resource_claims(spec, status)


def _of_container(container: Object) -> Iterator[tuple[str, str | None]]:
    for source in container.get("envFrom") or ():
        yield SECRET, (source.get("secretRef") or {}).get("name")
        yield CONFIG_MAP, (source.get("configMapRef") or {}).get("name")
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        yield SECRET, (source.get("secretKeyRef") or {}).get("name")
        yield CONFIG_MAP, (source.get("configMapKeyRef") or {}).get("name")


def _of_volume(pod: Object, volume: Object) -> Iterator[tuple[str, str | None]]:
    for source, member in _POD_SOURCES:
        source_spec = volume.get(source)
        if source_spec is None:
            continue
        if member:
            named = source_spec.get(member) or {}
            yield SECRET, named if isinstance(named, str) else named.get("name")
        else:
            for part in source_spec.get("sources") or ():
                yield SECRET, (part.get("secret") or {}).get("name")
        break  # a volume has one source; of several the first counts
    if volume.get("projected") is not None:
        for part in volume["projected"].get("sources") or ():
            yield CONFIG_MAP, (part.get("configMap") or {}).get("name")
    elif volume.get("configMap") is not None:
        yield CONFIG_MAP, volume["configMap"].get("name")
    if volume.get("persistentVolumeClaim") is not None:
        yield CLAIM, volume["persistentVolumeClaim"].get("claimName")
    elif volume.get("ephemeral") is not None:
        yield CLAIM, f"{pod['metadata']['name']}-{volume['name']}"


def _resource_claims(spec: Object, status: Object) -> Iterator[tuple[str, str | None]]:
    made = {
        one.get("name"): one.get("resourceClaimName")
        for one in status.get("resourceClaimStatuses") or ()
    }
    for claim in spec.get("resourceClaims") or ():
        if claim.get("resourceClaimName") is not None:
            yield RESOURCE_CLAIM, claim["resourceClaimName"]
        elif claim.get("resourceClaimTemplateName") is not None:
            yield RESOURCE_CLAIM, made.get(claim.get("name"))
    extended = status.get("extendedResourceClaimStatus") or {}
    yield RESOURCE_CLAIM, extended.get("resourceClaimName")


def secrets_of_volume(volume: Object) -> Iterator[Use]:
    """The Secrets that a kubelet needs to mount a bound volume.

    Args:
        volume: a PersistentVolume.
    """
    spec = volume.get("spec") or {}
    claim = (spec.get("claimRef") or {}).get("namespace") or ""
    file = spec.get("azureFile")
    if file is not None:
        if file.get("secretName"):
            yield SECRET, file.get("secretNamespace") or claim, file["secretName"]
        return
    for source, members, by_claim in _VOLUME_SOURCES:
        source_spec = spec.get(source)
        if source_spec is None:
            continue
        for member in members:
            reference = source_spec.get(member) or {}
            if reference.get("name"):
                namespace = reference.get("namespace") or (claim if by_claim else "")
                yield SECRET, namespace, reference["name"]
        return
