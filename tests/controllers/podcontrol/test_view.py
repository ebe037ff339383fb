"""What is kept of pods."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.controllers.podcontrol.view import Run, next_available, pod_view, view_of

Object = dict[str, Any]
READY = {"type": "Ready", "status": "True", "lastTransitionTime": "1970-01-01T00:00:10Z"}


def pod(meta: Object | None = None, spec: Object | None = None, **status: Any) -> Object:
    """A stored pod."""
    return {"metadata": {"name": "p", "uid": "u", **(meta or {})}, "spec": spec or {},
            "status": status}  # fmt: skip


@pytest.mark.parametrize(
    ("now", "min_ready_s", "wait_s"), [(12, 0, 0), (12, 5, 3), (15, 5, 0), (99, 5, 0)]
)
def test_a_ready_pod_is_available_after_a_while(
    now: float, min_ready_s: int, wait_s: float
) -> None:
    """Which is counted from when it became ready."""
    view = view_of(pod(conditions=[READY]))
    assert view.available_in(min_ready_s, now) == wait_s
    assert view.available(min_ready_s, now) == (wait_s == 0)
    assert next_available([view], min_ready_s, now) == (wait_s or None)


def test_a_pod_that_is_not_ready_is_not_available() -> None:
    """However long one waits; nor one that does not say since when it is ready."""
    assert view_of(pod()).available_in(0, 99) is None
    unsaid = {"type": "Ready", "status": "True"}
    assert view_of(pod(conditions=[unsaid])).available_in(5, 99) is None
    assert view_of(pod(conditions=[unsaid])).available(0, 99)


@pytest.mark.parametrize(
    ("meta", "phase", "active", "terminating"),
    [
        ({}, "Running", True, False),
        ({}, "Failed", False, False),
        ({"deletionTimestamp": "1970-01-01T00:00:10Z"}, "Running", False, True),
        ({"deletionTimestamp": "1970-01-01T00:00:10Z"}, "Succeeded", False, False),
    ],
)
def test_active_and_terminating(meta: Object, phase: str, active: bool, terminating: bool) -> None:
    """What is over is neither."""
    view = view_of(pod(meta, phase=phase))
    assert (view.active, view.terminating) == (active, terminating)


@pytest.mark.parametrize(
    ("text", "cost"),
    [("10", 10), ("-3", -3), ("0", 0), ("+5", 0), ("01", 0), ("a", 0), ("99999999999", 0), ("", 0)],
)
def test_deletion_costs(text: str, cost: int) -> None:
    """What is no number of 32 bits costs nothing."""
    meta = {"annotations": {"controller.kubernetes.io/pod-deletion-cost": text}}
    assert view_of(pod(meta)).cost == cost


def test_the_node_that_a_daemon_wants() -> None:
    """Affinity to the name of one node."""
    field = {"key": "metadata.name", "operator": "In", "values": ["n"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    assert view_of(pod(spec={"affinity": affinity})).wanted_node == "n"


def test_ends_restarts_and_claims() -> None:
    """Of containers and sidecars; a stored pod is the same as its bytes."""
    stored = pod(
        spec={
            "initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "w"}],
        },
        phase="Failed",
        containerStatuses=[
            {"restartCount": 2, "state": {"terminated": {"finishedAt": "1970-01-01T00:00:07Z"}}},
            {"restartCount": 1, "state": {"terminated": {"finishedAt": "1970-01-01T00:00:09Z"}}},
        ],
        initContainerStatuses=[
            {
                "name": "s",
                "restartCount": 4,
                "state": {"terminated": {"finishedAt": "1970-01-01T00:00:10Z"}},
            },
            {"name": "i", "restartCount": 9},
        ],
    )
    view = pod_view(orjson.dumps(stored))
    assert view == view_of(stored)
    assert (view.restarts, view.ended, view.claims) == ((2, 4), 10.0, (("v", "c"),))
    assert view.run is None


@pytest.mark.parametrize(
    ("meta", "conditions", "found"),
    [
        ({}, [], 5),
        ({"deletionTimestamp": "1970-01-01T00:00:40Z", "deletionGracePeriodSeconds": 30}, [], 10),
        ({}, [{**READY, "status": "False"}], 10),
    ],
)
def test_a_pod_without_containers_has_an_end_too(
    meta: Object, conditions: list[Object], found: float
) -> None:
    """By readiness, deletion or creation."""
    created = {"creationTimestamp": "1970-01-01T00:00:05Z", **meta}
    assert view_of(pod(created, phase="Failed", conditions=conditions)).ended == found
    assert view_of(pod(phase="Running")).ended == 0


def test_how_a_pod_of_a_job_ran() -> None:
    """Exit codes, restarts and conditions."""
    owner = {"kind": "Job", "uid": "j", "name": "j", "apiVersion": "batch/v1", "controller": True}
    ended = {"state": {"terminated": {"exitCode": 3}}, "restartCount": 1}
    view = view_of(
        pod(
            {"ownerReferences": [owner]},
            phase="Failed",
            containerStatuses=[{"name": "c", **ended}, {"name": "d", "state": {}}],
            initContainerStatuses=[{"name": "i", **ended}],
            conditions=[READY],
        )
    )
    assert view.run == Run(2, (("c", 3), ("i", 3)), (("Ready", "True"),))
