"""Types of autoscaling/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import ObjectMeta

class CrossVersionObjectReference(TypedDict):
    """Points to an object of the same namespace."""

    apiVersion: NotRequired[str]
    kind: str
    name: str

class HorizontalPodAutoscaler(TypedDict):
    """Changes the number of pods of a workload to meet targets of metrics."""

    apiVersion: Literal["autoscaling/v1"]
    kind: Literal["HorizontalPodAutoscaler"]
    metadata: ObjectMeta
    spec: HorizontalPodAutoscalerSpec
    status: NotRequired[HorizontalPodAutoscalerStatus]

class HorizontalPodAutoscalerSpec(TypedDict):
    """Describes what is scaled and how."""

    maxReplicas: int
    minReplicas: NotRequired[int]
    scaleTargetRef: CrossVersionObjectReference
    targetCPUUtilizationPercentage: NotRequired[int]

class HorizontalPodAutoscalerStatus(TypedDict):
    """What was observed of an autoscaler."""

    currentCPUUtilizationPercentage: NotRequired[int]
    currentReplicas: int
    desiredReplicas: int
    lastScaleTime: NotRequired[str]
    observedGeneration: NotRequired[int]

class Scale(TypedDict):
    """The number of pods of a workload, in the form that all workloads share."""

    apiVersion: Literal["autoscaling/v1"]
    kind: Literal["Scale"]
    metadata: ObjectMeta
    spec: NotRequired[ScaleSpec]
    status: NotRequired[ScaleStatus]

class ScaleSpec(TypedDict):
    """How many pods are wanted."""

    replicas: NotRequired[int]

class ScaleStatus(TypedDict):
    """How many pods there are."""

    replicas: int
    selector: NotRequired[str]
