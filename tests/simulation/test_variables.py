"""What environment variables of containers need, and what a kubelet says of what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.simulation.mounting import CONFIG_MAP, SECRET, Part, Source
from kubetrio.simulation.variables import needs_of_container, needs_of_starting, problem_of

Object = dict[str, Any]
S, M = Source(SECRET, "s"), Source(CONFIG_MAP, "m")
RUNNING: Object = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def variable(member: str, **ref: Any) -> Object:
    """A variable with a reference to a key."""
    return {"name": "V", "valueFrom": {member: ref}}


SECRET_KEY = variable("secretKeyRef", name="s", key="k")
CONFIG_KEY = variable("configMapKeyRef", name="m", key="k")
WHOLE_SECRET: Object = {"secretRef": {"name": "s"}}
WHOLE_CONFIG: Object = {"configMapRef": {"name": "m"}}


def container(*variables: Object, of: tuple[Object, ...] = (), **members: Any) -> Object:
    """A container with environment variables; `of` is where it takes all keys from."""
    return {"name": "c", "env": [*variables], "envFrom": [*of], **members}


def test_needs_are_in_the_order_of_a_kubelet() -> None:
    """Whole objects come first; each need is told once, and other origins need nothing."""
    field = variable("fieldRef", fieldPath="metadata.name")
    plain: Object = {"name": "P", "value": "v"}
    whole = ({**WHOLE_SECRET, "prefix": "P_"}, WHOLE_CONFIG)
    found = needs_of_container(
        container(plain, field, SECRET_KEY, CONFIG_KEY, SECRET_KEY, of=whole)
    )
    assert found == [Part(S), Part(M), Part(S, ("k",)), Part(M, ("k",))]
    assert needs_of_container({"name": "c"}) == []


@pytest.mark.parametrize("member", ["secretKeyRef", "configMapKeyRef"])
def test_what_is_optional_is_not_needed(member: str) -> None:
    """A key may be, and a whole object."""
    whole = {member.replace("Key", ""): {"name": "x", "optional": True}}
    optional = variable(member, name="x", key="k", optional=True)
    assert needs_of_container(container(optional, of=(whole,))) == []
    required = variable(member, name="x", key="k", optional=False)
    assert len(needs_of_container(container(required))) == 1


@pytest.mark.parametrize(
    ("made", "secret", "config", "problem"),
    [
        (container(SECRET_KEY), None, None, 'secret "s" not found'),
        (container(CONFIG_KEY), None, None, 'configmap "m" not found'),
        (container(of=(WHOLE_SECRET,)), None, None, 'secret "s" not found'),
        (container(of=(WHOLE_CONFIG,)), None, None, 'configmap "m" not found'),
        (container(SECRET_KEY), {}, None, "couldn't find key k in Secret default/s"),
        (container(CONFIG_KEY), None, {"data": {"other": ""}},
         "couldn't find key k in ConfigMap default/m"),
        (container(CONFIG_KEY), None, {"binaryData": {"k": ""}},
         "couldn't find key k in ConfigMap default/m"),
        (container(SECRET_KEY, of=(WHOLE_CONFIG,)), None, None, 'configmap "m" not found'),
        (container(SECRET_KEY, of=(WHOLE_CONFIG,)), None, {}, 'secret "s" not found'),
        (container(SECRET_KEY, CONFIG_KEY), {"data": {"k": ""}}, {"data": {"k": ""}}, ""),
        (container(of=(WHOLE_SECRET, WHOLE_CONFIG)), {}, {}, ""),
    ],
)  # fmt: skip
def test_problems(made: Object, secret: Object | None, config: Object | None, problem: str) -> None:
    """The first thing that is missing is named."""
    found = problem_of("default", needs_of_container(made), {S: secret, M: config})
    assert found == problem


@pytest.mark.parametrize(
    ("path", "member", "state", "starts"),
    [
        ("containers", "containerStatuses", None, True),
        ("containers", "containerStatuses", {"waiting": {"reason": "ContainerCreating"}}, True),
        ("containers", "containerStatuses", RUNNING, False),
        ("containers", "containerStatuses", {"terminated": {"exitCode": 0}}, True),
        ("initContainers", "initContainerStatuses", RUNNING, True),
        ("initContainers", "initContainerStatuses", {"terminated": {"exitCode": 0}}, False),
        ("initContainers", "initContainerStatuses", {"terminated": {"exitCode": 1}}, True),
        ("ephemeralContainers", "ephemeralContainerStatuses", None, True),
        ("ephemeralContainers", "ephemeralContainerStatuses",
         {"terminated": {"exitCode": 1}}, False),
    ],
)  # fmt: skip
def test_containers_that_may_start(
    path: str, member: str, state: Object | None, *, starts: bool
) -> None:
    """Those that run until the pod goes, and those that have ended for good, need nothing now."""
    rows = [{"name": "other", "state": RUNNING}]
    if state is not None:
        rows.append({"name": "c", "state": state})
    pod: Object = {
        "metadata": {},
        "spec": {path: [container(SECRET_KEY)]},
        "status": {member: rows},
    }
    assert needs_of_starting(pod) == ({"c": [Part(S, ("k",))]} if starts else {})


def test_a_container_that_exits_may_start_again() -> None:
    """So its needs count while it runs; a container without needs is not looked at."""
    pod: Object = {
        "metadata": {"annotations": {"simulation.kubetrio.io/run-seconds": "5"}},
        "spec": {"containers": [container(SECRET_KEY), {"name": "d"}]},
        "status": {"containerStatuses": [{"name": "c", "state": RUNNING}]},
    }
    assert [*needs_of_starting(pod)] == ["c"]
