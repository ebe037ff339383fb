"""How many replicas a metric asks for.

Pods that are not ready, or of which nothing is known, are counted so that they slow scaling down.

Source: docs "Horizontal Pod Autoscaling" (algorithm details);
k8s.io/kubernetes/pkg/controller/podautoscaler/replica_calculator.go, metrics/utilization.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kubetrio.kinds.core import podresources
from kubetrio.machinery.quantity import from_json
from kubetrio.machinery.timestamps import parse_time

Object = dict[str, Any]
Values = Mapping[str, int]
"""Thousandths by the name of a pod."""

MOST = (1 << 31) - 1
INITIAL_S = 300.0
"""Seconds after a pod's start in which its CPU counts only when it is ready."""
READINESS_S = 30.0
"""Seconds after a pod's start in which a pod that is not ready counts as never ready."""
CPU = "cpu"


class NoProposal(Exception):
    """The number of replicas cannot be computed; the text says why."""


class Sample(NamedTuple):
    """A metric of a pod.

    Args:
        at: when it was taken, in seconds of the wall clock.
        window_s: over how many seconds.
        milli: thousandths.
    """

    at: float
    window_s: float
    milli: int


class Tolerances(NamedTuple):
    """By how much use may be off its target without a change, as fractions."""

    down: float = 0.1
    up: float = 0.1

    def cover(self, ratio: float) -> bool:
        """Whether a ratio of use to its target is near enough to 1."""
        return 1.0 - self.down <= ratio <= 1.0 + self.up


class Wanted(NamedTuple):
    """What an autoscaler has.

    Args:
        current: replicas that are wanted.
        actual: replicas that there are.
        pods: those that its target selects, as objects.
        tolerances: of its behavior.
        now: wall clock, in seconds.
    """

    current: int
    actual: int
    pods: Sequence[Object]
    tolerances: Tolerances
    now: float


class Proposal(NamedTuple):
    """What a metric asks for.

    Args:
        replicas: how many.
        milli: the value, or its average for each pod, in thousandths.
        percent: of what is requested; None where the target is no utilization.
    """

    replicas: int
    milli: int
    percent: int | None = None


class _Groups(NamedTuple):
    ready: int
    unready: Collection[str]
    missing: Collection[str]
    samples: Values


