"""Types of autoscaling/v2; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import LabelSelector, ObjectMeta

class ContainerResourceMetricSource(TypedDict):
    """Use of a resource by one container of each pod."""

    container: str
    name: str
    target: MetricTarget

class ContainerResourceMetricStatus(TypedDict):
    """Last use of a resource by one container of each pod."""

    container: str
    current: MetricValueStatus
    name: str

class CrossVersionObjectReference(TypedDict):
    """Points to an object of the same namespace."""

    apiVersion: NotRequired[str]
    kind: str
    name: str

class ExternalMetricSource(TypedDict):
    """A metric from outside the cluster, such as the length of a queue."""

    metric: MetricIdentifier
    target: MetricTarget

class ExternalMetricStatus(TypedDict):
    """Last value of a metric from outside the cluster."""

    current: MetricValueStatus
    metric: MetricIdentifier

class HPAScalingPolicy(TypedDict):
    """How much may be changed within a time."""

    periodSeconds: int
    type: str
    value: int

class HPAScalingRules(TypedDict):
    """How fast to scale in one direction."""

    policies: NotRequired[list[HPAScalingPolicy]]
    selectPolicy: NotRequired[str]
    stabilizationWindowSeconds: NotRequired[int]
    tolerance: NotRequired[str]

class HorizontalPodAutoscaler(TypedDict):
    """Changes the number of pods of a workload to meet targets of metrics."""

    apiVersion: Literal["autoscaling/v2"]
    kind: Literal["HorizontalPodAutoscaler"]
    metadata: ObjectMeta
    spec: HorizontalPodAutoscalerSpec
    status: NotRequired[HorizontalPodAutoscalerStatus]

class HorizontalPodAutoscalerBehavior(TypedDict):
    """How fast to scale."""

    scaleDown: NotRequired[HPAScalingRules]
    scaleUp: NotRequired[HPAScalingRules]

class HorizontalPodAutoscalerCondition(TypedDict):
    """One aspect of an autoscaler's state, such as AbleToScale."""

    lastTransitionTime: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    status: str
    type: str

class HorizontalPodAutoscalerSpec(TypedDict):
    """Describes what is scaled and how."""

    behavior: NotRequired[HorizontalPodAutoscalerBehavior]
    maxReplicas: int
    metrics: NotRequired[list[MetricSpec]]
    minReplicas: NotRequired[int]
    scaleTargetRef: CrossVersionObjectReference

class HorizontalPodAutoscalerStatus(TypedDict):
    """What was observed of an autoscaler."""

    conditions: NotRequired[list[HorizontalPodAutoscalerCondition]]
    currentMetrics: NotRequired[list[MetricStatus]]
    currentReplicas: NotRequired[int]
    desiredReplicas: int
    lastScaleTime: NotRequired[str]
    observedGeneration: NotRequired[int]

class MetricIdentifier(TypedDict):
    """Names a metric."""

    name: str
    selector: NotRequired[LabelSelector]

class MetricSpec(TypedDict):
    """A metric and its target; the field that type names is set."""

    containerResource: NotRequired[ContainerResourceMetricSource]
    external: NotRequired[ExternalMetricSource]
    object: NotRequired[ObjectMetricSource]
    pods: NotRequired[PodsMetricSource]
    resource: NotRequired[ResourceMetricSource]
    type: str

class MetricStatus(TypedDict):
    """Last value of a metric; the field that type names is set."""

    containerResource: NotRequired[ContainerResourceMetricStatus]
    external: NotRequired[ExternalMetricStatus]
    object: NotRequired[ObjectMetricStatus]
    pods: NotRequired[PodsMetricStatus]
    resource: NotRequired[ResourceMetricStatus]
    type: str

class MetricTarget(TypedDict):
    """The value that a metric should reach."""

    averageUtilization: NotRequired[int]
    averageValue: NotRequired[str]
    type: str
    value: NotRequired[str]

class MetricValueStatus(TypedDict):
    """Last value of a metric."""

    averageUtilization: NotRequired[int]
    averageValue: NotRequired[str]
    value: NotRequired[str]

class ObjectMetricSource(TypedDict):
    """A metric of one object, such as the requests per second of an Ingress."""

    describedObject: CrossVersionObjectReference
    metric: MetricIdentifier
    target: MetricTarget

class ObjectMetricStatus(TypedDict):
    """Last value of a metric of one object."""

    current: MetricValueStatus
    describedObject: CrossVersionObjectReference
    metric: MetricIdentifier

class PodsMetricSource(TypedDict):
    """A metric of each pod, averaged over them."""

    metric: MetricIdentifier
    target: MetricTarget

class PodsMetricStatus(TypedDict):
    """Last value of a metric of the pods."""

    current: MetricValueStatus
    metric: MetricIdentifier

class ResourceMetricSource(TypedDict):
    """Use of a resource by the pods."""

    name: str
    target: MetricTarget

class ResourceMetricStatus(TypedDict):
    """Last use of a resource by the pods."""

    current: MetricValueStatus
    name: str
