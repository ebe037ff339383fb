"""Which pods of an owner go first when it has too many.

Source: k8s.io/kubernetes/pkg/controller (``ActivePodsWithRanks``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cmp_to_key
from math import log2

from kubetrio.controllers.podcontrol.view import Pod

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANO = 1e9


def to_delete(pods: Sequence[Pod], related: Iterable[Pod], count: int, now: float) -> Sequence[Pod]:
    """The pods to delete.

    Args:
        pods: of the owner.
        related: these and those of owners with the same owner; the more of them a node has, the
            earlier its pods go.
        count: how many.
        now: wall clock, in seconds.
    """
    if count >= len(pods):
        return pods
    nodes = Counter(pod.node for pod in related if pod.active)

    def order(one: Pod, two: Pod) -> int:
        return _compare(one, two, nodes, now)

    return sorted(pods, key=cmp_to_key(order))[:count]


def in_active_order(pods: Iterable[Pod]) -> list[Pod]:
    """Pods in the order in which those go whose owner looks at no others (``ActivePods``)."""

    def order(one: Pod, two: Pod) -> int:
        return _simple(one, two)

    return sorted(pods, key=cmp_to_key(order))


def _first(one: float, two: float) -> int:
    """-1 where the first is the smaller one."""
    return (one > two) - (one < two)


def _before(one: Pod, two: Pod) -> int:
    """What comes before all else: without a node, in an early phase, not ready."""
    if one.node != two.node and not (one.node and two.node):
        return -1 if not one.node else 1
    return _first(_PHASES.get(one.phase, 0), _PHASES.get(two.phase, 0)) or _first(
        one.ready, two.ready
    )


def _compare(one: Pod, two: Pod, nodes: Counter[str], now: float) -> int:
    order = (
        _before(one, two) or _first(one.cost, two.cost) or -_first(nodes[one.node], nodes[two.node])
    )
    if order:
        return order
    if one.ready and two.ready and one.ready_since != two.ready_since:
        return _younger(one, two, one.ready_since, two.ready_since, now)
    if order := _first(two.restarts[0], one.restarts[0]) or _first(
        two.restarts[1], one.restarts[1]
    ):
        return order
    if one.created != two.created:
        return _younger(one, two, one.created, two.created, now)
    return 0


def _simple(one: Pod, two: Pod) -> int:
    if order := _before(one, two):
        return order
    if one.ready and two.ready and one.ready_since != two.ready_since:
        return _newest(one.ready_since, two.ready_since)
    return (
        _first(two.restarts[0], one.restarts[0])
        or _first(two.restarts[1], one.restarts[1])
        or (_newest(one.created, two.created) if one.created != two.created else 0)
    )


def _newest(one: float, two: float) -> int:
    """-1 where the first time is the later one, or none."""
    if not one or not two:
        return -1 if not one else 1
    return -1 if one > two else 1


def _younger(one: Pod, two: Pod, since: float, other: float, now: float) -> int:
    """Ages of one power of two are the same; uids then decide."""
    if not since or not other:
        return _newest(since, other)
    ranks = _rank(now - since) - _rank(now - other)
    if ranks == 0:
        return -1 if one.uid < two.uid else 1
    return -1 if ranks < 0 else 1


def _rank(age_s: float) -> int:
    return int(log2(age_s * _NANO)) if age_s > 0 else -1
