"""Eviction: a deletion that disruption budgets may refuse.

Source: docs "API-initiated Eviction", "Disruptions"; KEP-3017 (unhealthy pods).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from kubetrio.kinds.common.defaulters import ordered
from kubetrio.kinds.core.pods.conditions import set_condition, set_pod_condition
from kubetrio.machinery import labels
from kubetrio.machinery.fielderrors import invalid as invalid_value
from kubetrio.machinery.names import GroupKind, GroupResource
from kubetrio.machinery.status import (
    ApiError,
    bad_request,
    forbidden,
    internal_error,
    invalid,
    too_many_requests,
)

Object = dict[str, Any]

BUDGET = GroupResource("policy", "poddisruptionbudget")
VIOLATION = "Cannot evict pod as it would violate the pod's disruption budget."
MAX_DISRUPTED_PODS = 2000
UNREADABLE = "ignoreStoreReadErrorWithClusterBreakingPotential"
_STATUS = "io.k8s.api.policy.v1.PodDisruptionBudgetStatus"


class Guard(enum.Enum):
    """What a budget means for the eviction of one pod."""

    FREE = enum.auto()  # it does not count: delete it
    PINNED = enum.auto()  # it does not count as long as it stays what it is: delete this version
    COUNTED = enum.auto()  # one disruption has to be taken from the budget


def check_eviction(eviction: Object, name: str) -> None:
    """The body must name the pod of the path, and cannot ask for a deletion of what is unreadable.

    Raises:
        ApiError: 400 or 422.
    """
    if (eviction.get("metadata") or {}).get("name", "") != name:
        raise bad_request("name in URL does not match name in Eviction object")
    if (eviction.get("deleteOptions") or {}).get(UNREADABLE):
        detail = "can not be set for pod eviction, try after removing the option"
        cause = invalid_value(f"deleteOptions.{UNREADABLE}", True, detail)
        raise invalid(GroupKind("policy", "Eviction"), name, [cause])


def delete_options_of(eviction: Object, dry_run: Sequence[str]) -> Object:
    """The delete options of an eviction; dry run may be asked for in two places.

    Args:
        eviction: the decoded object.
        dry_run: values of the query parameter.

    Raises:
        ApiError: 500 when both places say something else; kube-apiserver gives it no reason.
    """
    chosen = dict(eviction.get("deleteOptions") or {})
    given = list(chosen.get("dryRun") or ())
    if not given:
        if dry_run:
            chosen["dryRun"] = list(dry_run)
    elif dry_run and given != list(dry_run):
        raise ApiError(
            500,
            "",
            "Non-matching dry-run options in request and content: "
            f"[{' '.join(dry_run)}] and [{' '.join(given)}]",
        )
    return chosen


def budgets_of(pod: Object, budgets: Sequence[Object]) -> list[Object]:
    """The budgets of the pod's namespace that select it.

    Args:
        pod: the pod.
        budgets: all budgets of its namespace.
    """
    own = pod["metadata"].get("labels") or {}
    if not own:
        return []
    selecting = []
    for budget in budgets:
        try:
            selector = labels.from_label_selector((budget.get("spec") or {}).get("selector"))
        except ValueError:
            continue
        if selector.matches(own):
            selecting.append(budget)
    return selecting


def ends_anyway(pod: Object) -> bool:
    """Whether a pod is no loss: not running yet, not any more, or on its way out."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or bool(
        pod["metadata"].get("deletionTimestamp")
    )


def is_ready(pod: Object) -> bool:
    """Whether a pod's ``Ready`` condition is true."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def guard_of(pod: Object, budgets: Sequence[Object]) -> Guard:
    """What the budgets that select a pod mean for its eviction.

    Raises:
        ApiError: 500 when there are several.
    """
    if not budgets:
        return Guard.FREE
    if len(budgets) > 1:
        raise internal_error(
            "This pod has more than one PodDisruptionBudget, "
            "which the eviction subresource does not support."
        )
    if is_ready(pod):
        return Guard.COUNTED
    budget = budgets[0]
    status = budget.get("status") or {}
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return Guard.PINNED
    desired = status.get("desiredHealthy") or 0
    if desired > 0 and (status.get("currentHealthy") or 0) >= desired:
        return Guard.PINNED
    return Guard.COUNTED


def refused(budget: str, why: str = "") -> ApiError:
    """429 in the name of a budget.

    Args:
        budget: its name.
        why: what stands in the way; that it is being worked on, when empty.
    """
    message = why or f"The disruption budget {budget} is still being processed by the server."
    error = too_many_requests(VIOLATION, 0)
    error.retry_after = None
    error.details = {"causes": [{"reason": "DisruptionBudget", "message": message}]}
    return error


def take_disruption(budget: Object, pod: str, now: str) -> Object:
    """A budget with one disruption less.

    Args:
        budget: the stored budget; not changed.
        pod: name of the pod that is going to be deleted.
        now: time of the eviction.

    Raises:
        ApiError: 403 or 429.
    """
    meta, status = budget["metadata"], dict(budget.get("status") or {})
    name = meta["name"]
    allowed = status.get("disruptionsAllowed") or 0
    if (status.get("observedGeneration") or 0) < (meta.get("generation") or 0):
        raise refused(name)
    if allowed < 0:
        raise forbidden(BUDGET, name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > MAX_DISRUPTED_PODS:
        raise forbidden(
            BUDGET,
            name,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        )
    conditions = list(status.get("conditions") or ())
    if allowed == 0:
        raise refused(name, _why_not(name, status, conditions))
    status["disruptionsAllowed"] = allowed - 1
    if allowed == 1:
        condition = {
            "type": "DisruptionAllowed",
            "status": "False",
            "reason": "InsufficientPods",
            "observedGeneration": status.get("observedGeneration") or 0,
        }
        status["conditions"] = set_condition(conditions, condition, now)
    pods = {**(status.get("disruptedPods") or {}), pod: now}
    status["disruptedPods"] = dict(sorted(pods.items()))
    return {**budget, "status": ordered(_STATUS, status)}


def _why_not(name: str, status: Object, conditions: Sequence[Object]) -> str:
    for condition in conditions:
        if condition["type"] == "DisruptionAllowed" and condition.get("reason") == "SyncFailed":
            return (
                f"The disruption budget {name} does not allow evicting pods currently because "
                f"it failed sync: {condition.get('message', '')}"
            )
    desired, current = status.get("desiredHealthy") or 0, status.get("currentHealthy") or 0
    return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"


def marked(pod: Object, now: str) -> Object:
    """A pod with the condition that says why it goes."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    return set_pod_condition(pod, condition, now)
