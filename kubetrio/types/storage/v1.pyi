"""Types of storage/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.core.v1 import PersistentVolumeSpec, TopologySelectorTerm
from kubetrio.types.meta.v1 import LabelSelector, ObjectMeta

class CSIDriver(TypedDict):
    """A storage driver that is installed, and what it needs; named like the driver."""

    apiVersion: Literal["storage.k8s.io/v1"]
    kind: Literal["CSIDriver"]
    metadata: ObjectMeta
    spec: CSIDriverSpec

class CSIDriverSpec(TypedDict):
    """Describes a storage driver."""

    attachRequired: NotRequired[bool]
    fsGroupPolicy: NotRequired[str]
    nodeAllocatableUpdatePeriodSeconds: NotRequired[int]
    podInfoOnMount: NotRequired[bool]
    preventPodSchedulingIfMissing: NotRequired[bool]
    requiresRepublish: NotRequired[bool]
    seLinuxMount: NotRequired[bool]
    serviceAccountTokenInSecrets: NotRequired[bool]
    storageCapacity: NotRequired[bool]
    tokenRequests: NotRequired[list[TokenRequest]]
    volumeLifecycleModes: NotRequired[list[str]]

class CSINode(TypedDict):
    """Storage drivers of a node; named like the node."""

    apiVersion: Literal["storage.k8s.io/v1"]
    kind: Literal["CSINode"]
    metadata: ObjectMeta
    spec: CSINodeSpec

class CSINodeDriver(TypedDict):
    """A storage driver on a node."""

    allocatable: NotRequired[VolumeNodeResources]
    name: str
    nodeID: str
    topologyKeys: NotRequired[list[str]]

class CSINodeSpec(TypedDict):
    """Describes the storage drivers of a node."""

    drivers: list[CSINodeDriver]

class CSIStorageCapacity(TypedDict):
    """How much storage of a class there is for some nodes; published by drivers."""

    apiVersion: Literal["storage.k8s.io/v1"]
    kind: Literal["CSIStorageCapacity"]
    metadata: ObjectMeta
    capacity: NotRequired[str]
    maximumVolumeSize: NotRequired[str]
    nodeTopology: NotRequired[LabelSelector]
    storageClassName: str

class StorageClass(TypedDict):
    """A kind of storage, and how volumes of it are made."""

    apiVersion: Literal["storage.k8s.io/v1"]
    kind: Literal["StorageClass"]
    metadata: ObjectMeta
    allowVolumeExpansion: NotRequired[bool]
    allowedTopologies: NotRequired[list[TopologySelectorTerm]]
    mountOptions: NotRequired[list[str]]
    parameters: NotRequired[dict[str, str]]
    provisioner: str
    reclaimPolicy: NotRequired[Literal["Delete", "Recycle", "Retain"]]
    volumeBindingMode: NotRequired[Literal["Immediate", "WaitForFirstConsumer"]]

class TokenRequest(TypedDict):
    """A token of a pod's service account that a driver gets."""

    audience: str
    expirationSeconds: NotRequired[int]

class VolumeAttachment(TypedDict):
    """Asks for a volume to be attached to a node, or detached when it is deleted."""

    apiVersion: Literal["storage.k8s.io/v1"]
    kind: Literal["VolumeAttachment"]
    metadata: ObjectMeta
    spec: VolumeAttachmentSpec
    status: NotRequired[VolumeAttachmentStatus]

class VolumeAttachmentSource(TypedDict):
    """The volume to attach; one field is set."""

    inlineVolumeSpec: NotRequired[PersistentVolumeSpec]
    persistentVolumeName: NotRequired[str]

class VolumeAttachmentSpec(TypedDict):
    """Describes a volume and a node; cannot be changed."""

    attacher: str
    nodeName: str
    source: VolumeAttachmentSource

class VolumeAttachmentStatus(TypedDict):
    """What was observed of an attachment."""

    attachError: NotRequired[VolumeError]
    attached: bool
    attachmentMetadata: NotRequired[dict[str, str]]
    detachError: NotRequired[VolumeError]

class VolumeAttributesClass(TypedDict):
    """Properties of volumes that can be changed while they are in use."""

    apiVersion: Literal["storage.k8s.io/v1"]
    kind: Literal["VolumeAttributesClass"]
    metadata: ObjectMeta
    driverName: str
    parameters: NotRequired[dict[str, str]]

class VolumeError(TypedDict):
    """An error of attaching or detaching."""

    errorCode: NotRequired[int]
    message: NotRequired[str]
    time: NotRequired[str]

class VolumeNodeResources(TypedDict):
    """How many volumes of a driver a node can take."""

    count: NotRequired[int]
