"""The life of a pod by stages."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.simulation.podlife import Held, Place, Said
from kubetrio.simulation.stagelife import settle_by
from kubetrio.simulation.stages import StageError, parsed

Object = dict[str, Any]
NOW = 1_700_000_000.0
PLACE = Place("198.18.0.1", "100.64.0.7")
HEAD = "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\n"
STAGES = parsed(
    f"""{HEAD}metadata: {{name: start}}
spec:
  resourceRef: {{apiGroup: v1, kind: Pod}}
  selector:
    matchExpressions:
    - {{key: .status.phase, operator: In, values: [Pending]}}
    - {{key: .metadata.deletionTimestamp, operator: DoesNotExist}}
  delay: {{durationMilliseconds: 5000, jitterDurationMilliseconds: 15000}}
  next:
    event: {{type: Normal, reason: Started, message: it runs}}
    finalizers: {{add: [{{value: example.com/held}}]}}
    statusTemplate: |
      {{{{ $now := Now }}}}
      phase: Running
      podIP: {{{{ PodIPWith .spec.nodeName false | Quote }}}}
      startTime: {{{{ $now | Quote }}}}
---
{HEAD}metadata: {{name: go}}
spec:
  resourceRef: {{apiGroup: v1, kind: Pod}}
  selector:
    matchExpressions:
    - {{key: .metadata.deletionTimestamp, operator: Exists}}
  next: {{delete: true}}
"""
)


def pod(**meta: Any) -> Object:
    """A pod that was bound just now."""
    return {
        "metadata": {"name": "p", "uid": "u", **meta},
        "spec": {"nodeName": "n"},
        "status": {"phase": "Pending"},
    }


def half() -> float:
    """No chance at all."""
    return 0.5


def test_a_stage_waits_and_is_played() -> None:
    """Its time runs from when it was chosen, whatever the pod says meanwhile."""
    made = pod()
    step = settle_by(STAGES, made, PLACE, Held(), NOW, half)
    assert step.pod is made
    assert (step.held, step.again_in_s) == (Held("u", stage="start", at=NOW + 10), 10)
    made["metadata"]["labels"] = {"new": "one"}
    step = settle_by(STAGES, made, PLACE, step.held, NOW + 4, half)
    assert step.again_in_s == 6
    step = settle_by(STAGES, made, PLACE, step.held, NOW + 10, half)
    assert step.pod["status"] == {
        "phase": "Running", "podIP": "100.64.0.7", "startTime": "2023-11-14T22:13:30Z",
    }  # fmt: skip
    assert step.events == (Said("Normal", "Started", "it runs", ""),)
    assert step.finalizers == ("example.com/held",)
    assert (step.held, step.gone, step.again_in_s) == (Held("u"), False, None)


def test_a_stage_that_no_longer_matches_is_left() -> None:
    """Another one comes in its place."""
    first = settle_by(STAGES, pod(), PLACE, Held(), NOW, half)
    deleted = pod(deletionTimestamp="2023-11-14T22:13:50Z")
    step = settle_by(STAGES, deleted, PLACE, first.held, NOW + 1, half)
    assert step.gone
    assert step.pod is deleted


def test_nothing_is_next() -> None:
    """The pod stays as it is, and what was kept is forgotten."""
    runs = {**pod(), "status": {"phase": "Running"}}
    step = settle_by(STAGES, runs, PLACE, Held("u", stage="start", at=NOW), NOW, half)
    assert step.pod is runs
    assert (step.held, step.again_in_s) == (Held("u"), None)


def test_another_pod_of_the_name_waits_itself() -> None:
    """What was kept is of the one before."""
    held = Held("old", stage="start", at=NOW - 1)
    assert settle_by(STAGES, pod(), PLACE, held, NOW, half).again_in_s == 10


@pytest.mark.parametrize(
    ("template", "why"),
    [("'[]'", "makes no object"), ("'a: b: c'", "statusTemplate"),
     ("'{{ .spec }}'", "cannot be printed")],
)  # fmt: skip
def test_a_template_may_make_no_status(template: str, why: str) -> None:
    """The error names the stage."""
    text = f"""{HEAD}metadata: {{name: bad}}
spec:
  resourceRef: {{apiGroup: v1, kind: Pod}}
  next: {{statusTemplate: {template}}}
"""
    with pytest.raises(StageError, match=f"bad.*{why}"):
        settle_by(parsed(text), pod(), PLACE, Held(), NOW, half)
