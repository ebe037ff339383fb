"""Types of apps/v1; made by python -m facts stubs."""

from typing import Any, Literal, NotRequired, TypedDict

from kubetrio.types.core.v1 import PersistentVolumeClaim, PodTemplateSpec
from kubetrio.types.meta.v1 import LabelSelector, ObjectMeta

class ControllerRevision(TypedDict):
    """A stored state of a DaemonSet or StatefulSet, to roll back to; it cannot be changed."""

    apiVersion: Literal["apps/v1"]
    kind: Literal["ControllerRevision"]
    metadata: ObjectMeta
    data: NotRequired[dict[str, Any]]
    revision: int

class DaemonSet(TypedDict):
    """Runs one pod on every node, or on every node of a selection."""

    apiVersion: Literal["apps/v1"]
    kind: Literal["DaemonSet"]
    metadata: ObjectMeta
    spec: DaemonSetSpec
    status: NotRequired[DaemonSetStatus]

class DaemonSetCondition(TypedDict):
    """One aspect of a DaemonSet's state."""

    lastTransitionTime: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    status: str
    type: str

class DaemonSetSpec(TypedDict):
    """Describes the pods of a DaemonSet."""

    minReadySeconds: NotRequired[int]
    revisionHistoryLimit: NotRequired[int]
    selector: LabelSelector
    template: PodTemplateSpec
    updateStrategy: NotRequired[DaemonSetUpdateStrategy]

class DaemonSetStatus(TypedDict):
    """What was observed of a DaemonSet."""

    collisionCount: NotRequired[int]
    conditions: NotRequired[list[DaemonSetCondition]]
    currentNumberScheduled: int
    desiredNumberScheduled: int
    numberAvailable: NotRequired[int]
    numberMisscheduled: int
    numberReady: int
    numberUnavailable: NotRequired[int]
    observedGeneration: NotRequired[int]
    updatedNumberScheduled: NotRequired[int]

class DaemonSetUpdateStrategy(TypedDict):
    """How the pods of a DaemonSet are replaced."""

    rollingUpdate: NotRequired[RollingUpdateDaemonSet]
    type: NotRequired[Literal["OnDelete", "RollingUpdate"]]

class Deployment(TypedDict):
    """Keeps a number of equal pods running and rolls out changes of them."""

    apiVersion: Literal["apps/v1"]
    kind: Literal["Deployment"]
    metadata: ObjectMeta
    spec: DeploymentSpec
    status: NotRequired[DeploymentStatus]

class DeploymentCondition(TypedDict):
    """One aspect of a Deployment's state: Available, Progressing or ReplicaFailure."""

    lastTransitionTime: NotRequired[str]
    lastUpdateTime: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    status: str
    type: str

class DeploymentSpec(TypedDict):
    """Describes the pods of a Deployment and how they are replaced."""

    minReadySeconds: NotRequired[int]
    paused: NotRequired[bool]
    progressDeadlineSeconds: NotRequired[int]
    replicas: NotRequired[int]
    revisionHistoryLimit: NotRequired[int]
    selector: LabelSelector
    strategy: NotRequired[DeploymentStrategy]
    template: PodTemplateSpec

class DeploymentStatus(TypedDict):
    """What was observed of a Deployment."""

    availableReplicas: NotRequired[int]
    collisionCount: NotRequired[int]
    conditions: NotRequired[list[DeploymentCondition]]
    observedGeneration: NotRequired[int]
    readyReplicas: NotRequired[int]
    replicas: NotRequired[int]
    terminatingReplicas: NotRequired[int]
    unavailableReplicas: NotRequired[int]
    updatedReplicas: NotRequired[int]

class DeploymentStrategy(TypedDict):
    """How the pods of a Deployment are replaced."""

    rollingUpdate: NotRequired[RollingUpdateDeployment]
    type: NotRequired[Literal["Recreate", "RollingUpdate"]]

