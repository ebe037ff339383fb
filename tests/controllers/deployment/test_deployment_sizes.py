"""How many pods each ReplicaSet of a Deployment is to have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.controllers.deployment import sizes
from kubetrio.controllers.deployment.annotations import DESIRED_REPLICAS, MAX_REPLICAS
from kubetrio.controllers.deployment.sizes import Step

Object = dict[str, Any]


def deployment(
    replicas: int = 10, surge: int | str = 3, unavailable: int | str = 2, kind: str = sizes.ROLLING
) -> Object:
    """A Deployment."""
    strategy: Object = {"type": kind}
    if kind == sizes.ROLLING:
        strategy["rollingUpdate"] = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"metadata": {"name": "d"}, "spec": {"replicas": replicas, "strategy": strategy}}


def replica_set(
    name: str, replicas: int, available: int | None = None, most: int = 0, desired: int = 0
) -> Object:
    """A ReplicaSet whose name is its age."""
    annotations = {}
    if most:
        annotations = {MAX_REPLICAS: str(most), DESIRED_REPLICAS: str(desired)}
    has = replicas if available is None else available
    return {
        "metadata": {"name": name, "creationTimestamp": name, "annotations": annotations},
        "spec": {"replicas": replicas},
        "status": {"availableReplicas": has, "replicas": replicas},
    }


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "found"),
    [
        (10, "25%", "25%", (3, 2)),
        (1, "25%", "25%", (1, 0)),
        (2, "0%", "1%", (0, 1)),
        (1, "0%", "1%", (0, 1)),
        (2, "1%", "0%", (1, 0)),
        (2, 1, 5, (1, 2)),
        (0, "25%", "25%", (0, 0)),
    ],
)
def test_bounds(
    replicas: int, surge: int | str, unavailable: int | str, found: tuple[int, int]
) -> None:
    """Surge is rounded up, unavailability down, and one of them is not 0."""
    one = deployment(replicas, surge, unavailable)
    assert (sizes.max_surge(one), sizes.max_unavailable(one)) == found


def test_recreate_has_no_bounds() -> None:
    """All pods go before new ones come."""
    one = deployment(kind=sizes.RECREATE)
    assert (sizes.max_surge(one), sizes.max_unavailable(one)) == (0, 0)
    assert sizes.new_size(one, [], replica_set("1", 0)) == 10


@pytest.mark.parametrize(
    ("old", "new", "steps"),
    [(10, 0, [3]), (8, 3, [5]), (10, 3, []), (0, 10, []), (0, 12, [10]), (5, 9, []), (0, 9, [10])],
)
def test_the_newest_grows(old: int, new: int, steps: list[int]) -> None:
    """As far as surge allows."""
    newest = replica_set("2", new)
    found = sizes.grown(deployment(), [replica_set("1", old), newest], newest)
    assert found == [Step("2", size) for size in steps]


@pytest.mark.parametrize(
    ("old", "available", "new", "ready", "steps"),
    [
        (10, 10, 3, 0, [8]),
        (10, 10, 0, 0, [8]),
        (8, 8, 5, 5, [3]),
        (8, 8, 5, 0, []),
        (8, 7, 5, 0, []),
        (10, 8, 0, 0, [8]),
        (10, 9, 3, 3, [9, 5]),
        (0, 0, 10, 10, []),
    ],
)
def test_older_ones_shrink(
    old: int, available: int, new: int, ready: int, steps: list[int]
) -> None:
    """Pods that are not available first; then as many as can be spared."""
    older = replica_set("1", old, available)
    found = sizes.shrunk(deployment(), replica_set("2", new, ready), sizes.active([older]))
    assert found == [Step("1", size) for size in steps]


@pytest.mark.parametrize(
    ("replicas", "before", "after"),
    [
        (20, {"1": 8, "2": 5}, {"1": 14, "2": 9}),
        (5, {"1": 8, "2": 5}, {"1": 5, "2": 3}),
        (0, {"1": 8, "2": 5}, {"1": 0, "2": 0}),
        (10, {"1": 8, "2": 5}, {"1": 8, "2": 5}),
        (12, {"1": 5, "2": 5, "3": 3}, {"1": 6, "2": 6, "3": 3}),
    ],
)
def test_sizes_change_in_proportion(
    replicas: int, before: dict[str, int], after: dict[str, int]
) -> None:
    """What is left over goes to the largest."""
    found = [replica_set(name, size, most=13, desired=10) for name, size in before.items()]
    steps = sizes.rescaled(deployment(replicas), found[-1], found[:-1])
    assert {step.name: step.size for step in steps} == after
    assert all(step.force for step in steps)


def test_the_only_one_with_pods_gets_all() -> None:
    """Or the newest, where none has."""
    old, new = replica_set("1", 4), replica_set("2", 0)
    assert sizes.rescaled(deployment(6), new, [old]) == [Step("1", 6)]
    assert sizes.rescaled(deployment(6), new, [replica_set("1", 0)]) == [Step("2", 6)]
    assert sizes.rescaled(deployment(6), None, [replica_set("1", 0)]) == [Step("1", 6)]
    assert sizes.rescaled(deployment(4), new, [old]) == []
    assert sizes.rescaled(deployment(6), None, []) == []


def test_older_ones_go_when_the_newest_has_all() -> None:
    """All of its pods are available, and it knows the size."""
    new = replica_set("2", 10, most=13, desired=10)
    assert sizes.rescaled(deployment(), new, [replica_set("1", 2)]) == [Step("1", 0)]


def test_missing_annotations_do_not_matter() -> None:
    """The number of pods that there are stands in for them."""
    one = {**deployment(20), "status": {"replicas": 13}}
    found = [replica_set("1", 8), replica_set("2", 5)]
    assert sum(step.size for step in sizes.rescaled(one, found[1], found[:1])) == 23
    assert sizes.rescaled(deployment(20, kind=sizes.RECREATE), found[1], found[:1]) == []


Moves = st.lists(
    st.tuples(
        st.sampled_from(["roll", "converge", "ready", "break", "template", "scale"]),
        st.integers(0, 12),
    ),
    max_size=60,
)


@settings(deadline=None, max_examples=300)
@given(
    st.integers(1, 12),
    st.sampled_from([(1, 0), (0, 1), (3, 2), ("25%", "25%"), ("100%", "0%"), ("0%", "1%")]),
    Moves,
)
def test_bounds_are_never_broken(
    replicas: int, limits: tuple[int | str, int | str], moves: list[tuple[str, int]]
) -> None:
    """A small cluster: pods per ReplicaSet, some of which are available.

    A step never asks for more pods than surge allows, and never takes an available pod that the
    Deployment cannot spare.
    """
    model = _Model(replicas, *limits)
    for move, number in moves:
        getattr(model, move)(number)
    for _ in range(80):
        model.converge(0)
        model.ready(0)
        model.roll(0)
    assert [len(one) for one in model.pods[:-1]] == [0] * (len(model.pods) - 1)
    assert model.pods[-1] == [True] * model.replicas


class _Model:
    """ReplicaSets as lists of pods that are available or not."""

    def __init__(self, replicas: int, surge: int | str, unavailable: int | str) -> None:
        self.limits = surge, unavailable
        self.replicas = replicas
        self.pods: list[list[bool]] = [[True] * replicas]
        self.wanted = [replicas]
        self.noted = replicas

    def sets(self) -> list[Object]:
        most = self.noted + sizes.max_surge(deployment(self.noted, *self.limits))
        return [
            replica_set(f"{number:03}", size, sum(pods), most=most, desired=self.noted)
            for number, (size, pods) in enumerate(zip(self.wanted, self.pods, strict=True))
        ]

    def converge(self, _: int) -> None:
        """Pods follow sizes; those that are not available go first."""
        for number, size in enumerate(self.wanted):
            pods = sorted(self.pods[number], reverse=True)
            self.pods[number] = pods[:size] + [False] * (size - len(pods))

    def ready(self, number: int) -> None:
        """A pod of each becomes available, or all do."""
        for pods in self.pods:
            for place, ready in enumerate(pods):
                if not ready:
                    pods[place] = True
                    if number:
                        break

    def break_(self, number: int) -> None:
        """A pod becomes unavailable."""
        pods = self.pods[number % len(self.pods)]
        if pods:
            pods[number % len(pods)] = False

    def __getattr__(self, name: str) -> Any:
        if name == "break":
            return self.break_
        raise AttributeError(name)

    def template(self, _: int) -> None:
        """Another template."""
        self.pods.append([])
        self.wanted.append(0)

    def scale(self, number: int) -> None:
        """Another size, which is written as a scaling event is."""
        self.replicas = number
        sets = self.sets()
        self._apply(sizes.rescaled(deployment(number, *self.limits), sets[-1], sets[:-1]))
        self.noted = number

    def _apply(self, steps: list[Step]) -> None:
        for step in steps:
            self.wanted[int(step.name)] = step.size

    def roll(self, _: int) -> None:
        """A step of the controller, and what holds of it."""
        one, sets = deployment(self.replicas, *self.limits), self.sets()
        before = list(self.wanted)
        grown = sizes.grown(one, sets, sets[-1])
        self._apply(grown)
        if sum(self.wanted) > sum(before):
            assert sum(self.wanted) <= self.replicas + sizes.max_surge(one)
        if grown:
            return
        self._apply(sizes.shrunk(one, sets[-1], sizes.active(sets[:-1])))
        assert all(size >= 0 for size in self.wanted)
        had = sum(min(sum(pods), size) for pods, size in zip(self.pods, before, strict=True))
        left = sum(min(sum(pods), size) for pods, size in zip(self.pods, self.wanted, strict=True))
        assert left >= min(had, self.replicas - sizes.max_unavailable(one))
