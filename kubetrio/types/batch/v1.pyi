"""Types of batch/v1; made by python -m facts stubs."""

from typing import Literal, NotRequired, TypedDict

from kubetrio.types.core.v1 import ObjectReference, PodTemplateSpec
from kubetrio.types.meta.v1 import LabelSelector, ObjectMeta, TemplateMeta

class CronJob(TypedDict):
    """Makes Jobs by a schedule."""

    apiVersion: Literal["batch/v1"]
    kind: Literal["CronJob"]
    metadata: ObjectMeta
    spec: CronJobSpec
    status: NotRequired[CronJobStatus]

class CronJobSpec(TypedDict):
    """Describes the schedule and the Jobs of a CronJob."""

    concurrencyPolicy: NotRequired[Literal["Allow", "Forbid", "Replace"]]
    failedJobsHistoryLimit: NotRequired[int]
    jobTemplate: JobTemplateSpec
    schedule: str
    startingDeadlineSeconds: NotRequired[int]
    successfulJobsHistoryLimit: NotRequired[int]
    suspend: NotRequired[bool]
    timeZone: NotRequired[str]

class CronJobStatus(TypedDict):
    """What was observed of a CronJob."""

    active: NotRequired[list[ObjectReference]]
    lastScheduleTime: NotRequired[str]
    lastSuccessfulTime: NotRequired[str]

class Job(TypedDict):
    """Runs pods until a number of them have ended well."""

    apiVersion: Literal["batch/v1"]
    kind: Literal["Job"]
    metadata: ObjectMeta
    spec: JobSpec
    status: NotRequired[JobStatus]

class JobCondition(TypedDict):
    """One aspect of a Job's state, such as Complete, Failed or Suspended."""

    lastProbeTime: NotRequired[str]
    lastTransitionTime: NotRequired[str]
    message: NotRequired[str]
    reason: NotRequired[str]
    status: str
    type: str

class JobSpec(TypedDict):
    """Describes the work of a Job."""

    activeDeadlineSeconds: NotRequired[int]
    backoffLimit: NotRequired[int]
    backoffLimitPerIndex: NotRequired[int]
    completionMode: NotRequired[Literal["Indexed", "NonIndexed"]]
    completions: NotRequired[int]
    managedBy: NotRequired[str]
    manualSelector: NotRequired[bool]
    maxFailedIndexes: NotRequired[int]
    parallelism: NotRequired[int]
    podFailurePolicy: NotRequired[PodFailurePolicy]
    podReplacementPolicy: NotRequired[Literal["Failed", "TerminatingOrFailed"]]
    selector: NotRequired[LabelSelector]
    successPolicy: NotRequired[SuccessPolicy]
    suspend: NotRequired[bool]
    template: PodTemplateSpec
    ttlSecondsAfterFinished: NotRequired[int]

class JobStatus(TypedDict):
    """What was observed of a Job."""

    active: NotRequired[int]
    completedIndexes: NotRequired[str]
    completionTime: NotRequired[str]
    conditions: NotRequired[list[JobCondition]]
    failed: NotRequired[int]
    failedIndexes: NotRequired[str]
    ready: NotRequired[int]
    startTime: NotRequired[str]
    succeeded: NotRequired[int]
    terminating: NotRequired[int]
    uncountedTerminatedPods: NotRequired[UncountedTerminatedPods]

class JobTemplateSpec(TypedDict):
    """A description of Jobs to be made."""

    metadata: NotRequired[TemplateMeta]
    spec: NotRequired[JobSpec]

class PodFailurePolicy(TypedDict):
    """What to do about failed pods."""

    rules: list[PodFailurePolicyRule]

class PodFailurePolicyOnExitCodesRequirement(TypedDict):
    """Chooses failed pods by exit codes of their containers."""

    containerName: NotRequired[str]
    operator: Literal["In", "NotIn"]
    values: list[int]

class PodFailurePolicyOnPodConditionsPattern(TypedDict):
    """Chooses failed pods by a condition."""

    status: NotRequired[str]
    type: str

class PodFailurePolicyRule(TypedDict):
    """What to do about certain failed pods; one of onExitCodes and onPodConditions is set."""

    action: Literal["Count", "FailIndex", "FailJob", "Ignore"]
    onExitCodes: NotRequired[PodFailurePolicyOnExitCodesRequirement]
    onPodConditions: NotRequired[list[PodFailurePolicyOnPodConditionsPattern]]

class SuccessPolicy(TypedDict):
    """When an Indexed Job has succeeded."""

    rules: list[SuccessPolicyRule]

class SuccessPolicyRule(TypedDict):
    """Which or how many indexes must have succeeded; at least one field is set."""

    succeededCount: NotRequired[int]
    succeededIndexes: NotRequired[str]

class UncountedTerminatedPods(TypedDict):
    """UIDs of pods that have ended but are not counted yet."""

    failed: NotRequired[list[str]]
    succeeded: NotRequired[list[str]]