class ReplicaSet(TypedDict):
    """Keeps a number of equal pods running; mostly made by a Deployment."""

    apiVersion: Literal["apps/v1"]
    kind: Literal["ReplicaSet"]
    metadata: ObjectMeta
    spec: ReplicaSetSpec
    status: NotRequired[ReplicaSetStatus]

class ReplicaSetCondition(TypedDict):
    """One aspect of a ReplicaSet's state, such as ReplicaFailure."""

    lastTransitionTime: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    status: str
    type: str

class ReplicaSetSpec(TypedDict):
    """Describes the pods of a ReplicaSet."""

    minReadySeconds: NotRequired[int]
    replicas: NotRequired[int]
    selector: LabelSelector
    template: NotRequired[PodTemplateSpec]

class ReplicaSetStatus(TypedDict):
    """What was observed of a ReplicaSet."""

    availableReplicas: NotRequired[int]
    conditions: NotRequired[list[ReplicaSetCondition]]
    fullyLabeledReplicas: NotRequired[int]
    observedGeneration: NotRequired[int]
    readyReplicas: NotRequired[int]
    replicas: int
    terminatingReplicas: NotRequired[int]

class RollingUpdateDaemonSet(TypedDict):
    """How pods of a DaemonSet are replaced bit by bit."""

    maxSurge: NotRequired[int | str]
    maxUnavailable: NotRequired[int | str]

class RollingUpdateDeployment(TypedDict):
    """How pods of a Deployment are replaced bit by bit."""

    maxSurge: NotRequired[int | str]
    maxUnavailable: NotRequired[int | str]

class RollingUpdateStatefulSetStrategy(TypedDict):
    """How pods of a StatefulSet are replaced bit by bit."""

    maxUnavailable: NotRequired[int | str]
    partition: NotRequired[int]

class StatefulSet(TypedDict):
    """Runs pods that have names and storage of their own, which stay the same when they are repl."""

    apiVersion: Literal["apps/v1"]
    kind: Literal["StatefulSet"]
    metadata: ObjectMeta
    spec: StatefulSetSpec
    status: NotRequired[StatefulSetStatus]

class StatefulSetCondition(TypedDict):
    """One aspect of a StatefulSet's state."""

    lastTransitionTime: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    status: str
    type: str

class StatefulSetOrdinals(TypedDict):
    """How the pods of a StatefulSet are numbered."""

    start: NotRequired[int]

class StatefulSetPersistentVolumeClaimRetentionPolicy(TypedDict):
    """What becomes of claims of a StatefulSet's pods."""

    whenDeleted: NotRequired[str]
    whenScaled: NotRequired[str]

class StatefulSetSpec(TypedDict):
    """Describes the pods of a StatefulSet and their storage."""

    minReadySeconds: NotRequired[int]
    ordinals: NotRequired[StatefulSetOrdinals]
    persistentVolumeClaimRetentionPolicy: NotRequired[StatefulSetPersistentVolumeClaimRetentionPolicy]
    podManagementPolicy: NotRequired[Literal["OrderedReady", "Parallel"]]
    replicas: NotRequired[int]
    revisionHistoryLimit: NotRequired[int]
    selector: LabelSelector
    serviceName: NotRequired[str]
    template: PodTemplateSpec
    updateStrategy: NotRequired[StatefulSetUpdateStrategy]
    volumeClaimTemplates: NotRequired[list[PersistentVolumeClaim]]

class StatefulSetStatus(TypedDict):
    """What was observed of a StatefulSet."""

    availableReplicas: NotRequired[int]
    collisionCount: NotRequired[int]
    conditions: NotRequired[list[StatefulSetCondition]]
    currentReplicas: NotRequired[int]
    currentRevision: NotRequired[str]
    observedGeneration: NotRequired[int]
    readyReplicas: NotRequired[int]
    replicas: int
    updateRevision: NotRequired[str]
    updatedReplicas: NotRequired[int]

class StatefulSetUpdateStrategy(TypedDict):
    """How the pods of a StatefulSet are replaced."""

    rollingUpdate: NotRequired[RollingUpdateStatefulSetStrategy]
    type: NotRequired[Literal["OnDelete", "RollingUpdate"]]
