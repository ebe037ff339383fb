"""Stages as they are read from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubetrio.simulation.stages import StageError, chosen, load, merged, parsed

Object = dict[str, Any]
NOW = 1_700_000_000.0


def stage(name: str = "s", kind: str = "Pod", **spec: Any) -> str:
    """A document with a stage."""
    made = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {"resourceRef": {"apiGroup": "v1", "kind": kind}, **spec},
    }
    return yaml.safe_dump(made)


def pod(**annotations: str) -> Object:
    """A pod that runs."""
    return {
        "metadata": {"name": "p", "labels": {"app": "web"}, "annotations": annotations},
        "status": {"phase": "Running", "ready": True},
    }


def expression(key: str, operator: str, *values: str) -> Object:
    """A selector with one expression."""
    found: Object = {"key": key, "operator": operator}
    return {"matchExpressions": [{**found, "values": list(values)} if values else found]}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "db"}}, False),
        ({"matchAnnotations": {"a": "1"}}, True),
        ({"matchAnnotations": {"a": "2"}}, False),
        (expression(".status.phase", "In", "Pending", "Running"), True),
        (expression(".status.phase", "NotIn", "Running"), False),
        (expression(".status.podIP", "NotIn", "x"), True),
        (expression(".status.podIP", "In", "x"), False),
        (expression(".status.podIP", "DoesNotExist"), True),
        (expression(".status.phase", "DoesNotExist"), False),
        (expression(".status.phase", "Exists"), True),
        (expression(".status.ready", "In", "true"), True),
    ],
)
def test_selectors(selector: Object, matches: bool) -> None:
    """All that a selector says has to hold."""
    (one,) = parsed(stage(selector=selector))
    assert one.matches(pod(a="1")) is matches


@pytest.mark.parametrize(
    ("delay", "waits"),
    [
        ({}, 0),
        ({"durationMilliseconds": 1500}, 1.5),
        ({"durationMilliseconds": 1000, "jitterDurationMilliseconds": 5000}, 3),
        ({"durationMilliseconds": 1000, "jitterDurationMilliseconds": 500}, 0.5),
        ({"durationFrom": {"expressionFrom": ".metadata.annotations.d"}}, 90),
        ({"durationFrom": {"expressionFrom": ".metadata.annotations.t"}}, 20),
        ({"durationFrom": {"expressionFrom": ".metadata.annotations.past"}}, 0),
        (
            {
                "durationMilliseconds": 7000,
                "durationFrom": {"expressionFrom": ".metadata.annotations.x"},
            },
            7,
        ),
        ({"durationMilliseconds": 7000,
          "jitterDurationFrom": {"expressionFrom": ".metadata.annotations.d"}}, 48.5),
    ],
)  # fmt: skip
def test_delays(delay: Object, waits: float) -> None:
    """Fixed, by chance, and as the pod says: a duration or a moment."""
    (one,) = parsed(stage(delay=delay))
    made = pod(d="1m30s", t="2023-11-14T22:13:40Z", past="2020-01-01T00:00:00Z")
    assert one.wait_s(made, NOW, lambda: 0.5) == pytest.approx(waits)


def test_chance_follows_weights() -> None:
    """A stage without weight is not chosen beside one that has some; a pod may say weights."""
    text = "---\n".join(
        [
            stage("none", weight=0),
            stage("one", weight=1),
            stage("many", weight=0, weightFrom={"expressionFrom": ".metadata.annotations.weight"}),
        ]
    )
    stages = parsed(text)
    names = []
    for chance in (0.0, 0.2, 0.3, 0.99):
        found = chosen(stages, pod(weight="3"), lambda chance=chance: chance)  # type: ignore[misc]
        names.append(found.name if found else "")
    assert names == ["one", "one", "many", "many"]
    alone = parsed(stage("a", weight=0) + "---\n" + stage("b", weight=0))
    found = chosen(alone, pod(), lambda: 0.7)
    assert found is not None
    assert found.name == "b"
    never = parsed(stage(selector={"matchLabels": {"app": "db"}}))
    assert chosen(never, pod(), lambda: 0) is None


def test_finalizers_change() -> None:
    """Some come, some go, or all do."""
    both = {"add": [{"value": "x"}, {"value": "a"}], "remove": [{"value": "b"}]}
    (one,) = parsed(stage(next={"finalizers": both}))
    assert one.next.finalizers is not None
    assert one.next.finalizers(["a", "b"]) == ["a", "x"]
    (one,) = parsed(stage(next={"finalizers": {"empty": True}}))
    assert one.next.finalizers is not None
    assert one.next.finalizers(["a", "b"]) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is no stage"),
        ("a: b: c", "document 1"),
        ("[]", "is no object"),
        ("kind: Stage", "is no Stage of kwok.x-k8s.io/v1alpha1"),
        (stage(kind="Node"), "only stages of pods are supported, not of Node"),
        (stage(next={"patches": []}), "next: patches is not supported"),
        (stage(next={"statusTemplate": "{{ bad }}"}), "function bad is not defined"),
        (stage(next={"delete": "yes"}), "delete has the wrong type"),
        (stage(next={"finalizers": {"add": [{}]}}), "without a value"),
        (stage(selector={"matchExpressions": [{"cel": {}}]}), "is not understood here"),
        (stage(selector=expression(".a", "In")), "In with 0 values"),
        (stage(selector=expression(".a", "Exists", "x")), "Exists with 1 values"),
        (stage(selector=expression(".a", "Near", "x")), "Near with 1 values"),
        (stage(selector=expression(".a | length", "Exists")), "is not understood here"),
        (stage(weight=True), "weight has the wrong type"),
        (stage(more=1), "s: more is not supported"),
    ],
)
def test_what_is_not_supported_is_refused(text: str, why: str) -> None:
    """With the name of the stage and the place in it."""
    with pytest.raises(StageError, match=why):
        parsed(text)


def test_files(tmp_path: Path) -> None:
    """Several documents in one; a file that is not there is an error."""
    file = tmp_path / "stages.yaml"
    file.write_text(stage("a") + "---\n" + stage("b") + "---\n")
    assert [one.name for one in load(file)] == ["a", "b"]
    with pytest.raises(StageError, match="cannot be read"):
        load(tmp_path / "missing")


def test_statuses_are_merged() -> None:
    """Conditions by type, objects member by member, lists whole; null removes."""
    status = {
        "phase": "Pending",
        "reason": "x",
        "list": [1],
        "deep": {"a": 1, "b": 2},
        "conditions": [{"type": "Ready", "status": "False", "message": "m"}, {"type": "Mine"}],
    }
    patch = {
        "phase": "Running",
        "reason": None,
        "list": [2, 3],
        "deep": {"b": 3},
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "New"}],
    }
    assert merged(status, patch) == {
        "phase": "Running",
        "list": [2, 3],
        "deep": {"a": 1, "b": 3},
        "conditions": [
            {"type": "Ready", "status": "True", "message": "m"}, {"type": "Mine"}, {"type": "New"},
        ],
    }  # fmt: skip
