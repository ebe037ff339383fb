"""Types of apiserverinternal/v1alpha1; made by python -m facts stubs."""

from typing import Any, Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import ObjectMeta

class ServerStorageVersion(TypedDict):
    """What one API server says about a resource."""

    apiServerID: str
    decodableVersions: list[str]
    encodingVersion: str
    servedVersions: NotRequired[list[str]]

class StorageVersion(TypedDict):
    """The versions in which servers store a resource; named <group>.<resource>."""

    apiVersion: Literal["internal.apiserver.k8s.io/v1alpha1"]
    kind: Literal["StorageVersion"]
    metadata: ObjectMeta
    spec: NotRequired[dict[str, Any]]
    status: NotRequired[StorageVersionStatus]

class StorageVersionCondition(TypedDict):
    """One aspect of a storage version's state."""

    lastTransitionTime: NotRequired[str]
    message: str
    observedGeneration: NotRequired[int]
    reason: str
    status: str
    type: str

class StorageVersionStatus(TypedDict):
    """What servers say about a resource."""

    commonEncodingVersion: NotRequired[str]
    conditions: NotRequired[list[StorageVersionCondition]]
    storageVersions: NotRequired[list[ServerStorageVersion]]
