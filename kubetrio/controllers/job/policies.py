"""What a Job does about pods that failed, and when enough of them have succeeded.

Source: docs "Pod failure policy" and "Success policy"; k8s.io/kubernetes/pkg/controller/job
(``pod_failure_policy.go``, ``success_policy.go``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kubetrio.controllers.job import indexes
from kubetrio.controllers.job.indexes import Intervals
from kubetrio.controllers.podcontrol.view import Pod

Object = dict[str, Any]

IGNORE, FAIL_JOB, FAIL_INDEX = "Ignore", "FailJob", "FailIndex"


class Judged(NamedTuple):
    """What a policy says of a pod that failed.

    Args:
        counts: whether it counts as a failure.
        action: of the rule that fits, empty for none.
        message: why the Job fails, empty where it does not.
    """

    counts: bool = True
    action: str = ""
    message: str = ""


def judge(job: Object, pod: Pod) -> Judged:
    """What the failure policy of a Job says of a pod that failed.

    Args:
        job: the Job.
        pod: of it.
    """
    policy = job["spec"].get("podFailurePolicy") or {}
    for number, rule in enumerate(policy.get("rules") or ()):
        action, where = rule.get("action") or "", f"{pod.namespace}/{pod.name}"
        if rule.get("onExitCodes") is not None:
            ended = _exit(rule["onExitCodes"], pod)
            if ended is None:
                continue
            name, code = ended
            why = f"Container {name} for pod {where} failed with exit code {code}"
        elif rule.get("onPodConditions"):
            condition = _condition(rule["onPodConditions"], pod)
            if condition is None:
                continue
            why = f"Pod {where} has condition {condition}"
        else:
            continue
        message = f"{why} matching {action} rule at index {number}" if action == FAIL_JOB else ""
        return Judged(action != IGNORE, action, message)
    return Judged()


def _exit(rule: Object, pod: Pod) -> tuple[str, int] | None:
    container, values = rule.get("containerName"), rule.get("values") or ()
    for name, code in pod.run.exits if pod.run is not None else ():
        if container is not None and name != container:
            continue
        if (code in values) == (rule.get("operator") == "In"):
            return name, code
    return None


def _condition(patterns: list[Object], pod: Pod) -> str | None:
    pairs = {(one.get("type"), one.get("status")) for one in patterns}
    for type_, status in pod.run.conditions if pod.run is not None else ():
        if (type_, status) in pairs:
            return type_
    return None


def enough(job: Object, succeeded: Intervals) -> str:
    """Why a Job is done by its success policy; empty where it is not.

    Args:
        job: the Job, which is indexed.
        succeeded: indexes of pods that succeeded.
    """
    policy, completions = job["spec"].get("successPolicy") or {}, job["spec"].get("completions")
    if not succeeded:
        return ""
    for number, rule in enumerate(policy.get("rules") or ()):
        count, met = rule.get("succeededCount"), False
        if rule.get("succeededIndexes") is not None:
            required = indexes.parsed(rule["succeededIndexes"], int(completions or 0))
            if not required:
                continue
            both = indexes.common(required, succeeded)
            met = both == indexes.total(required) or (count is not None and both >= count)
        elif count is not None:
            met = indexes.total(succeeded) >= count
        if met:
            return f"Matched rules at index {number}"
    return ""
