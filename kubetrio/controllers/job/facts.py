"""What a Job's spec, status and pods say, in the words that the controller decides with.

Source: docs "Jobs"; k8s.io/kubernetes/pkg/controller/job.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubetrio.controllers.podcontrol.claims import Controlling
from kubetrio.controllers.podcontrol.podwriter import pod_from
from kubetrio.controllers.podcontrol.view import Pod
from kubetrio.machinery.timestamps import format_time

Object = dict[str, Any]

FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count"
CONTROLLER = "kubernetes.io/job-controller"
COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
FAILURE_TARGET, SUCCESS_MET = "FailureTarget", "SuccessCriteriaMet"
_ENV = "JOB_COMPLETION_INDEX"
_MOST_GENERATED = 58
_MOST = (1 << 31) - 1


def indexed(job: Object) -> bool:
    """Whether each pod has an index."""
    return bool(job["spec"].get("completionMode") == "Indexed")


def per_index(job: Object) -> int | None:
    """How many failures an index may have; None where they are not counted by index."""
    limit = job["spec"].get("backoffLimitPerIndex")
    return None if limit is None else int(limit)


def suspended(job: Object) -> bool:
    """Whether a Job is to have no pods."""
    return bool(job["spec"].get("suspend"))


def waits_for_failure(job: Object) -> bool:
    """Whether a pod that is being deleted is replaced only when it ended."""
    spec = job["spec"]
    return spec.get("podReplacementPolicy") == "Failed" or spec.get("podFailurePolicy") is not None


def finished(job: Object) -> bool:
    """Whether a Job is over."""
    return any(
        one.get("type") in (COMPLETE, FAILED) and one.get("status") == "True"
        for one in (job.get("status") or {}).get("conditions") or ()
    )


def managed_elsewhere(job: Object) -> bool:
    """Whether another controller has the Job."""
    name = job["spec"].get("managedBy")
    return name is not None and name != CONTROLLER


def has_failed(job: Object, pod: Pod) -> bool:
    """Whether a pod counts as failed; one that is deleted may count before it ended."""
    if pod.phase == "Failed":
        return True
    return not waits_for_failure(job) and pod.deleting and pod.phase != "Succeeded"


def tracked(pod: Pod) -> bool:
    """Whether a pod is not counted yet."""
    return FINALIZER in pod.finalizers


def _number(pod: Pod, name: str) -> int | None:
    text = dict(pod.annotations).get(name, "")
    return int(text) if text.isascii() and text.isdigit() else None


def index_of(pod: Pod) -> int:
    """The index of a pod, -1 for none."""
    index = _number(pod, INDEX)
    return -1 if index is None else index


def valid_index(job: Object, pod: Pod) -> bool:
    """Whether a pod's index is one of the Job's."""
    return 0 <= index_of(pod) < completions(job)


def completions(job: Object) -> int:
    """How many pods are to succeed; 0 where the Job does not say."""
    return int(job["spec"].get("completions") or 0)


def failures_of(pod: Pod, *, ignored: bool = False) -> int:
    """How many pods of a pod's index failed before it.

    Args:
        pod: the pod.
        ignored: those that do not count.
    """
    count = _number(pod, IGNORED if ignored else FAILURES) or 0
    return count if count <= _MOST else 0


def all_failures_of(pod: Pod) -> int:
    """How many pods of a pod's index failed before it, whether they count or not."""
    return failures_of(pod) + failures_of(pod, ignored=True)


def condition(type_: str, reason: str, message: str, now: float, status: str = "True") -> Object:
    """A condition of a Job; the time is the wall clock's, in seconds."""
    time = format_time(now)
    return {
        "type": type_,
        "status": status,
        "lastProbeTime": time,
        "lastTransitionTime": time,
        "reason": reason,
        "message": message,
    }


def ensured(conditions: Iterable[Object], new: Object) -> tuple[list[Object], bool]:
    """Conditions with one set in its place, and whether that is a change.

    One that is not true is set only where it was known before.
    """
    old = list(conditions)
    names = ("status", "reason", "message")
    for place, one in enumerate(old):
        if one.get("type") == new["type"]:
            if all((one.get(name) or "") == new[name] for name in names):
                return old, False
            return [*old[:place], new, *old[place + 1 :]], True
    return ([*old, new], True) if new["status"] != "False" else (old, False)


def new_pod(owner: Controlling, index: int | None, replaced: tuple[int, int] | None) -> Object:
    """A pod of a Job.

    Args:
        owner: the Job.
        index: of the pod, None where the Job has no indexes.
        replaced: how many pods of the index failed, and how many more failed and do not count;
            None where failures are not counted by index.
    """
    pod = pod_from(owner.obj["spec"].get("template") or {}, owner)
    meta, spec, name = pod["metadata"], pod["spec"], owner.meta["name"]
    finalizers = meta.get("finalizers") or []
    meta["finalizers"] = finalizers if FINALIZER in finalizers else [*finalizers, FINALIZER]
    if index is None:
        return pod
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        env = container.get("env") or []
        if not any(one.get("name") == _ENV for one in env):
            source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
            container["env"] = [*env, {"name": _ENV, "valueFrom": source}]
    annotations = {**(meta.get("annotations") or {}), INDEX: str(index)}
    if replaced is not None:
        counted, ignored = replaced
        annotations[FAILURES] = str(counted)
        if ignored:
            annotations[IGNORED] = str(ignored)
    meta["annotations"] = annotations
    meta["labels"] = {**(meta.get("labels") or {}), INDEX: str(index)}
    spec["hostname"] = f"{name}-{index}"
    tail = f"-{index}-"
    meta["generateName"] = f"{name[: _MOST_GENERATED - len(tail)]}{tail}"
    return pod
