"""What is kept of VolumeAttachments, and of nodes by the controllers that attach volumes.

Source: k8s.io/kubernetes/pkg/controller/volume/attachdetach.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from kubetrio.simulation.nodeobjects import MANAGED

Object = dict[str, Any]

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class Attachment(NamedTuple):
    """What is kept of a VolumeAttachment.

    Args:
        node: name of the node.
        driver: that is to attach.
        volume: name of the PersistentVolume, empty for another source.
        attached: whether it has attached.
        error: why it could not, empty where it did not try.
        deleting: whether it is to be gone.
    """

    node: str
    driver: str
    volume: str
    attached: bool
    error: str
    deleting: bool


class NodeVolumes(NamedTuple):
    """What is kept of a node.

    Args:
        managed: whether a controller attaches its volumes.
        ready: whether its condition ``Ready`` is true.
        out_of_service: whether it has that taint.
        attached: unique names of volumes that it is told of.
        in_use: unique names of volumes that its kubelet has or is about to have.
    """

    managed: bool
    ready: bool
    out_of_service: bool
    attached: tuple[str, ...]
    in_use: tuple[str, ...]


def attachment_view(value: bytes) -> Attachment:
    """What is kept of an attachment.

    Args:
        value: the stored VolumeAttachment.
    """
    attachment: Object = orjson.loads(value)
    spec, status = attachment.get("spec") or {}, attachment.get("status") or {}
    error = status.get("attachError")
    return Attachment(
        node=spec.get("nodeName") or "",
        driver=spec.get("attacher") or "",
        volume=(spec.get("source") or {}).get("persistentVolumeName") or "",
        attached=bool(status.get("attached")),
        error="" if error is None else error.get("message") or "it cannot be attached",
        deleting="deletionTimestamp" in attachment["metadata"],
    )


def node_view(value: bytes) -> NodeVolumes:
    """What is kept of a node.

    Args:
        value: the stored node.
    """
    node: Object = orjson.loads(value)
    meta, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
    return NodeVolumes(
        managed=(meta.get("annotations") or {}).get(MANAGED) == "true",
        ready=any(
            one.get("type") == "Ready" and one.get("status") == "True"
            for one in status.get("conditions") or ()
        ),
        out_of_service=any(one.get("key") == OUT_OF_SERVICE for one in spec.get("taints") or ()),
        attached=tuple(one["name"] for one in status.get("volumesAttached") or ()),
        in_use=tuple(status.get("volumesInUse") or ()),
    )


def with_attached(node: Object, unique_name: str) -> Object:
    """A node that is told of a volume.

    Args:
        node: as stored; it is not changed.
        unique_name: of the volume.
    """
    status = node.get("status") or {}
    attached = status.get("volumesAttached") or []
    if any(one["name"] == unique_name for one in attached):
        return node
    more = {"name": unique_name, "devicePath": ""}
    return {**node, "status": {**status, "volumesAttached": [*attached, more]}}


def without_attached(node: Object, unique_name: str) -> Object:
    """A node that is not told of a volume; for the arguments see `with_attached`."""
    status = node.get("status") or {}
    attached = status.get("volumesAttached") or []
    left = [one for one in attached if one["name"] != unique_name]
    if len(left) == len(attached):
        return node
    rest = {name: value for name, value in status.items() if name != "volumesAttached"}
    return {**node, "status": {**rest, **({"volumesAttached": left} if left else {})}}


def with_in_use(node: Object, names: list[str]) -> Object:
    """A node whose kubelet has volumes in use.

    Args:
        node: as stored; it is not changed.
        names: unique names of all of them.
    """
    status = node.get("status") or {}
    if sorted(status.get("volumesInUse") or ()) == names:
        return node
    rest = {name: value for name, value in status.items() if name != "volumesInUse"}
    return {**node, "status": {**rest, **({"volumesInUse": names} if names else {})}}
