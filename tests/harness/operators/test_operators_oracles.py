"""Each rule tells of its mistake, and of nothing else; the calls are written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kubetrio.faults import Rule
from kubetrio.harness.operators.calls import Call, Place
from kubetrio.harness.operators.oracles import Evidence, judge
from kubetrio.harness.operators.plans import Plan
from kubetrio.harness.operators.runs import FOREIGN, Run

A = Place("", "configmaps", "default", "a")
Object = dict[str, Any]


def call(at: float, verb: str, status: int = 200, **more: Any) -> Call:
    """A call of the operator about one ConfigMap."""
    return Call(
        **{"at": at, "user": "operator", "verb": verb, "place": A, "status": status, **more}
    )


def config_map(**meta: Any) -> Object:
    """A ConfigMap."""
    return {"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default", **meta}}


def run(*calls: Call, after: tuple[Object, ...] = (), **more: Any) -> Run:
    """A run that was quiet from the tenth second on."""
    return Run(plan=Plan(), calls=calls, before=(), after=after, restful_s=10.0, **more)


def names(run: Run, reference: Run | None = None) -> set[str]:
    """The rules that tell of something."""
    return {one.oracle for one in judge(Evidence(run, reference, "operator"))}


def test_an_operator_that_does_what_it_should() -> None:
    """A conflict that was tried again, and an end as it should be."""
    end = (config_map(),)
    calls = (call(1, "update", 409), call(2, "update"))
    assert names(run(*calls, after=end), run(after=end)) == set()


def test_a_conflict_counts_where_the_end_is_wrong_and_nothing_was_tried() -> None:
    """Otherwise the write was not needed any more."""
    conflict = call(1, "update", 409)
    right = run(after=(config_map(),))
    assert names(run(conflict), right) == {"conflict-not-retried", "wrong-end"}
    assert names(run(conflict, call(2, "update")), right) == {"wrong-end"}
    assert names(run(conflict, after=(config_map(),)), right) == set()


def test_a_refusal() -> None:
    """As a conflict; the name of an object that exists is no refusal."""
    right = run(after=(config_map(),))
    assert names(run(call(1, "create", 503)), right) == {"refusal-not-retried", "wrong-end"}
    assert names(run(call(1, "create", 409)), right) == {"wrong-end"}


def test_ends_are_not_compared_where_users_were_answered_otherwise() -> None:
    """They are ends of two stories."""
    assert names(run(answers=(409,)), run(answers=(201,), after=(config_map(),))) == set()


def test_retry_after() -> None:
    """Refused again and again within its time; later tries are right."""
    refused = [call(at, "create", 429, retry_after_s=5) for at in (1, 2, 3, 4)]
    assert names(run(*refused)) == {"retry-after-ignored"}
    assert names(run(*(replace(one, at=one.at * 6) for one in refused))) == set()


def test_more_objects_than_otherwise_with_late_watches() -> None:
    """For one owner at a time."""
    owned = config_map(ownerReferences=[{"uid": "u", "kind": "Shelf", "name": "s"}])
    one = call(1, "create", 201, answer=owned)
    other = replace(one, place=A._replace(name="b"))
    late = {"fault-1": Rule(fault="watch-stall")}
    assert names(run(one, other, rules=late), run(one)) == {"stale-cache-trusted"}
    assert names(run(one, other), run(one)) == set()
    assert names(run(one, call(2, "delete"), other, rules=late), run(one)) == set()


def test_finalizers_of_others() -> None:
    """Its own it may remove."""
    made = call(0, "create", 201, user="a-user", answer=config_map(finalizers=[FOREIGN]))
    added = call(1, "update", answer=config_map(finalizers=[FOREIGN, "own"]))
    assert (
        names(run(made, added, call(2, "update", answer=config_map(finalizers=[FOREIGN])))) == set()
    )
    lost = call(2, "update", answer=config_map(finalizers=["own"]))
    assert names(run(made, added, lost)) == {"finalizer-lost"}


def test_what_stays() -> None:
    """An object that waits for the operator, and one whose owner is gone."""
    waiting = config_map(deletionTimestamp="t", finalizers=["own"])
    assert names(run(after=(waiting,))) == {"stuck-in-deletion"}
    orphan = config_map(ownerReferences=[{"uid": "gone", "kind": "Shelf", "name": "s"}])
    assert names(run(after=(orphan,))) == {"orphan"}


def test_storms() -> None:
    """Of the status and of the rest; they never settle either."""
    many = [call(11 + at / 10, "update", subresource="status") for at in range(30)]
    assert names(run(*many)) == {"status-write-storm", "never-settles"}
    plain = [replace(one, subresource="") for one in many]
    assert names(run(*plain)) == {"write-storm", "never-settles"}
    assert names(run(*(replace(one, at=1.0) for one in many))) == set()
    lease = [replace(one, place=Place("coordination.k8s.io", "leases", "x", "y")) for one in plain]
    assert names(run(*lease)) == set()


def test_an_operator_that_ends() -> None:
    """By itself."""
    assert names(run(crashes=["ValueError: no"])) == {"crashed"}
