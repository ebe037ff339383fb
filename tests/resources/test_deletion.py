"""What a deletion does to an object: grace, finalizers, propagation, namespaces."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.status import ApiError
from kubetrio.resources import deletion
from kubetrio.resources.deletion import FOREGROUND, ORPHAN, Object, Outcome
from kubetrio.resources.writes import DeleteOptions
from kubetrio.schema.kind import Kind

NOW = 1_700_000_000.0
THEN = "2023-11-14T22:13:20Z"
CORE = {name: registry().resources["", "v1", name] for name in (
    "configmaps", "events", "pods", "namespaces", "replicationcontrollers"
)}  # fmt: skip
CONFIGMAPS, PODS, NAMESPACES = CORE["configmaps"], CORE["pods"], CORE["namespaces"]


def meta(**more: Any) -> Object:
    return {"name": "n", "uid": "u", "resourceVersion": "5", **more}


def plan(
    resource: Kind, obj: Object, options: DeleteOptions | None = None
) -> tuple[Outcome, Object]:
    strategy = resource.strategy
    return deletion.plan(resource, obj, strategy, options or DeleteOptions(), NOW)


def running(**spec: Any) -> Object:
    return {"metadata": meta(), "spec": {"nodeName": "node", **spec}, "status": {}}


# ---------------------------------------------------------------- grace


@pytest.mark.parametrize(
    ("pod", "asked", "seconds"),
    [
        (running(), None, 30),
        (running(terminationGracePeriodSeconds=7), None, 7),
        (running(terminationGracePeriodSeconds=7), 3, 3),
        (running(), 0, 0),
        (running(), -5, 1),
        (running(terminationGracePeriodSeconds=-1), None, 1),
        (running(nodeName=""), 20, 0),
        ({**running(), "status": {"phase": "Succeeded"}}, 20, 0),
        ({**running(), "status": {"phase": "Failed"}}, None, 0),
        ({**running(), "status": {"phase": "Running"}}, None, 30),
    ],
)
def test_how_long_a_kubelet_gets(pod: Object, asked: int | None, seconds: int) -> None:
    """The request, else the pod, else 30 s; nothing where no kubelet runs it."""
    options = DeleteOptions(grace_period_s=asked)
    assert deletion.grace_period(pod, PODS.strategy, options) == seconds


def test_other_kinds_get_no_grace() -> None:
    """Nobody would end it."""
    outcome, _ = plan(CONFIGMAPS, {"metadata": meta()}, DeleteOptions(grace_period_s=30))
    assert outcome is Outcome.REMOVE


def test_a_running_pod_is_marked_for_when_its_time_is_up() -> None:
    """The timestamp is in the future by the grace period."""
    outcome, last = plan(PODS, running(terminationGracePeriodSeconds=10))
    assert outcome is Outcome.MARK
    assert last["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:30Z"
    assert last["metadata"]["deletionGracePeriodSeconds"] == 10


def test_a_pod_goes_at_once_with_grace_zero() -> None:
    """Its last state says so."""
    outcome, last = plan(PODS, running(), DeleteOptions(grace_period_s=0))
    assert outcome is Outcome.REMOVE
    assert last["metadata"]["deletionTimestamp"] == THEN
    assert last["metadata"]["deletionGracePeriodSeconds"] == 0


@pytest.mark.parametrize(("asked", "expected"), [(5, 5), (40, 30), (None, 30)])
def test_grace_can_only_get_shorter(asked: int | None, expected: int) -> None:
    """A second deletion may hurry, not delay."""
    _, marked = plan(PODS, running())
    _, again = plan(PODS, marked, DeleteOptions(grace_period_s=asked))
    assert again["metadata"]["deletionGracePeriodSeconds"] == expected


def test_less_grace_counts_from_the_first_deletion() -> None:
    """A pod is not given more time by asking again."""
    _, marked = plan(PODS, running())
    options = DeleteOptions(grace_period_s=10)
    outcome, sooner = deletion.plan(PODS, marked, PODS.strategy, options, NOW + 5)
    assert outcome is Outcome.MARK
    assert sooner["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:30Z"


@pytest.mark.parametrize(("grace", "left", "goes"), [(0, 0, True), (-1, 1, False)])
def test_no_more_grace_and_finalizers(grace: int, left: int, goes: bool) -> None:
    """A pod with no time left waits for its finalizers only, and goes with the last of them."""
    _, marked = plan(PODS, {**running(), "metadata": meta(finalizers=["a/b"])})
    outcome, last = plan(PODS, marked, DeleteOptions(grace_period_s=grace))
    assert outcome is Outcome.MARK
    assert last["metadata"]["deletionGracePeriodSeconds"] == left
    assert last["metadata"]["finalizers"] == ["a/b"]
    assert deletion.finished({"metadata": {**last["metadata"], "finalizers": []}}, PODS) is goes


@pytest.mark.parametrize("policy", ["", "Orphan", "Foreground"])
@pytest.mark.parametrize("phase", ["Running", "Succeeded"])
def test_a_second_deletion_does_nothing(policy: str, phase: str) -> None:
    """The same object comes back, and nothing is written, whatever has become of it."""
    _, marked = plan(PODS, running())
    marked["status"] = {"phase": phase}
    assert plan(PODS, marked, DeleteOptions(propagation=policy)) == (Outcome.NOTHING, marked)


def test_a_second_deletion_may_change_what_happens_to_dependents() -> None:
    """Where nobody is stopping the object, and it waits for finalizers only."""
    _, marked = plan(CONFIGMAPS, {"metadata": meta(finalizers=["a/b"])})
    outcome, last = plan(CONFIGMAPS, marked, DeleteOptions(propagation="Foreground"))
    assert outcome is Outcome.MARK
    assert last["metadata"]["finalizers"] == ["a/b", FOREGROUND]


# ---------------------------------------------------------------- finalizers, propagation


@pytest.mark.parametrize(
    ("resource", "current", "policy", "after"),
    [
        ("configmaps", [], "", []),
        ("configmaps", ["a/b"], "", ["a/b"]),
        ("configmaps", [], "Orphan", [ORPHAN]),
        ("configmaps", [], "Foreground", [FOREGROUND]),
        ("configmaps", [ORPHAN], "", [ORPHAN]),
        ("configmaps", [FOREGROUND, "a/b"], "", [FOREGROUND, "a/b"]),
        ("configmaps", [ORPHAN, "a/b"], "Background", ["a/b"]),
        ("configmaps", [ORPHAN], "Foreground", [FOREGROUND]),
        ("configmaps", [FOREGROUND, "a/b"], "Orphan", ["a/b", ORPHAN]),
        ("replicationcontrollers", [], "", [ORPHAN]),
        ("replicationcontrollers", [], "Background", []),
        ("events", [], "Foreground", []),
        ("events", ["a/b", ORPHAN], "Orphan", ["a/b"]),
    ],
)
def test_propagation_is_a_finalizer(
    resource: str, current: list[str], policy: str, after: list[str]
) -> None:
    """The garbage collector finds its order there; the newest order counts."""
    obj = {"metadata": meta(finalizers=current)}
    options = DeleteOptions(propagation=policy)
    assert deletion.new_finalizers(obj, CORE[resource].strategy, options) == after


def test_an_object_with_finalizers_waits() -> None:
    """It is marked, and its finalizers stay."""
    outcome, last = plan(CONFIGMAPS, {"metadata": meta(finalizers=["a/b"])})
    assert outcome is Outcome.MARK
    assert last["metadata"]["finalizers"] == ["a/b"]
    assert last["metadata"]["deletionTimestamp"] == THEN
    assert last["metadata"]["deletionGracePeriodSeconds"] == 0


def test_a_deletion_marks_a_new_generation() -> None:
    """Objects that have a generation get a new one, once."""
    resource = CORE["replicationcontrollers"]
    _, marked = plan(resource, {"metadata": meta(generation=3, finalizers=["a/b"]), "spec": {}})
    assert marked["metadata"]["generation"] == 4
    _, again = plan(resource, marked)
    assert again["metadata"]["generation"] == 4


@settings(max_examples=60)
@given(
    finalizers=st.lists(st.sampled_from(["a/b", "c/d", ORPHAN, FOREGROUND]), unique=True),
    policy=st.sampled_from(["", "Orphan", "Background", "Foreground"]),
    name=st.sampled_from(sorted(CORE)),
)
def test_planning_changes_nothing_it_is_given(
    finalizers: list[str], policy: str, name: str
) -> None:
    """The stored object stays as it was read, and own finalizers are never lost."""
    obj = {"metadata": meta(finalizers=list(finalizers)), "spec": {}, "status": {}}
    _, last = plan(CORE[name], obj, DeleteOptions(propagation=policy))
    assert obj == {"metadata": meta(finalizers=finalizers), "spec": {}, "status": {}}
    own = [each for each in finalizers if each not in (ORPHAN, FOREGROUND)]
    kept = last["metadata"].get("finalizers", [])
    assert [each for each in kept if each not in (ORPHAN, FOREGROUND)] == own


# ---------------------------------------------------------------- namespaces


def test_a_namespace_terminates() -> None:
    """Its phase says so while its content goes; there is no grace period."""
    obj = {
        "metadata": meta(),
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    outcome, last = plan(NAMESPACES, obj)
    assert outcome is Outcome.MARK
    assert last["status"] == {"phase": "Terminating"}
    assert "deletionGracePeriodSeconds" not in last["metadata"]
    assert plan(NAMESPACES, last) == (Outcome.NOTHING, last)


def test_a_finalized_namespace_goes() -> None:
    """When neither kind of finalizer is left; the first deletion only marks it."""
    outcome, last = plan(NAMESPACES, {"metadata": meta(), "spec": {}, "status": {}})
    assert outcome is Outcome.MARK
    outcome, _ = plan(NAMESPACES, last)
    assert outcome is Outcome.REMOVE


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        (DeleteOptions(), ["a/b", ORPHAN]),
        (DeleteOptions(propagation="Background"), ["a/b"]),
        (DeleteOptions(propagation="Orphan"), ["a/b", ORPHAN]),
        (DeleteOptions(propagation="Foreground"), ["a/b", FOREGROUND]),
        (DeleteOptions(propagation="Background", waits=True), ["a/b", FOREGROUND]),
    ],
)
def test_what_becomes_of_dependents_of_a_namespace(
    options: DeleteOptions, finalizers: list[str]
) -> None:
    """The first deletion says so; while its content is there a second one says nothing."""
    obj = {"metadata": meta(finalizers=["a/b", ORPHAN]), "spec": {"finalizers": ["kubernetes"]}}
    _, last = plan(NAMESPACES, obj, options)
    assert last["metadata"]["finalizers"] == finalizers
    assert plan(NAMESPACES, last, DeleteOptions(propagation="Orphan")) == (Outcome.NOTHING, last)


# ---------------------------------------------------------------- the end


@pytest.mark.parametrize(
    ("resource", "obj", "done"),
    [
        ("configmaps", {"metadata": meta()}, False),
        ("configmaps", {"metadata": meta(deletionTimestamp=THEN)}, True),
        ("configmaps", {"metadata": meta(deletionTimestamp=THEN, finalizers=["a/b"])}, False),
        ("configmaps", {"metadata": meta(deletionTimestamp=THEN, finalizers=[])}, True),
        ("pods", {"metadata": meta(deletionTimestamp=THEN, deletionGracePeriodSeconds=30)}, False),
        ("pods", {"metadata": meta(deletionTimestamp=THEN, deletionGracePeriodSeconds=0)}, True),
        (
            "namespaces",
            {"metadata": meta(deletionTimestamp=THEN), "spec": {"finalizers": ["kubernetes"]}},
            False,
        ),
        ("namespaces", {"metadata": meta(deletionTimestamp=THEN), "spec": {}}, True),
    ],
)
def test_when_nothing_is_left_to_wait_for(resource: str, obj: Object, done: bool) -> None:
    """The update that takes the last obstacle away removes the object."""
    assert deletion.finished(obj, CORE[resource]) is done


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            DeleteOptions(uid="other"),
            (
                "the UID in the precondition (other) does not match the UID in record (u). "
                "The object might have been deleted and then recreated"
            ),
        ),
        (
            DeleteOptions(resource_version="3"),
            (
                "the ResourceVersion in the precondition (3) does not match the ResourceVersion in "
                "record (5). The object might have been modified"
            ),
        ),
    ],
)
def test_another_object_than_the_one_meant_stays(options: DeleteOptions, words: str) -> None:
    """409 in kube-apiserver's words, which name the kind."""
    with pytest.raises(ApiError) as caught:
        deletion.check_preconditions(CONFIGMAPS, {"metadata": meta()}, options)
    expected = f'Operation cannot be fulfilled on ConfigMap "n": {words}'
    assert (caught.value.code, caught.value.message) == (409, expected)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (DeleteOptions(uid="other"), "UID in precondition: other, UID in object meta: u"),
        (
            DeleteOptions(resource_version="3"),
            "ResourceVersion in precondition: 3, ResourceVersion in object meta: 5",
        ),
    ],
)
def test_another_namespace_than_the_one_meant_stays(options: DeleteOptions, words: str) -> None:
    """In other words."""
    with pytest.raises(ApiError) as caught:
        deletion.check_preconditions(NAMESPACES, {"metadata": meta()}, options)
    start = 'Operation cannot be fulfilled on namespaces "n": Precondition failed: '
    assert (caught.value.code, caught.value.message) == (409, start + words)
    assert (caught.value.details or {})["kind"] == "namespaces"


def test_preconditions_that_hold() -> None:
    """Both may be given."""
    options = DeleteOptions(uid="u", resource_version="5")
    deletion.check_preconditions(CONFIGMAPS, {"metadata": meta()}, options)


def test_events_are_of_the_core_group_when_another_is_meant() -> None:
    """Whichever group they are deleted through; definitions are named as resources."""
    found = registry().resources
    options = DeleteOptions(uid="other")
    for key, words in (
        (("events.k8s.io", "v1", "events"), 'Event "n": the UID in the precondition (other)'),
        (
            ("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
            'customresourcedefinitions.apiextensions.k8s.io "n": Precondition failed: UID',
        ),
    ):
        with pytest.raises(ApiError) as caught:
            deletion.check_preconditions(found[key], {"metadata": meta()}, options)
        assert caught.value.message.startswith(f"Operation cannot be fulfilled on {words}")
