"""Volumes that are attached to a node before a pod there can use them.

These are volumes of CSI drivers, unless the driver's CSIDriver says that it attaches nothing.

Source: docs "Persistent Volumes"; k8s.io/kubernetes/pkg/volume/csi (``getAttachmentName``,
``skipAttach``), pkg/volume/util (``IsMultiAttachAllowed``).
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.controller import Context
from kubetrio.simulation.annotations import said_of

Object = dict[str, Any]

_PREFIX = "kubernetes.io/csi/"
_SHARED = frozenset({"ReadWriteMany", "ReadOnlyMany"})


class Claim(NamedTuple):
    """What is kept of a PersistentVolumeClaim.

    Args:
        uid: of the claim.
        volume: that it is bound to, empty for none.
    """

    uid: str
    volume: str


class Volume(NamedTuple):
    """What is kept of a PersistentVolume.

    Args:
        claim: namespace and name of its claim, empty for none.
        claim_uid: of that claim.
        driver: the CSI driver, empty for a volume of another type.
        handle: by which the driver knows it.
        exclusive: whether it is on one node at a time.
        attach_error: why a simulated driver does not attach it, empty where it does.
    """

    claim: str
    claim_uid: str
    driver: str
    handle: str
    exclusive: bool
    attach_error: str

    @property
    def unique_name(self) -> str:
        """Its name in the status of nodes."""
        return f"{_PREFIX}{self.driver}^{self.handle}"


class Driver(NamedTuple):
    """What is kept of a CSIDriver.

    Args:
        attaches: whether its volumes are attached.
        simulated: whether the server does that itself.
    """

    attaches: bool
    simulated: bool


NO_DRIVER = Driver(attaches=True, simulated=False)
"""A driver without a CSIDriver."""


def claim_view(value: bytes) -> Claim:
    """What is kept of a claim.

    Args:
        value: the stored claim.
    """
    claim: Object = orjson.loads(value)
    bound = (claim.get("status") or {}).get("phase") == "Bound"
    name = (claim.get("spec") or {}).get("volumeName") or ""
    return Claim(claim["metadata"]["uid"], name if bound else "")


def volume_view(value: bytes) -> Volume:
    """What is kept of a volume.

    Args:
        value: the stored volume.
    """
    volume: Object = orjson.loads(value)
    spec = volume.get("spec") or {}
    reference, csi = spec.get("claimRef") or {}, spec.get("csi") or {}
    modes = spec.get("accessModes") or ()
    return Volume(
        claim=f"{reference.get('namespace')}/{reference.get('name')}" if reference else "",
        claim_uid=reference.get("uid") or "",
        driver=csi.get("driver") or "",
        handle=csi.get("volumeHandle") or "",
        exclusive=bool(modes) and _SHARED.isdisjoint(modes),
        attach_error=said_of(volume, "attach-error") or "",
    )


def driver_view(value: bytes) -> Driver:
    """What is kept of a driver.

    Args:
        value: the stored CSIDriver.
    """
    driver: Object = orjson.loads(value)
    required = (driver.get("spec") or {}).get("attachRequired")
    return Driver(required is not False, said_of(driver, "driver") == "true")


def parts_of(unique_name: str) -> tuple[str, str]:
    """The driver and the handle of a volume, both empty where a name is not of this shape.

    Args:
        unique_name: of the volume in the status of nodes.
    """
    if not unique_name.startswith(_PREFIX):
        return "", ""
    driver, _, handle = unique_name.removeprefix(_PREFIX).partition("^")
    return driver, handle


def attachment_name(driver: str, handle: str, node: str) -> str:
    """The name of the VolumeAttachment of a volume on a node.

    Args:
        driver: of the volume.
        handle: of the volume.
        node: name of the node.
    """
    return f"csi-{sha256(f'{handle}{driver}{node}'.encode()).hexdigest()}"


class AttachableVolumes:
    """The claims, volumes and drivers of a server.

    Args:
        context: of a controller that has to follow them.

    Attributes:
        claims: by namespace and name.
        volumes: by name.
        drivers: by name.
    """

    def __init__(self, context: Context) -> None:
        resources, informers = context.registry.resources, context.informers
        claims = resources["", "v1", "persistentvolumeclaims"].storage_prefix
        volumes = resources["", "v1", "persistentvolumes"].storage_prefix
        drivers = resources["storage.k8s.io", "v1", "csidrivers"].storage_prefix
        self.claims = informers.digests(claims, claim_view)
        self.volumes = informers.digests(volumes, volume_view)
        self.drivers = informers.digests(drivers, driver_view)

    def driver(self, name: str) -> Driver:
        """The driver of a name."""
        return self.drivers.get("", name) or NO_DRIVER

    def of_claim(self, namespace: str, name: str) -> tuple[str, Volume] | None:
        """The volume of a claim and its name; None where there is nothing to attach.

        Args:
            namespace: of the claim.
            name: of the claim.
        """
        claim = self.claims.get(namespace, name)
        volume = None if claim is None else self.volumes.get("", claim.volume)
        if claim is None or volume is None or volume.claim_uid != claim.uid:
            return None
        if not volume.driver or not self.driver(volume.driver).attaches:
            return None
        return claim.volume, volume
