"""What a StatefulSet does next."""

from __future__ import annotations

from typing import Any

import pytest
from examples import shortened
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.controllers.podcontrol.view import Pod, view_of
from kubetrio.controllers.statefulset.members import REVISION
from kubetrio.controllers.statefulset.plan import Do, Judge, members, plan, status, unavailable

Object = dict[str, Any]
NOW = 1000.0
FINE = Judge(lambda _: False, lambda _: False)


def pod(ordinal: int, state: str = "ready", revision: str = "new") -> Pod:
    """A member in a state."""
    made = view_of({"metadata": {"name": f"w-{ordinal}", "labels": {REVISION: revision}}})
    states: dict[str, Object] = {
        "ready": {"phase": "Running", "ready": True, "ready_since": 1.0},
        "young": {"phase": "Running", "ready": True, "ready_since": NOW - 1},
        "running": {"phase": "Running"},
        "pending": {"phase": "Pending"},
        "failed": {"phase": "Failed"},
        "succeeded": {"phase": "Succeeded"},
        "going": {"phase": "Running", "deleting": True, "ready": True, "ready_since": 1.0},
    }
    return made._replace(**states[state])


def spec(replicas: int = 3, policy: str = "OrderedReady", **more: Any) -> Object:
    """A spec."""
    update = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    return {
        "replicas": replicas, "podManagementPolicy": policy, "updateStrategy": update,
        "minReadySeconds": 10, **more,
    }  # fmt: skip


def steps(given_spec: Object, *states: str | Pod, judge: Judge = FINE) -> list[str]:
    """What is done, such as ``create 2``."""
    pods = [
        one if isinstance(one, Pod) else pod(number, one)
        for number, one in enumerate(states)
        if one
    ]
    found = plan(given_spec, members(given_spec, pods), "new", judge, NOW)
    return [f"{step.do.name.lower()} {step.ordinal}" for step in found.steps]


@pytest.mark.parametrize(
    ("states", "found"),
    [
        ((), ["create 0"]),
        (("ready",), ["create 1"]),
        (("running",), []),
        (("young",), []),
        (("pending",), ["claim 0"]),
        (("going",), []),
        (("failed",), ["delete 0"]),
        (("succeeded",), ["delete 0"]),
        (("ready", "", "ready"), ["create 1"]),
        (("ready", "ready", "ready"), []),
        (("ready", "ready", "ready", "ready", "ready"), ["keep 4", "keep 3", "delete 4"]),
        (("ready", "ready", "ready", "running", "ready"), ["keep 4", "keep 3", "delete 4"]),
        (("ready", "ready", "ready", "ready", "running"), ["keep 4", "keep 3", "delete 4"]),
        (("ready", "ready", "ready", "running", "running"), ["keep 4", "keep 3"]),
        (("ready", "ready", "ready", "ready", "going"), ["keep 4", "keep 3"]),
        (("ready", "running", "ready", "ready"), []),
    ],
)
def test_in_order(states: tuple[str, ...], found: list[str]) -> None:
    """One at a time, and only while all before it are available."""
    assert steps(spec(), *states) == found


@pytest.mark.parametrize(
    ("states", "found"),
    [
        ((), ["create 0", "create 1", "create 2"]),
        (("running", "failed"), ["delete 1", "create 2"]),
        (("ready", "pending", "going"), ["claim 1"]),
        (("running", "ready", "ready", "running", "ready"),
         ["keep 4", "keep 3", "delete 4", "delete 3"]),
        (("ready", "ready", "ready", "going", "ready"), ["keep 4", "keep 3", "delete 4"]),
    ],
)  # fmt: skip
def test_in_parallel(states: tuple[str, ...], found: list[str]) -> None:
    """All at a time."""
    assert steps(spec(policy="Parallel"), *states) == found


@pytest.mark.parametrize(
    ("states", "partition", "found"),
    [
        (["ready", "ready", "ready"], 0, ["delete 2"]),
        (["ready", "ready", "new"], 0, ["delete 1"]),
        (["ready", "ready", "new"], 2, []),
        (["ready", "ready", "ready"], 3, []),
    ],
)
def test_updates_go_down(states: list[str], partition: int, found: list[str]) -> None:
    """As far as the partition."""
    pods = [
        pod(number, "ready", "new" if state == "new" else "old")
        for number, state in enumerate(states)
    ]
    update = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    assert steps(spec(updateStrategy=update), *pods) == found
    assert steps(spec(updateStrategy={"type": "OnDelete"}), *pods) == []


def test_an_update_waits_for_the_one_before() -> None:
    """In parallel too."""
    pods = [pod(0, "ready", "old"), pod(1, "ready", "old"), pod(2, "running", "new")]
    assert steps(spec(policy="Parallel"), *pods) == []
    pods[2] = pod(2, "running", "old")
    assert steps(spec(policy="Parallel"), *pods) == ["delete 2"]


