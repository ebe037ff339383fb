"""Types of scheduling/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.meta.v1 import ObjectMeta

class PriorityClass(TypedDict):
    """A name for a priority of pods."""

    apiVersion: Literal["scheduling.k8s.io/v1"]
    kind: Literal["PriorityClass"]
    metadata: ObjectMeta
    description: NotRequired[str]
    globalDefault: NotRequired[bool]
    preemptionPolicy: NotRequired[Literal["Never", "PreemptLowerPriority"]]
    value: NotRequired[int]
