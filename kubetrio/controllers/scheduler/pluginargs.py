"""Arguments of plugins (``pluginConfig``), and the plugins that are made of them.

Source: docs "Scheduler Configuration", "Resource Bin Packing", "Pod Topology Spread Constraints"
(cluster-level defaults); k8s.io/kube-scheduler/config/v1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kubetrio.controllers.scheduler.addedaffinity import added_affinity
from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.framework import BEST, Check, Rejected
from kubetrio.controllers.scheduler.plugins import (
    balance,
    nodeaffinity,
    podaffinity,
    resources,
    spread,
)
from kubetrio.controllers.scheduler.plugins.scoring import Rate, by_shape, least, most, rating
from kubetrio.controllers.scheduler.reading import Members
from kubetrio.controllers.scheduler.shapes import CPU, MEMORY, Constraint, PodView
from kubetrio.machinery.fielderrors import (
    Named,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kubetrio.machinery.labels import NOTHING
from kubetrio.machinery.names_validation import qualified_name

MOST_SCORE = 10
"""The highest rating of a point of a shape."""
MOST_WEIGHT = 100
"""The highest weight of a resource."""
STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
DEFAULTING = ("System", "List")


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
    """Names and weights; a weight of 0 is one of 1."""
    chosen = []
    for one in members.each("resources"):
        name, weight = one.text("name"), one.whole("weight", 1) or 1
        one.end()
        if not 0 < weight <= MOST_WEIGHT:
            text = f"resource weight of {name} not in valid range (0, {MOST_WEIGHT}]"
            one.say(invalid(one.at("weight"), weight, text))
        chosen.append((name, weight))
    return chosen or list(balance.USUAL)


def _shape(members: Members) -> list[tuple[int, int]]:
    points: list[tuple[int, int]] = []
    sorted_ = True
    for one in members.each("shape"):
        share, score = one.whole("utilization", 0), one.whole("score", 0)
        one.end()
        if sorted_ and points and share <= points[-1][0]:
            sorted_ = False
            text = "values must be sorted in increasing order"
            one.say(invalid(one.at("utilization"), share, text))
        for name, value, top in (("utilization", share, 100), ("score", score, MOST_SCORE)):
            if not 0 <= value <= top:
                one.say(invalid(one.at(name), value, f"not in valid range [0, {top}]"))
        points.append((share, score * BEST // MOST_SCORE))
    if not points:
        members.say(required(members.at("shape"), "at least one point must be specified"))
    return points


def _strategy(members: Members) -> Rate | None:
    if not members.there:
        return None
    kind, chosen = members.text("type"), _resources(members)
    ratio = members.member("requestedToCapacityRatio")
    members.end()
    if kind not in STRATEGIES:
        members.say(not_supported(members.at("type"), Named(kind), STRATEGIES))
        return None
    if kind != "RequestedToCapacityRatio":
        if ratio.there:
            text = "must be nil when type is not RequestedToCapacityRatio"
            members.say(forbidden(ratio.path, text))
        return rating(least if kind == "LeastAllocated" else most, chosen)
    if not ratio.there:
        text = "must be specified when type is RequestedToCapacityRatio"
        members.say(required(ratio.path, text))
        return None
    shape = _shape(ratio)
    ratio.end()
    return rating(by_shape(shape), chosen, shaped=True)


def _fit(args: Members) -> Arguments:
    names, groups = args.texts("ignoredResources"), args.texts("ignoredResourceGroups")
    for member, values in (("ignoredResources", names), ("ignoredResourceGroups", groups)):
        for number, value in enumerate(values):
            path = f"{args.at(member)}[{number}]"
            if member == "ignoredResourceGroups" and "/" in value:
                args.say(invalid(path, value, "resource group name can't contain '/'"))
            args.say(*(invalid(path, value, text) for text in qualified_name(value)))
    prepare = partial(resources.fits, ignored=frozenset(names), groups=frozenset(groups))
    return Arguments(prepare, _strategy(args.member("scoringStrategy")))


def _balanced(args: Members) -> Arguments:
    chosen: list[str] = []
    for one in args.each("resources"):
        name, weight = one.text("name"), one.whole("weight", 1) or 1
        one.end()
        if name in chosen:
            one.say(duplicate(one.at("name"), name))
        if weight != 1:
            one.say(invalid(one.at("weight"), weight, "must be 1"))
        chosen.append(name)
    if not chosen or sorted(chosen) == [CPU, MEMORY]:
        return Arguments()
    return Arguments(rate=partial(balance.balanced, names=tuple(chosen)))


def _constraint(row: Members) -> Constraint:
    key, when = row.text("topologyKey"), row.text("whenUnsatisfiable")
    skew = row.whole("maxSkew", 0)
    if skew <= 0:
        row.say(invalid(row.at("maxSkew"), skew, "not in valid range (0, inf)"))
    where = row.at("topologyKey")
    if not key:
        row.say(required(where, "can not be empty"))
    else:
        row.say(*(invalid(where, key, text) for text in qualified_name(key)))
    where = row.at("whenUnsatisfiable")
    if not when:
        row.say(required(where, "can not be empty"))
    elif when not in ACTIONS:
        row.say(not_supported(where, Named(when), ACTIONS))
    if row.take("labelSelector") is not None:
        text = "constraint must not define a selector, as they deduced for each pod"
        row.say(forbidden(row.at("labelSelector"), text))
    # They name labels of the pod for a selector that is not that of the pod's owners.
    row.texts("matchLabelKeys")
    constraint = Constraint(
        key,
        skew,
        NOTHING,
        hard=when == "DoNotSchedule",
        fewest_domains=row.whole("minDomains", 1),
        honors_affinity=row.text("nodeAffinityPolicy") != "Ignore",
        honors_taints=row.text("nodeTaintsPolicy") == "Honor",
    )
    row.end()
    return constraint


def _spread(args: Members) -> Arguments:
    rows: list[Constraint] = []
    kind, each = args.text("defaultingType", "System") or "System", args.each("defaultConstraints")
    where = args.at("defaultingType")
    if kind not in DEFAULTING:
        args.say(not_supported(where, Named(kind), DEFAULTING))
    elif kind == "System" and each:
        args.say(invalid(where, Named(kind), "when .defaultConstraints are not empty"))
    for row in each:
        one = _constraint(row)
        if any((one.topology, one.hard) == (other.topology, other.hard) for other in rows):
            action = ACTIONS[0] if one.hard else ACTIONS[1]
            row.say(duplicate(row.path, f"{{{one.topology}, {action}}}"))
        rows.append(one)
    if kind == "System":
        return Arguments()
    usual = spread.Usual(tuple(rows), system=False)
    return Arguments(partial(spread.skewed, usual=usual), partial(spread.preferred, usual=usual))


def _pod_affinity(args: Members) -> Arguments:
    weight = args.number("hardPodAffinityWeight", podaffinity.REQUIRED_WEIGHT, 0, 100)
    ignores = args.flag("ignorePreferredTermsOfExistingPods")
    rate = partial(podaffinity.preferred, required_weight=weight, ignores=ignores)
    return Arguments(rate=rate)


def _node_affinity(args: Members) -> Arguments:
    added = added_affinity(args.member("addedAffinity"))
    if added is None:
        return Arguments()
    return Arguments(
        partial(nodeaffinity.not_selected, added=added),
        partial(nodeaffinity.preferred, added=added),
    )


def _preemption(args: Members) -> Arguments:
    names = ("minCandidateNodesPercentage", "minCandidateNodesAbsolute")
    share, count = args.number(names[0], 10, 0, 100), args.number(names[1], 100, 0)
    if not share and not count:
        for name, other in (names, names[::-1]):
            text = f"cannot be zero at the same time as {other}"
            args.say(invalid(args.at(name), 0, text))
    return Arguments(candidates=count, candidate_share=share)


def _volumes(args: Members) -> Arguments:
    """Read arguments that change nothing: nothing waits for a claim to be bound."""
    text = "invalid BindTimeoutSeconds, should not be a negative value"
    args.number("bindTimeoutSeconds", 600, 0, text=text)
    shape = args.take("shape")
    if shape is not None:
        gate = "StorageCapacityScoring"
        text = f"unexpected field `shape`, remove it or turn on the feature gate {gate}"
        points = [
            {"Utilization": one.get("utilization", 0), "Score": one.get("score", 0)}
            for one in shape
        ]
        args.say(invalid(args.at("shape"), points, text))
    return Arguments()


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
    "VolumeBinding": _volumes,
}
"""Plugins with arguments, and what reads them."""
