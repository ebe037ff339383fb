"""Types of scheduling/v1alpha2; made by python -m facts stubs."""

from typing import Any, Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import Condition, ObjectMeta

class GangSchedulingPolicy(TypedDict):
    """Pods of the group are scheduled together or not at all."""

    minCount: int

class PodGroup(TypedDict):
    """Pods that are scheduled as a group."""

    apiVersion: Literal["scheduling.k8s.io/v1alpha2"]
    kind: Literal["PodGroup"]
    metadata: NotRequired[ObjectMeta]
    spec: PodGroupSpec
    status: NotRequired[PodGroupStatus]

class PodGroupResourceClaim(TypedDict):
    """A claim of devices that the pods of a group share; one of the two sources is set."""

    name: str
    resourceClaimName: NotRequired[str]
    resourceClaimTemplateName: NotRequired[str]

class PodGroupResourceClaimStatus(TypedDict):
    """The claim that was made for a group from a template."""

    name: str
    resourceClaimName: NotRequired[str]

class PodGroupSchedulingConstraints(TypedDict):
    """Where the pods of a group may run."""

    topology: NotRequired[list[TopologyConstraint]]

class PodGroupSchedulingPolicy(TypedDict):
    """How a group is scheduled; one field is set."""

    basic: NotRequired[dict[str, Any]]
    gang: NotRequired[GangSchedulingPolicy]

class PodGroupSpec(TypedDict):
    """Describes a group of pods; cannot be changed."""

    disruptionMode: NotRequired[str]
    podGroupTemplateRef: NotRequired[PodGroupTemplateReference]
    priority: NotRequired[int]
    priorityClassName: NotRequired[str]
    resourceClaims: NotRequired[list[PodGroupResourceClaim]]
    schedulingConstraints: NotRequired[PodGroupSchedulingConstraints]
    schedulingPolicy: PodGroupSchedulingPolicy

class PodGroupStatus(TypedDict):
    """What was observed of a group."""

    conditions: NotRequired[list[Condition]]
    resourceClaimStatuses: NotRequired[list[PodGroupResourceClaimStatus]]

class PodGroupTemplate(TypedDict):
    """A description of groups to be made."""

    disruptionMode: NotRequired[str]
    name: str
    priority: NotRequired[int]
    priorityClassName: NotRequired[str]
    resourceClaims: NotRequired[list[PodGroupResourceClaim]]
    schedulingConstraints: NotRequired[PodGroupSchedulingConstraints]
    schedulingPolicy: PodGroupSchedulingPolicy

class PodGroupTemplateReference(TypedDict):
    """Points to the template of a group."""

    workload: NotRequired[WorkloadPodGroupTemplateReference]

class TopologyConstraint(TypedDict):
    """A place that all pods of a group must share."""

    key: str

class TypedLocalObjectReference(TypedDict):
    """Points to an object in the same namespace."""

    apiGroup: NotRequired[str]
    kind: str
    name: str

class Workload(TypedDict):
    """Groups of pods that belong together, and how they are scheduled."""

    apiVersion: Literal["scheduling.k8s.io/v1alpha2"]
    kind: Literal["Workload"]
    metadata: NotRequired[ObjectMeta]
    spec: WorkloadSpec

class WorkloadPodGroupTemplateReference(TypedDict):
    """Points to a template of a Workload."""

    podGroupTemplateName: str
    workloadName: str

class WorkloadSpec(TypedDict):
    """Describes groups of pods; cannot be changed."""

    controllerRef: NotRequired[TypedLocalObjectReference]
    podGroupTemplates: list[PodGroupTemplate]
