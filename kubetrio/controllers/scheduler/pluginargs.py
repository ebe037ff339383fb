"""Arguments of plugins (``pluginConfig``), and the plugins that are made of them.

Source: docs "Scheduler Configuration", "Resource Bin Packing", "Pod Topology Spread Constraints"
(cluster-level defaults); k8s.io/kube-scheduler/config/v1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.framework import BEST, Check, Rejected
from kubetrio.controllers.scheduler.plugins import nodeaffinity, podaffinity, resources, spread
from kubetrio.controllers.scheduler.plugins.scoring import Rate, by_shape, least, most, rating
from kubetrio.controllers.scheduler.reading import ConfigurationError, Members
from kubetrio.controllers.scheduler.shapes import Constraint, PodView
from kubetrio.machinery.labels import NOTHING

Object = dict[str, Any]
MOST_SCORE = 10
"""The highest rating of a point of a shape."""


class Arguments(NamedTuple):
    """What the arguments of a plugin make of it.

    Args:
        prepare: in place of the usual one, None for no change.
        rate: the same.
        candidates: nodes that are tried for preemption, at least.
        candidate_share: the same in hundredths of all.
    """

    prepare: Callable[[PodView, Cluster], Check | Rejected | None] | None = None
    rate: Callable[[PodView, Cluster, Sequence[NodeState]], Sequence[int] | None] | None = None
    candidates: int = 100
    candidate_share: int = 10


def without_args() -> Arguments:
    """The arguments of a plugin that has none."""
    return Arguments()


def _resources(members: Members) -> list[tuple[str, int]]:
    chosen: list[tuple[str, int]] = []
    for one in members.each("resources"):
        name, weight = one.text("name"), one.number("weight", 1, 1, 100)
        one.end()
        if not name or name in dict(chosen):
            raise ConfigurationError(f"{one.path}.name: each needs a name of its own")
        chosen.append((name, weight))
    return chosen or [("cpu", 1), ("memory", 1)]


def _shape(members: Members) -> list[tuple[int, int]]:
    points: list[tuple[int, int]] = []
    for one in members.each("shape"):
        share, score = one.number("utilization", 0, 0, 100), one.number("score", 0, 0, MOST_SCORE)
        one.end()
        if points and share <= points[-1][0]:
            raise ConfigurationError(f"{one.path}.utilization must be more than the one before")
        points.append((share, score * BEST // MOST_SCORE))
    if not points:
        raise ConfigurationError(f"{members.path}.shape: needs a point")
    return points


def _strategy(members: Members) -> Rate:
    kind, chosen = members.text("type", "LeastAllocated"), _resources(members)
    ratio = members.member("requestedToCapacityRatio")
    if kind == "RequestedToCapacityRatio":
        rate = rating(by_shape(_shape(ratio)), chosen, shaped=True)
    elif kind in ("LeastAllocated", "MostAllocated"):
        rate = rating(least if kind == "LeastAllocated" else most, chosen)
    else:
        raise ConfigurationError(f"{members.path}.type: there is no strategy {kind!r}")
    ratio.end()
    members.end()
    return rate


def _fit(args: Members) -> Arguments:
    names, groups = args.texts("ignoredResources"), args.texts("ignoredResourceGroups")
    prepare = partial(resources.fits, ignored=names, groups=groups)
    return Arguments(prepare, _strategy(args.member("scoringStrategy")))


def _balanced(args: Members) -> Arguments:
    if sorted(_resources(args)) != [("cpu", 1), ("memory", 1)]:
        raise ConfigurationError(f"{args.path}.resources: only cpu and memory are balanced")
    return Arguments()


def _constraint(row: Members) -> Constraint:
    key, when = row.text("topologyKey"), row.text("whenUnsatisfiable")
    skew = row.number("maxSkew", 0, 1)
    if row.take("labelSelector"):
        raise ConfigurationError(f"{row.path}.labelSelector: is that of the pod's owners")
    row.end()
    if not key or not skew or when not in ("DoNotSchedule", "ScheduleAnyway"):
        text = "needs topologyKey, maxSkew, and whenUnsatisfiable: DoNotSchedule or ScheduleAnyway"
        raise ConfigurationError(f"{row.path}: {text}")
    return Constraint(key, skew, NOTHING, hard=when == "DoNotSchedule")


def _spread(args: Members) -> Arguments:
    rows = [_constraint(row) for row in args.each("defaultConstraints")]
    kind = args.text("defaultingType", "System")
    if kind not in ("System", "List"):
        raise ConfigurationError(f"{args.path}.defaultingType must be System or List")
    if kind == "System":
        if rows:
            text = "when .defaultingType is System there are none"
            raise ConfigurationError(f"{args.path}.defaultConstraints: {text}")
        return Arguments()
    usual = spread.Usual(tuple(rows), system=False)
    return Arguments(partial(spread.skewed, usual=usual), partial(spread.preferred, usual=usual))


def _pod_affinity(args: Members) -> Arguments:
    weight = args.number("hardPodAffinityWeight", podaffinity.REQUIRED_WEIGHT, 0, 100)
    ignores = args.flag("ignorePreferredTermsOfExistingPods")
    rate = partial(podaffinity.preferred, required_weight=weight, ignores=ignores)
    return Arguments(rate=rate)


def _node_affinity(args: Members) -> Arguments:
    added = args.take("addedAffinity")
    if added is None:
        return Arguments()
    if not isinstance(added, dict):
        raise ConfigurationError(f"{args.path}.addedAffinity must be an object")
    return Arguments(
        partial(nodeaffinity.not_selected, added=added),
        partial(nodeaffinity.preferred, added=added),
    )


def _preemption(args: Members) -> Arguments:
    share = args.number("minCandidateNodesPercentage", 10, 0, 100)
    count = args.number("minCandidateNodesAbsolute", 100, 0)
    if not share and not count:
        raise ConfigurationError(f"{args.path}: both numbers of candidates cannot be 0")
    return Arguments(candidates=count, candidate_share=share)


def _unused(*names: str) -> Callable[[Members], Arguments]:
    """Read arguments that change nothing here: nothing waits for what they limit."""

    def read(args: Members) -> Arguments:
        for name in names:
            args.take(name)
        return Arguments()

    return read


ARGUMENTS: Mapping[str, Callable[[Members], Arguments]] = {
    "DefaultPreemption": _preemption,
    "DynamicResources": _unused("filterTimeout", "bindingTimeout"),
    "InterPodAffinity": _pod_affinity,
    "NodeAffinity": _node_affinity,
    "NodeResourcesBalancedAllocation": _balanced,
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _spread,
    "VolumeBinding": _unused("bindTimeoutSeconds"),
}
"""Plugins with arguments, and what reads them."""
