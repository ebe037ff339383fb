"""Types of policy/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import Condition, DeleteOptions, LabelSelector, ObjectMeta

class Eviction(TypedDict):
    """Asks for a pod to be deleted if its disruption budgets allow it."""

    apiVersion: Literal["policy/v1"]
    kind: Literal["Eviction"]
    metadata: NotRequired[ObjectMeta]
    deleteOptions: NotRequired[DeleteOptions]

class PodDisruptionBudget(TypedDict):
    """Limits how many pods of a set are down at once because somebody evicted them."""

    apiVersion: Literal["policy/v1"]
    kind: Literal["PodDisruptionBudget"]
    metadata: ObjectMeta
    spec: NotRequired[PodDisruptionBudgetSpec]
    status: NotRequired[PodDisruptionBudgetStatus]

class PodDisruptionBudgetSpec(TypedDict):
    """Describes the pods and the limit; one of maxUnavailable and minAvailable is set."""

    maxUnavailable: NotRequired[int | str]
    minAvailable: NotRequired[int | str]
    selector: NotRequired[LabelSelector]
    unhealthyPodEvictionPolicy: NotRequired[Literal["AlwaysAllow", "IfHealthyBudget"]]

class PodDisruptionBudgetStatus(TypedDict):
    """What was observed of a budget."""

    conditions: NotRequired[list[Condition]]
    currentHealthy: NotRequired[int]
    desiredHealthy: NotRequired[int]
    disruptedPods: NotRequired[dict[str, str]]
    disruptionsAllowed: NotRequired[int]
    expectedPods: NotRequired[int]
    observedGeneration: NotRequired[int]
