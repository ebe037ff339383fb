"""Which pods of a DaemonSet are made and deleted, and what its status counts.

Without surge, an update deletes old pods as far as ``maxUnavailable`` allows; with surge, new pods
come beside old ones, which go when the new ones are available.

Source: k8s.io/kubernetes/pkg/controller/daemon (``podsShouldBeOnNode``, ``rollingUpdate``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kubetrio.controllers.daemonset.fitting import HASH, Fit
from kubetrio.controllers.podcontrol.view import OVER, Pod
from kubetrio.kinds.common.formats import number_or_percent

Object = dict[str, Any]

ROLLING = "RollingUpdate"


class Rules(NamedTuple):
    """What is to be known beside pods.

    Args:
        spec: of the DaemonSet.
        hash: of its newest revision.
        fits: by name of each node that there is, whether it is to have a pod.
        updated: whether a pod is of the newest revision.
        now: wall clock, in seconds.
    """

    spec: Object
    hash: str
    fits: Mapping[str, Fit]
    updated: Callable[[Pod], bool]
    now: float

    @property
    def min_ready_s(self) -> int:
        """How long a pod must have been ready, in seconds."""
        return int(self.spec.get("minReadySeconds") or 0)

    def serves(self, pod: Pod) -> bool:
        """Whether a pod is available."""
        return pod.available(self.min_ready_s, self.now)

    @property
    def desired(self) -> int:
        """How many nodes are to have a pod."""
        return sum(fit.runs for fit in self.fits.values())

    def limit(self, name: str, count: int) -> int:
        """``maxSurge`` or ``maxUnavailable`` of so many pods, rounded up."""
        strategy = self.spec.get("updateStrategy") or {}
        value = (strategy.get("rollingUpdate") or {}).get(name)
        if strategy.get("type") != ROLLING or value is None:
            return 0
        number = number_or_percent(value)
        return -(-number * count // 100) if isinstance(value, str) else number


@dataclass(slots=True)
class Plan:
    """What is to be done.

    Args:
        create: names of nodes that get a pod.
        delete: names of pods.
        failed: pods among those that have failed, by node; their deletion may have to wait.
        told: events: type, reason and message.
    """

    create: list[str] = field(default_factory=list)
    delete: list[str] = field(default_factory=list)
    failed: dict[str, list[Pod]] = field(default_factory=dict)
    told: list[tuple[str, str, str]] = field(default_factory=list)


def node_of(pod: Pod) -> str:
    """The node of a pod, or the one that it waits for."""
    return pod.node or pod.wanted_node


def by_node(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """Pods by their node; those that ended and are being deleted are no longer looked at."""
    on_nodes = dict[str, list[Pod]]()
    for pod in pods:
        if node_of(pod) and not (pod.phase in OVER and pod.deleting):
            on_nodes.setdefault(node_of(pod), []).append(pod)
    return on_nodes


def _age(pod: Pod) -> tuple[bool, float, str]:
    return not pod.node, pod.created, pod.name


def manage(rules: Rules, found: Mapping[str, Sequence[Pod]]) -> Plan:
    """Nodes that lack a pod, and pods that are too many or on the wrong node.

    Args:
        rules: of the DaemonSet.
        found: pods by node.
    """
    plan = Plan()
    surges = rules.limit("maxSurge", 1) > 0
    for node, fit in rules.fits.items():
        pods = found.get(node, ())
        if fit.runs and not pods:
            plan.create.append(node)
        elif fit.stays:
            running = _ended(plan, node, pods)
            if surges:
                _with_surge(plan, rules, node, fit, running)
            else:
                plan.delete += [pod.name for pod in sorted(running, key=_age)[1:]]
        else:
            plan.delete += [pod.name for pod in pods if not pod.deleting]
    for node, pods in found.items():
        if node not in rules.fits:
            plan.delete += [pod.name for pod in pods if not pod.node]
    return plan


def _ended(plan: Plan, node: str, pods: Sequence[Pod]) -> list[Pod]:
    """Note pods that ended; returns those that run."""
    running = list[Pod]()
    for pod in pods:
        if pod.deleting:
            continue
        where = f"{pod.namespace}/{pod.name} on node {node}"
        if pod.phase == "Failed":
            plan.failed.setdefault(node, []).append(pod)
        elif pod.phase == "Succeeded":
            message = f"Found succeeded daemon pod {where}, will try to delete it"
            plan.told.append(("Normal", "SucceededDaemonPod", message))
            plan.delete.append(pod.name)
        else:
            running.append(pod)
    return running


def _with_surge(plan: Plan, rules: Rules, node: str, fit: Fit, running: list[Pod]) -> None:
    if len(running) <= 1:
        if not running and fit.runs:
            plan.create.append(node)
        return
    new: Pod | None = None
    old: Pod | None = None
    for pod in sorted(running, key=_age):
        if pod.label_map.get(HASH) == rules.hash:
            if new is None:
                new = pod
                continue
        elif old is None:
            old = pod
            continue
        plan.delete.append(pod.name)
    if new is not None and old is not None and (not old.ready or rules.serves(new)):
        plan.delete.append(old.name)


def roll(rules: Rules, found: Mapping[str, Sequence[Pod]]) -> Plan:
    """The next step of an update; for the arguments see `manage`."""
    nodes = {node: list(pods) for node, pods in found.items()}
    for node, fit in rules.fits.items():
        if fit.runs:
            nodes.setdefault(node, [])
    surge = rules.limit("maxSurge", rules.desired)
    unavailable = rules.limit("maxUnavailable", rules.desired)
    if rules.desired > 0 and surge == unavailable == 0:
        unavailable = 1
    return _surge(rules, nodes, surge) if surge else _replace(rules, nodes, unavailable)


def _new_and_old(rules: Rules, pods: Sequence[Pod]) -> tuple[Pod | None, Pod | None] | None:
    """The pod of the newest revision and the other one; None where there are more."""
    staying = [pod for pod in pods if not pod.deleting]
    new = [pod for pod in staying if rules.updated(pod)]
    old = [pod for pod in staying if not rules.updated(pod)]
    if len(new) > 1 or len(old) > 1:
        return None
    return (new[0] if new else None), (old[0] if old else None)


def _replace(rules: Rules, nodes: Mapping[str, Sequence[Pod]], most: int) -> Plan:
    plan, missing, candidates = Plan(), 0, list[str]()
    for pods in nodes.values():
        both = _new_and_old(rules, pods)
        new, old = both if both is not None else (None, None)
        if (new is None) == (old is None):
            missing += 1
        elif new is not None:
            missing += not rules.serves(new)
        elif old is not None and not rules.serves(old):
            plan.delete.append(old.name)
            missing += 1
        elif old is not None:
            candidates.append(old.name)
    plan.delete += candidates[: max(most - missing, 0)]
    return plan


def _surge(rules: Rules, nodes: Mapping[str, Sequence[Pod]], most: int) -> Plan:
    plan, surging, serving = Plan(), 0, 0
    candidates, leaving = list[str](), list[str]()
    for node, pods in nodes.items():
        both = _new_and_old(rules, pods)
        if both is None:
            surging += 1
            continue
        new, old = both
        counted = old if old is not None else new
        serving += counted is not None and rules.serves(counted)
        if old is None:
            continue
        if new is not None:
            if rules.serves(new):
                plan.delete.append(old.name)
            else:
                surging += 1
            continue
        runs = node in rules.fits and rules.fits[node].runs
        if rules.serves(old):
            (candidates if runs else leaving).append(node if runs else old.name)
        elif runs:
            plan.create.append(node)
        else:
            plan.delete.append(old.name)
    plan.delete += leaving[: max(serving - rules.desired, 0)]
    plan.create += candidates[: max(most - surging, 0)]
    return plan


def status(rules: Rules, found: Mapping[str, Sequence[Pod]]) -> Object:
    """The numbers of the status; for the arguments see `manage`."""
    counted = dict.fromkeys(("current", "misscheduled", "ready", "updated", "available"), 0)
    for node, fit in rules.fits.items():
        pods = found.get(node)
        if not pods:
            continue
        if not fit.runs:
            counted["misscheduled"] += 1
            continue
        oldest = min(pods, key=_age)
        counted["current"] += 1
        counted["ready"] += oldest.ready
        counted["available"] += rules.serves(oldest)
        counted["updated"] += rules.updated(oldest)
    return {
        "currentNumberScheduled": counted["current"],
        "numberMisscheduled": counted["misscheduled"],
        "desiredNumberScheduled": rules.desired,
        "numberReady": counted["ready"],
        "updatedNumberScheduled": counted["updated"],
        "numberAvailable": counted["available"],
        "numberUnavailable": rules.desired - counted["available"],
    }
