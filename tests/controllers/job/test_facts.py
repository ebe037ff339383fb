"""What a Job's spec, status and pods say."""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.job import facts
from kubetrio.controllers.podcontrol.claims import Controlling
from kubetrio.controllers.podcontrol.view import view_of
from kubetrio.testing.workloads import template

Object = dict[str, Any]


def owner(name: str = "w", **spec: Any) -> Controlling:
    """A Job."""
    meta = {"name": name, "namespace": "default", "uid": "u"}
    return Controlling("batch/v1", "Job", {"metadata": meta, "spec": {
        "template": template(initContainers=[{"name": "i", "image": "i", "env": [
            {"name": "JOB_COMPLETION_INDEX", "value": "x"}]}]), **spec}})  # fmt: skip


def test_a_pod_without_index() -> None:
    """It has a finalizer, so that it is counted before it goes."""
    pod = facts.new_pod(owner(), None, None)
    assert pod["metadata"]["finalizers"] == [facts.FINALIZER]
    assert pod["metadata"]["generateName"] == "w-"
    assert "env" not in pod["spec"]["containers"][0]


def test_a_pod_with_index() -> None:
    """Its name, labels, annotations, host name and environment tell it."""
    pod = facts.new_pod(owner("a" * 70), 12, (2, 1))
    meta = pod["metadata"]
    assert meta["generateName"] == f"{'a' * 54}-12-"
    assert meta["labels"][facts.INDEX] == "12"
    assert meta["annotations"] == {facts.INDEX: "12", facts.FAILURES: "2", facts.IGNORED: "1"}
    assert pod["spec"]["hostname"] == f"{'a' * 70}-12"
    (env,) = pod["spec"]["containers"][0]["env"]
    assert env["valueFrom"]["fieldRef"]["fieldPath"] == (
        "metadata.labels['batch.kubernetes.io/job-completion-index']"
    )
    assert pod["spec"]["initContainers"][0]["env"][0]["value"] == "x"
    view = view_of({**pod, "metadata": {**meta, "name": "p"}})
    assert (facts.index_of(view), facts.failures_of(view)) == (12, 2)
    assert facts.all_failures_of(view) == 3
    assert facts.tracked(view)


def test_numbers_in_annotations_may_be_wrong() -> None:
    """Then they are none."""
    meta = {"name": "p", "annotations": {facts.INDEX: "-1", facts.FAILURES: "99999999999"}}
    view = view_of({"metadata": meta})
    assert (facts.index_of(view), facts.failures_of(view)) == (-1, 0)


def test_conditions_stay_in_their_place() -> None:
    """One that is not true does not come."""
    one = facts.condition("A", "r", "m", 0)
    other = facts.condition("B", "r", "m", 0)
    assert facts.ensured([one, other], facts.condition("A", "r", "m", 9)) == ([one, other], False)
    new = facts.condition("A", "s", "m", 9)
    assert facts.ensured([one, other], new) == ([new, other], True)
    assert facts.ensured([], facts.condition("A", "r", "m", 0, "False")) == ([], False)


def test_a_pod_that_is_deleted_may_count_as_failed() -> None:
    """Unless it is replaced only when it ended."""
    going = view_of({"metadata": {"name": "p"}})._replace(deleting=True, phase="Running")
    plain: Object = {"spec": {}}
    assert facts.has_failed(plain, going)
    assert not facts.has_failed({"spec": {"podReplacementPolicy": "Failed"}}, going)
    assert not facts.has_failed(plain, going._replace(phase="Succeeded"))
