"""What containers do, as annotations say."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.simulation.plans import Plan, Role, plan_of, restarts, role_of, runs_again

Object = dict[str, Any]


def pod(owner: str = "", **annotations: str) -> Object:
    """A pod with annotations, whose names have underscores for dashes here."""
    names = {
        f"simulation.kubetrio.io/{name.replace('_', '-')}": value
        for name, value in annotations.items()
    }
    owners = [{"kind": owner}] if owner else []
    return {"metadata": {"annotations": names, "ownerReferences": owners}, "spec": {}}


FOREVER = Plan(starts=True, pulls=True, run_s=None, exit_code=0, ready_s=0.0)


@pytest.mark.parametrize(
    ("made", "role", "plan"),
    [
        (pod(), Role.REGULAR, FOREVER),
        (pod("ReplicaSet"), Role.REGULAR, FOREVER),
        (pod("Job"), Role.REGULAR, FOREVER._replace(run_s=1.0)),
        (pod("Job"), Role.SIDECAR, FOREVER),
        (pod("Job"), Role.INIT, FOREVER._replace(run_s=0.0)),
        (pod(exit_code="3"), Role.REGULAR, FOREVER._replace(run_s=1.0, exit_code=3)),
        (pod(exit_code="3"), Role.INIT, FOREVER._replace(run_s=0.0)),
        (pod("Job", run_seconds="60"), Role.REGULAR, FOREVER._replace(run_s=60.0)),
        (pod(state="crash-loop"), Role.REGULAR, FOREVER._replace(run_s=1.0, exit_code=1)),
        (pod(state="crash-loop"), Role.SIDECAR, FOREVER),
        (pod(state="image-pull-back-off"), Role.INIT, FOREVER._replace(run_s=0.0, pulls=False)),
        (pod(state="creating"), Role.REGULAR, FOREVER._replace(starts=False)),
        (pod(state="not-ready"), Role.REGULAR, FOREVER._replace(ready_s=None)),
        (pod(exit_code="999"), Role.REGULAR, FOREVER._replace(run_s=1.0, exit_code=255)),
    ],
)
def test_plans(made: Object, role: Role, plan: Plan) -> None:
    """What is said of a pod is about its regular containers."""
    assert plan_of(made, "c", role) == plan


def test_a_container_may_be_named() -> None:
    """Whatever it is in its pod."""
    made = pod()
    made["metadata"]["annotations"] = {
        "simulation.kubetrio.io/exit-code.side": "2",
        "simulation.kubetrio.io/state.setup": "crash-loop",
    }
    assert plan_of(made, "side", Role.SIDECAR) == FOREVER._replace(run_s=1.0, exit_code=2)
    assert plan_of(made, "setup", Role.INIT) == FOREVER._replace(run_s=1.0, exit_code=1)
    assert plan_of(made, "c", Role.REGULAR) == FOREVER


def test_roles_have_their_lists() -> None:
    """Sidecars are init containers that restart."""
    always = {"restartPolicy": "Always"}
    roles = [role_of({}, "initContainers"), role_of(always, "initContainers"),
             role_of({}, "containers"), role_of({}, "ephemeralContainers")]  # fmt: skip
    assert roles == [Role.INIT, Role.SIDECAR, Role.REGULAR, Role.EPHEMERAL]
    assert [(role.path, role.statuses) for role in roles] == [
        ("initContainers", "initContainerStatuses"),
        ("initContainers", "initContainerStatuses"),
        ("containers", "containerStatuses"),
        ("ephemeralContainers", "ephemeralContainerStatuses"),
    ]


@pytest.mark.parametrize(
    ("container", "policy", "codes"),
    [
        ({}, "Always", {0: True, 1: True}),
        ({}, "OnFailure", {0: False, 1: True}),
        ({}, "Never", {0: False, 1: False}),
        ({"restartPolicy": "Never"}, "Always", {0: False, 1: False}),
        (
            {"restartPolicy": "Never", "restartPolicyRules": [
                {"action": "Restart", "exitCodes": {"operator": "NotIn", "values": [0, 9]}}]},
            "Never", {0: False, 1: True, 9: False},
        ),
    ],
)  # fmt: skip
def test_restarts(container: Object, policy: str, codes: dict[int, bool]) -> None:
    """Rules come before the container's policy, and that before the pod's."""
    made = {"spec": {"restartPolicy": policy}}
    assert {code: restarts(container, made, code) for code in codes} == codes


@pytest.mark.parametrize(
    ("role", "code", "again"),
    [
        (Role.REGULAR, 0, True), (Role.SIDECAR, 0, True), (Role.EPHEMERAL, 1, False),
        (Role.INIT, 0, False), (Role.INIT, 1, True),
    ],
)  # fmt: skip
def test_roles_decide_before_policies(role: Role, code: int, *, again: bool) -> None:
    """An init container is done when it succeeds, and an ephemeral one when it ends."""
    assert runs_again({"name": "c"}, role, pod(), code) is again
    assert not runs_again({"name": "c"}, role, {"spec": {"restartPolicy": "Never"}}, code)