def by_utilization(
    wanted: Wanted, samples: Mapping[str, Sample], resource: str, container: str, target: int
) -> Proposal:
    """Propose replicas so that pods use a share of what they request.

    Args:
        wanted: what the autoscaler has.
        samples: use by the name of the pod.
        resource: its name.
        container: the only one that counts, empty for all.
        target: percent of the request.

    Raises:
        NoProposal: a request or all use is missing.
    """
    groups = _grouped(wanted, samples, resource)
    requests = {pod["metadata"]["name"]: _request(pod, resource, container) for pod in wanted.pods}
    ratio, percent, average = _utilization(groups.samples, requests, target)
    fallback = max(100, target)

    def again(values: Values) -> float:
        return _utilization(values, requests, target)[0]

    absent = {name: requests[name] * fallback // 100 for name in groups.missing}
    return Proposal(_settled(wanted, groups, ratio, again, absent), average, percent)


def by_average(
    wanted: Wanted, samples: Mapping[str, Sample], target: int, resource: str = ""
) -> Proposal:
    """Propose replicas so that the average of a metric of pods comes to a target.

    Args:
        wanted: what the autoscaler has.
        samples: the metric by the name of the pod.
        target: in thousandths.
        resource: that the metric is of, empty for none.

    Raises:
        NoProposal: all samples are missing.
    """
    groups = _grouped(wanted, samples, resource)

    def usage(values: Values) -> int:
        return _quotient(sum(values.values()), len(values))

    average = usage(groups.samples)
    absent = dict.fromkeys(groups.missing, target)
    ratio = average / target
    replicas = _settled(wanted, groups, ratio, lambda values: usage(values) / target, absent)
    return Proposal(replicas, average)


def by_value(wanted: Wanted, milli: int, target: int) -> Proposal:
    """Propose replicas so that one value comes to a target.

    Args:
        wanted: what the autoscaler has.
        milli: the value, in thousandths.
        target: in thousandths.

    Raises:
        NoProposal: there are no pods.
    """
    ratio = milli / target
    if not wanted.current:
        return Proposal(_whole(ratio), milli)
    if wanted.tolerances.cover(ratio):
        return Proposal(wanted.current, milli)
    if not wanted.pods:
        raise NoProposal(
            "unable to calculate ready pods: no pods returned by selector while calculating "
            "replica count"
        )
    ready = sum(_phase(pod) == "Running" and _ready(pod)[0] == "True" for pod in wanted.pods)
    return Proposal(_whole(ratio * ready), milli)


def by_value_for_each(wanted: Wanted, milli: int, target: int) -> Proposal:
    """Propose replicas so that the share of each in one value comes to a target.

    Args:
        wanted: what the autoscaler has.
        milli: the value, in thousandths.
        target: in thousandths.
    """
    replicas = wanted.actual
    share = target * replicas
    if not share or not wanted.tolerances.cover(milli / share):
        replicas = _whole(milli / target)
    average = math.ceil(milli / wanted.actual) if wanted.actual else milli
    return Proposal(replicas, average)


def _settled(
    wanted: Wanted,
    groups: _Groups,
    ratio: float,
    again: Callable[[Values], float],
    absent: Values,
) -> int:
    """The number of replicas by a ratio, with care for pods that say nothing yet.

    Args:
        wanted: what the autoscaler has.
        groups: its pods.
        ratio: of use to its target, of those that count.
        again: the ratio of other values.
        absent: what missing pods are taken to use when there would be fewer replicas.
    """
    current, tolerances = wanted.current, wanted.tolerances
    with_unready = bool(groups.unready) and ratio > 1.0
    if not with_unready and not groups.missing:
        return current if tolerances.cover(ratio) else _whole(ratio * groups.ready)
    values = dict(groups.samples)
    if ratio < 1.0:
        values.update(absent)
    elif ratio > 1.0:
        values.update(dict.fromkeys(groups.missing, 0))
    if with_unready:
        values.update(dict.fromkeys(groups.unready, 0))
    new = again(values)
    if tolerances.cover(new) or ratio < 1.0 < new or ratio > 1.0 > new:
        return current
    replicas = _whole(new * len(values))
    if (new < 1.0 and replicas > current) or (new > 1.0 and replicas < current):
        return current
    return replicas


def _utilization(values: Values, requests: Values, target: int) -> tuple[float, int, int]:
    """The ratio of use to its target, the percentage, and the average in thousandths.

    Raises:
        NoProposal: no pod with a value requests anything.
    """
    known = [name for name in values if name in requests]
    total, requested = sum(values[name] for name in known), sum(requests[name] for name in known)
    if not requested:
        raise NoProposal("no metrics returned matched known pods")
    percent = _quotient(total * 100, requested)
    return percent / target, percent, _quotient(total, len(known))


def _grouped(wanted: Wanted, samples: Mapping[str, Sample], resource: str) -> _Groups:
    """Sort pods by what their samples are worth.

    Raises:
        NoProposal: there are no pods, or no sample is worth anything.
    """
    if not wanted.pods:
        raise NoProposal("no pods returned by selector while calculating replica count")
    ready, unready, missing, ignored = 0, set[str](), set[str](), set[str]()
    for pod in wanted.pods:
        name = pod["metadata"]["name"]
        sample = samples.get(name)
        if "deletionTimestamp" in pod["metadata"] or _phase(pod) == "Failed":
            ignored.add(name)
        elif _phase(pod) == "Pending":
            unready.add(name)
        elif sample is None:
            missing.add(name)
        elif resource == CPU and _too_early(pod, sample, wanted.now):
            unready.add(name)
        else:
            ready += 1
    counted = {
        name: sample.milli
        for name, sample in samples.items()
        if name not in ignored and name not in unready
    }
    if not counted:
        raise NoProposal("did not receive metrics for targeted pods (pods might be unready)")
    return _Groups(ready, unready, missing, counted)


def _too_early(pod: Object, sample: Sample, now: float) -> bool:
    """Whether the CPU of a pod is not worth anything, for it starts or was never ready."""
    status, since = _ready(pod)
    started = (pod.get("status") or {}).get("startTime")
    if not status or not started:
        return True
    begun = parse_time(started)
    if begun + INITIAL_S > now:
        return status == "False" or sample.at < since + sample.window_s
    return status == "False" and begun + READINESS_S > since


def _ready(pod: Object) -> tuple[str, float]:
    """Status of the condition ``Ready``, and since when; empty and 0 without one."""
    for one in (pod.get("status") or {}).get("conditions") or ():
        if one.get("type") == "Ready":
            since = one.get("lastTransitionTime")
            return one.get("status") or "", parse_time(since) if since else 0.0
    return "", 0.0


def _phase(pod: Object) -> str:
    return (pod.get("status") or {}).get("phase") or ""


def _request(pod: Object, resource: str, container: str) -> int:
    """What a pod requests, or one of its containers, in thousandths.

    Raises:
        NoProposal: it requests nothing.
    """
    spec, name = pod["spec"], pod["metadata"]["name"]
    if not container and podresources.of_pod(spec, "requests"):
        requested = podresources.total(spec, "requests").get(resource)
        if requested is None:
            raise NoProposal(f"missing pod-level request for {resource} in Pod {name}")
        return requested.milli_value()
    total = 0
    for one in _lasting(spec):
        if container not in ("", one["name"]):
            continue
        request = ((one.get("resources") or {}).get("requests") or {}).get(resource)
        if request is None:
            what = f"missing request for {resource} in container {one['name']} of Pod {name}"
            raise NoProposal(what)
        total += from_json(request).milli_value()
        if container:
            return total
    if container:
        raise NoProposal(f"container {container} not found in Pod {name}")
    return total


def _lasting(spec: Object) -> Iterable[Object]:
    """Containers that run as long as the pod: those of the spec, and sidecars."""
    yield from spec.get("containers") or ()
    for one in spec.get("initContainers") or ():
        if one.get("restartPolicy") == "Always":
            yield one


def _whole(replicas: float) -> int:
    return min(math.ceil(replicas), MOST)


def _quotient(dividend: int, divisor: int) -> int:
    """As Go divides: towards zero."""
    quotient = abs(dividend) // divisor
    return -quotient if dividend < 0 else quotient
