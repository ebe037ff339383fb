"""Which pods of DaemonSets are made and deleted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.controllers.daemonset.fitting import HASH, Fit
from kubetrio.controllers.daemonset.plan import Rules, by_node, manage, roll, status
from kubetrio.controllers.podcontrol.view import Pod, view_of

Object = dict[str, Any]
RUNS, STAYS, GOES = Fit(runs=True, stays=True), Fit(runs=False, stays=True), Fit(False, False)
NOW = 1000.0


def pod(name: str, node: str, ready: bool = True, revision: str = "new", **members: Any) -> Pod:
    """A pod on a node."""
    made = view_of({"metadata": {"name": name, "namespace": "d", "labels": {HASH: revision}}})
    return made._replace(node=node, phase="Running", ready=ready, ready_since=1.0)._replace(
        **members
    )


def rules(fits: dict[str, Fit], **rolling: int | str) -> Rules:
    """Of a DaemonSet."""
    spec = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}
    return Rules(spec, "new", fits, lambda one: one.label_map[HASH] == "new", NOW)


@pytest.mark.parametrize(
    ("fit", "pods", "create", "delete"),
    [
        (RUNS, [], ["n"], []),
        (STAYS, [], [], []),
        (GOES, [], [], []),
        (RUNS, [pod("a", "n")], [], []),
        (STAYS, [pod("a", "n")], [], []),
        (GOES, [pod("a", "n")], [], ["a"]),
        (GOES, [pod("a", "n", deleting=True)], [], []),
        (RUNS, [pod("a", "n", created=2.0), pod("b", "n", created=1.0)], [], ["a"]),
        (RUNS, [pod("a", "n", phase="Succeeded")], [], ["a"]),
        (RUNS, [pod("a", "n", deleting=True)], [], []),
        (RUNS, [pod("a", "", wanted_node="m")], ["n"], ["a"]),
        (RUNS, [pod("a", "m")], ["n"], []),
    ],
)
def test_each_node_has_one(fit: Fit, pods: list[Pod], create: list[str], delete: list[str]) -> None:
    """That fits; the oldest stays where there are more."""
    plan = manage(rules({"n": fit}, maxUnavailable=1), by_node(pods))
    assert (plan.create, plan.delete) == (create, delete)


def test_failed_pods_may_have_to_wait() -> None:
    """They are told apart; what ended and is being deleted is not looked at."""
    failed = pod("a", "n", phase="Failed")
    plan = manage(rules({"n": RUNS}), by_node([failed]))
    assert (plan.failed, plan.delete) == ({"n": [failed]}, [])
    assert by_node([failed._replace(deleting=True)]) == {}


@pytest.mark.parametrize(
    ("old", "new", "delete"),
    [(True, False, []), (True, True, ["a"]), (False, False, ["a"])],
)
def test_with_surge_a_node_may_have_two(old: bool, new: bool, delete: list[str]) -> None:
    """Until the new one serves, or the old one does not."""
    pods = [pod("a", "n", old, "old"), pod("b", "n", new, created=2.0)]
    plan = manage(rules({"n": RUNS}, maxSurge=1), by_node(pods))
    assert plan.delete == delete
    assert manage(rules({"n": RUNS}, maxSurge=1), by_node([])).create == ["n"]


def test_old_pods_go_as_far_as_allowed() -> None:
    """Those that do not serve go anyway, and count."""
    fits = dict.fromkeys("abcd", RUNS)
    pods = [pod(name, name, name != "a", "old") for name in "abcd"]
    assert roll(rules(fits, maxUnavailable=1), by_node(pods)).delete == ["a"]
    assert roll(rules(fits, maxUnavailable="50%"), by_node(pods)).delete == ["a", "b"]
    assert roll(rules(fits, maxUnavailable=0), by_node(pods[1:])).delete == []
    assert roll(rules({"b": RUNS}, maxUnavailable=0), by_node(pods[1:2])).delete == ["b"]


def test_new_pods_come_beside_old_ones() -> None:
    """As many as surge allows; a pod of a node that does not fit goes when it can be spared."""
    fits = dict.fromkeys("abc", RUNS)
    pods = [pod(name, name, name != "a", "old") for name in "abc"]
    assert roll(rules(fits, maxSurge=1), by_node(pods)).create == ["a", "b"]
    more = [*pods, pod("x", "b", revision="new", ready=False)]
    assert roll(rules(fits, maxSurge=1), by_node(more)).create == ["a"]
    ready = [*pods, pod("x", "b", revision="new")]
    assert roll(rules(fits, maxSurge=1), by_node(ready)).delete == ["b"]
    leaving = {"a": STAYS, "b": RUNS}
    serving = [pod("a", "a", revision="old"), pod("b", "b")]
    assert roll(rules(leaving, maxSurge=1), by_node(serving)).delete == ["a"]
    assert roll(rules(leaving, maxSurge=1), by_node(serving[:1])).delete == []


def test_the_status_counts_nodes() -> None:
    """By the oldest pod of each."""
    fits = {"a": RUNS, "b": RUNS, "c": RUNS, "d": STAYS}
    pods = [pod("a", "a"), pod("b", "b", False, "old"), pod("d", "d")]
    assert status(rules(fits), by_node(pods)) == {
        "currentNumberScheduled": 2, "numberMisscheduled": 1, "desiredNumberScheduled": 3,
        "numberReady": 1, "updatedNumberScheduled": 1, "numberAvailable": 1,
        "numberUnavailable": 2,
    }  # fmt: skip


Moves = st.lists(st.tuples(st.sampled_from(["sync", "ready", "break"]), st.integers(0, 5)),
                 max_size=40)  # fmt: skip


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 6), st.sampled_from([(1, 0), (3, 0), ("50%", 0), (0, 1), (0, "50%")]), Moves)
def test_an_update_stays_within_its_bounds(
    count: int, limits: tuple[int | str, int | str], moves: list[tuple[str, int]]
) -> None:
    """No step takes an available pod that cannot be spared, and in the end all are new."""
    fits = {str(number): RUNS for number in range(count)}
    given_rules = rules(fits, maxUnavailable=limits[0], maxSurge=limits[1])
    pods = {f"p{node}": pod(f"p{node}", node, revision="old") for node in fits}
    made = 0

    def sync() -> None:
        nonlocal made
        found = by_node(pods.values())
        plan = manage(given_rules, found)
        if not plan.create and not plan.delete:
            plan = roll(given_rules, found)
        serving = sum(any(given_rules.serves(one) for one in on) for on in found.values())
        for name in plan.delete:
            del pods[name]
        left = by_node(pods.values()).values()
        after = sum(any(given_rules.serves(one) for one in on) for on in left)
        most = given_rules.limit("maxUnavailable", count)
        assert after >= min(serving, count - most)
        for node in plan.create:
            made += 1
            pods[f"m{made}"] = pod(f"m{made}", node, ready=False, created=float(made))
        assert all(len(on) <= 2 for on in by_node(pods.values()).values())

    for move, number in moves:
        names = sorted(pods)
        if move == "sync":
            sync()
        elif names:
            name = names[number % len(names)]
            pods[name] = pods[name]._replace(ready=move == "ready")
    for _ in range(40):
        for name, one in pods.items():
            pods[name] = one._replace(ready=True)
        sync()
    assert len(pods) == count
    assert all(one.label_map[HASH] == "new" for one in pods.values())