@pytest.mark.parametrize(
    ("limit", "all_serve", "found"),
    [
        (2, True, ["delete 3", "delete 2"]),
        ("50%", True, ["delete 3", "delete 2"]),
        ("10%", True, ["delete 3"]),
        (2, False, ["delete 2"]),
        (1, False, []),
    ],
)
def test_more_than_one_may_be_unavailable(
    limit: int | str, all_serve: bool, found: list[str]
) -> None:
    """Where the field is there."""
    update = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1, "maxUnavailable": limit}}
    pods = [pod(number, "ready", "old") for number in range(4)]
    if not all_serve:
        pods[3] = pod(3, "young", "new")
    assert steps(spec(4, "Parallel", updateStrategy=update), *pods) == found


def test_members_are_mended_and_may_be_blocked() -> None:
    """By what is known beside the pods."""
    judge = Judge(lambda one: one.name == "w-1", lambda ordinal: ordinal == 2)
    assert steps(spec(), "ready", "ready", judge=judge) == ["mend 1"]


def test_ordinals_may_start_later() -> None:
    """What is before them goes."""
    later = spec(2, ordinals={"start": 5})
    assert steps(later, pod(5), pod(6)) == []
    assert steps(later) == ["create 5"]
    assert steps(later, pod(0), pod(5), pod(6)) == ["keep 0", "delete 0"]


def test_the_status() -> None:
    """A complete update makes the newest revision the current one."""
    pods = [pod(0, "ready", "old"), pod(1, "young", "new"), pod(2, "going", "old")]
    assert status(spec(), pods, "old", "new", NOW) == {
        "replicas": 3, "readyReplicas": 3, "availableReplicas": 2, "currentReplicas": 1,
        "updatedReplicas": 1, "currentRevision": "old", "updateRevision": "new",
    }  # fmt: skip
    done = status(spec(), [pod(number) for number in range(3)], "old", "new", NOW)
    assert (done["currentRevision"], done["currentReplicas"]) == ("new", 3)


Moves = st.lists(
    st.tuples(
        st.sampled_from(["sync", "sync", "sync", "grow", "run", "fail", "gone", "scale", "update"]),
        st.integers(0, 5),
    ),
    max_size=60,
)


@shortened(300)
@given(st.integers(0, 4), Moves)
def test_members_come_and_go_in_order(replicas: int, moves: list[tuple[str, int]]) -> None:
    """A member is made when all before it are available, and deleted when all others serve.

    At most one member is made or deleted by a step, and in the end all serve.
    """
    wanted, revision, pods = replicas, "0", dict[int, Pod]()

    def sync() -> None:
        now_spec = spec(wanted)
        found = plan(now_spec, members(now_spec, list(pods.values())), revision, FINE, NOW)
        acting = [step for step in found.steps if step.do in (Do.CREATE, Do.DELETE)]
        assert len(acting) <= 1
        for step in acting:
            before = [pods.get(number) for number in range(min(step.ordinal, wanted))]
            if step.do is Do.CREATE:
                assert not any(unavailable(one, 10, NOW) for one in before)
                pods[step.ordinal] = pod(step.ordinal, "pending", revision)
                continue
            gone = pods[step.ordinal]
            if gone.phase in ("Failed", "Succeeded"):
                assert not any(unavailable(one, 10, NOW) for one in before)
            elif step.ordinal >= wanted:
                assert step.ordinal == max(pods)
                assert not any(unavailable(one, 10, NOW) for one in before)
            else:
                others = [pods[number] for number in range(wanted) if number != step.ordinal]
                assert not any(unavailable(one, 10, NOW) for one in others)
            pods[step.ordinal] = gone._replace(deleting=True)

    for move, number in moves:
        if move == "sync":
            sync()
        elif move == "scale":
            wanted = number
        elif move == "update":
            revision = str(int(revision) + 1)
        elif move == "gone":
            for ordinal in [key for key, one in pods.items() if one.deleting]:
                del pods[ordinal]
        elif number in pods and not pods[number].deleting:
            state = {"grow": "ready", "run": "running", "fail": "failed"}[move]
            pods[number] = pod(number, state, pods[number].label_map[REVISION])
    for _ in range(200):
        for ordinal, one in list(pods.items()):
            if one.deleting:
                del pods[ordinal]
            elif one.phase not in ("Failed", "Succeeded"):
                pods[ordinal] = pod(ordinal, "ready", one.label_map[REVISION])
        sync()
    assert sorted(pods) == list(range(wanted))
    assert {one.label_map[REVISION] for one in pods.values()} <= {revision}
