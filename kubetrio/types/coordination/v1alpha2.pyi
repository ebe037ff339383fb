"""Types of coordination/v1alpha2; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import ObjectMeta

class LeaseCandidate(TypedDict):
    """Somebody who wants to hold a lease in coordinated election."""

    apiVersion: Literal["coordination.k8s.io/v1alpha2"]
    kind: Literal["LeaseCandidate"]
    metadata: NotRequired[ObjectMeta]
    spec: LeaseCandidateSpec

class LeaseCandidateSpec(TypedDict):
    """Describes a candidate for a lease."""

    binaryVersion: str
    emulationVersion: NotRequired[str]
    leaseName: str
    pingTime: NotRequired[str]
    renewTime: NotRequired[str]
    strategy: str
