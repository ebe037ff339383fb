"""Who owns the claims of a StatefulSet's members."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.podcontrol.claims import Controlling
from kubetrio.controllers.statefulset.retention import (
    Member,
    conflicts,
    stale_for_pod,
    up_to_date,
    with_owners,
)

Object = dict[str, Any]
POD = {"apiVersion": "v1", "kind": "Pod", "name": "w-0", "uid": "p", "controller": True}
OTHER = {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "x", "controller": True}


def owner(scaled: str = "Retain", deleted: str = "Retain") -> Controlling:
    """A StatefulSet."""
    policy = {"whenScaled": scaled, "whenDeleted": deleted}
    spec = {"persistentVolumeClaimRetentionPolicy": policy}
    return Controlling("apps/v1", "StatefulSet", {"metadata": {"name": "w", "uid": "s"},
                                                  "spec": spec})  # fmt: skip


SET = owner().reference()


def claim(*references: Object) -> Object:
    """A claim with owners."""
    return {"metadata": {"name": "c", "ownerReferences": list(references)}}


@pytest.mark.parametrize("condemned", [False, True])
@pytest.mark.parametrize("scaled", ["Retain", "Delete"])
@pytest.mark.parametrize("deleted", ["Retain", "Delete"])
@pytest.mark.parametrize("references", [(), (SET,), (POD,), (SET, POD), ({**SET, "controller":
    False},)])  # fmt: skip
def test_owners_become_those_of_the_policy(
    references: tuple[Object, ...], deleted: str, scaled: str, condemned: bool
) -> None:
    """Whatever they were, and stay so."""
    one, member = owner(scaled, deleted), Member("w-0", "p", condemned)
    made = with_owners(claim(*references), one, member)
    assert up_to_date(made, one, member)
    kinds = [reference["kind"] for reference in made["metadata"].get("ownerReferences") or ()]
    by_pod = condemned and scaled == "Delete"
    assert kinds == (["Pod"] if by_pod else ["StatefulSet"] if deleted == "Delete" else [])


def test_former_pods_and_sets_keep_their_claims() -> None:
    """They go with those."""
    member = Member("w-0", "new", condemned=False)
    assert stale_for_pod(claim(POD), member)
    assert up_to_date(claim(POD), owner("Delete"), member)
    former = {**SET, "uid": "former"}
    assert up_to_date(claim(former), owner("Delete"), member)
    assert not stale_for_pod(claim(OTHER), member)


def test_another_controller_is_left_alone() -> None:
    """Where claims are retained it is no conflict."""
    member = Member("w-0", "p", condemned=False)
    one = owner("Retain", "Delete")
    assert conflicts(claim(OTHER), one, member)
    assert not conflicts(claim(OTHER), owner(), member)
    assert up_to_date(claim(OTHER), one, member)
    assert not up_to_date(claim(OTHER, SET), one, member)
    assert with_owners(claim(OTHER, SET), one, member) == claim(OTHER)
