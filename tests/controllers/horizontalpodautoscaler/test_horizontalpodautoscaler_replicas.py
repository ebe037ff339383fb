"""How many replicas metrics ask for, as tables."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.horizontalpodautoscaler.replicas import (
    NoProposal,
    Sample,
    Tolerances,
    Wanted,
    by_average,
    by_utilization,
    by_value,
    by_value_for_each,
)
from kubetrio.machinery.timestamps import format_time

NOW = 1_600_000_000.0
Object = dict[str, Any]


def pod(
    number: int,
    phase: str = "Running",
    ready: str = "True",
    *,
    started: float = NOW - 3600,
    since: float = NOW - 3500,
    deleting: bool = False,
    **spec: Any,
) -> Object:
    """A pod that requests a CPU and is ready for long."""
    meta: Object = {"name": f"p{number}"}
    if deleting:
        meta["deletionTimestamp"] = format_time(NOW)
    requests = {"requests": {"cpu": "1", "memory": "1Ki"}}
    conditions = [
        {"type": "Ready", "status": ready, "lastTransitionTime": format_time(since)}
    ]  # fmt: skip
    return {
        "metadata": meta,
        "spec": {"containers": [{"name": "c", "resources": requests}], **spec},
        "status": {
            "phase": phase,
            "startTime": format_time(started),
            "conditions": conditions if ready else [],
        },
    }


def wanted(
    pods: list[Object], current: int | None = None, tolerances: Tolerances | None = None
) -> Wanted:
    """What an autoscaler has."""
    count = len(pods) if current is None else current
    return Wanted(count, count, pods, tolerances or Tolerances(), NOW)


def samples(*millis: int | None) -> dict[str, Sample]:
    """Samples of the pods in order, None for one that is missing."""
    return {
        f"p{number}": Sample(NOW, 15.0, milli)
        for number, milli in enumerate(millis)
        if milli is not None
    }


RUNNING = [pod(0), pod(1), pod(2)]


@pytest.mark.parametrize(
    ("pods", "millis", "target", "replicas", "percent"),
    [
        (RUNNING, (300, 500, 700), 30, 5, 50),
        (RUNNING, (300, 500, 700), 50, 3, 50),
        (RUNNING, (510, 520, 530), 50, 3, 52),  # within 10 %
        (RUNNING, (100, 300, 500), 50, 2, 30),
        # a missing pod is taken for one that uses nothing when there would be more,
        (RUNNING, (1000, None, None), 50, 3, 100),
        (RUNNING, (1000, 1000, None), 30, 7, 100),
        # and for one that uses all that it requests when there would be fewer
        (RUNNING, (100, 100, None), 50, 3, 10),
        (RUNNING, (100, 100, None), 150, 2, 10),
        # those that are not ready slow a scale up and do not count otherwise
        ([pod(0), pod(1, ready="False", started=NOW - 60)], (900, 900), 30, 3, 90),
        ([pod(0), pod(1), pod(2, "Pending")], (500, 700, None), 50, 3, 60),
        ([pod(0), pod(1), pod(2, "Pending")], (100, 200, None), 50, 1, 15),
        # those that go or have failed do not count at all
        ([pod(0), pod(1), pod(2, deleting=True)], (300, 500, 10000), 20, 4, 40),
        ([pod(0), pod(1), pod(2, "Failed")], (300, 500, 10000), 20, 4, 40),
    ],
)
def test_utilization(
    pods: list[Object], millis: tuple[int, ...], target: int, replicas: int, percent: int
) -> None:
    """Replicas follow the use of CPU as a share of what is requested."""
    found = by_utilization(wanted(pods), samples(*millis), "cpu", "", target)
    assert (found.replicas, found.percent) == (replicas, percent)


@pytest.mark.parametrize(
    ("started", "since", "ready", "counts"),
    [
        (NOW - 3600, NOW - 3500, "True", True),
        (NOW - 60, NOW - 5, "True", False),  # less than a window since it became ready
        (NOW - 60, NOW - 20, "True", True),
        (NOW - 60, NOW - 20, "False", False),
        (NOW - 3600, NOW - 3599, "False", False),  # never was ready
        (NOW - 3600, NOW - 60, "False", True),  # was ready once
        (NOW - 3600, NOW - 3500, "", False),
    ],
)
def test_cpu_of_pods_that_start(started: float, since: float, ready: str, counts: bool) -> None:
    """It does not count until a pod was ready for a window; memory does."""
    one = [pod(0, ready=ready, started=started, since=since)]
    assert by_utilization(wanted(one), samples(512_000), "memory", "", 100).percent == 50
    if counts:
        assert by_utilization(wanted(one), samples(900), "cpu", "", 30).replicas == 3
    else:
        with pytest.raises(NoProposal, match=r"did not receive metrics for targeted pods \(pods"):
            by_utilization(wanted(one), samples(900), "cpu", "", 30)


@pytest.mark.parametrize(
    ("spec", "container", "text"),
    [
        ({"containers": [{"name": "c"}]}, "", "missing request for cpu in container c of Pod p0"),
        ({}, "d", "container d not found in Pod p0"),
        (
            {"resources": {"requests": {"memory": "1Gi"}}, "containers": [{"name": "c"}]},
            "",
            "missing pod-level request for cpu in Pod p0",
        ),
    ],
)
def test_missing_requests(spec: Object, container: str, text: str) -> None:
    """They are named."""
    one = pod(0)
    one["spec"].update(spec)
    with pytest.raises(NoProposal) as caught:
        by_utilization(wanted([one]), samples(500), "cpu", container, 30)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("spec", "container", "percent"),
    [
        ({}, "", 50),
        ({"resources": {"requests": {"cpu": "2"}}}, "", 25),
        ({"resources": {"requests": {"cpu": "2"}}}, "c", 50),
        (
            {"initContainers": [
                {"name": "s", "restartPolicy": "Always",
                 "resources": {"requests": {"cpu": "1"}}},
                {"name": "i"},
            ]},
            "",
            25,
        ),
    ],
)  # fmt: skip
def test_requests_that_count(spec: Object, container: str, percent: int) -> None:
    """Those of the pod itself, of its containers and sidecars, or of the one named."""
    one = pod(0, **spec)
    found = by_utilization(wanted([one]), samples(500), "cpu", container, 50)
    assert found.percent == percent


def test_without_pods() -> None:
    """Nothing can be computed."""
    with pytest.raises(NoProposal, match="no pods returned by selector"):
        by_utilization(wanted([]), samples(500), "cpu", "", 30)
    with pytest.raises(NoProposal, match="unable to calculate ready pods: no pods returned"):
        by_value(wanted([], 3), 5000, 1000)


@pytest.mark.parametrize(
    ("millis", "target", "replicas", "average"),
    [
        ((10_000, 20_000, 30_000), 15_000, 4, 20_000),
        ((10_000, 20_000, 30_000), 19_000, 3, 20_000),
        ((10_000, 10_000, None), 20_000, 2, 10_000),
        ((50_000, None, None), 20_000, 3, 50_000),
        ((100, 100, 100), 1000, 1, 100),
    ],
)
def test_averages(millis: tuple[int, ...], target: int, replicas: int, average: int) -> None:
    """Replicas follow the average of a metric; a missing pod has the target."""
    found = by_average(wanted(RUNNING), samples(*millis), target)
    assert (found.replicas, found.milli) == (replicas, average)


@pytest.mark.parametrize(
    ("current", "milli", "target", "replicas"),
    [
        (3, 20_000, 15_000, 4),
        (3, 15_500, 15_000, 3),
        (3, 5_000, 15_000, 1),
        (0, 20_000, 15_000, 2),
        (3, 10**18, 1, (1 << 31) - 1),
    ],
)
def test_values(current: int, milli: int, target: int, replicas: int) -> None:
    """Replicas that are ready follow the ratio of one value to its target."""
    assert by_value(wanted(RUNNING, current), milli, target).replicas == replicas


@pytest.mark.parametrize(
    ("actual", "milli", "target", "replicas", "average"),
    [
        (3, 20_000, 5_000, 4, 6_667),
        (3, 15_500, 5_000, 3, 5_167),
        (0, 15_000, 5_000, 3, 15_000),
    ],
)
def test_values_for_each(actual: int, milli: int, target: int, replicas: int, average: int) -> None:
    """Replicas follow the share of each in one value."""
    found = by_value_for_each(wanted(RUNNING, actual), milli, target)
    assert (found.replicas, found.milli) == (replicas, average)


def test_tolerances() -> None:
    """Each direction has its own."""
    exact = wanted(RUNNING, tolerances=Tolerances(0.0, 0.5))
    assert by_average(exact, samples(1400, 1400, 1400), 1000).replicas == 3
    assert by_average(exact, samples(600, 600, 600), 1000).replicas == 2
    assert by_average(exact, samples(1600, 1600, 1600), 1000).replicas == 5
