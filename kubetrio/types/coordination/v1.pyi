"""Types of coordination/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import ObjectMeta

class Lease(TypedDict):
    """A claim to a role or sign of life that must be renewed, for leader election and heartbeats."""

    apiVersion: Literal["coordination.k8s.io/v1"]
    kind: Literal["Lease"]
    metadata: ObjectMeta
    spec: NotRequired[LeaseSpec]

class LeaseSpec(TypedDict):
    """Describes who holds a lease."""

    acquireTime: NotRequired[str]
    holderIdentity: NotRequired[str]
    leaseDurationSeconds: NotRequired[int]
    leaseTransitions: NotRequired[int]
    preferredHolder: NotRequired[str]
    renewTime: NotRequired[str]
    strategy: NotRequired[str]
