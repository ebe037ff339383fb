"""Which objects an owner has, takes and leaves."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.podcontrol.claims import (
    Claimable,
    Claims,
    Controlling,
    adopted,
    claims,
    released,
)
from kubetrio.kinds.core.pods.digests import Owner
from kubetrio.machinery.status import ApiError

Object = dict[str, Any]
MINE, OTHER = Owner("apps/v1", "ReplicaSet", "w", "u"), Owner("apps/v1", "ReplicaSet", "x", "v")


def owner(**meta: str) -> Controlling:
    """An owner."""
    return Controlling("apps/v1", "ReplicaSet", {"metadata": {"name": "w", "uid": "u", **meta}})


@pytest.mark.parametrize(
    ("above", "deleting", "matches", "place"),
    [
        (MINE, False, True, "held"),
        (MINE, True, True, "held"),
        (MINE, False, False, "release"),
        (OTHER, False, True, ""),
        (None, False, True, "adopt"),
        (None, True, True, ""),
        (None, False, False, ""),
    ],
)
def test_claims(above: Owner | None, deleting: bool, matches: bool, place: str) -> None:
    """By reference, selector and deletion."""
    found = claims(owner(), ["p"], lambda _: Claimable(above, deleting, matches))
    assert found == Claims(*(["p"] if name == place else [] for name in Claims._fields))


def test_an_owner_that_is_deleted_takes_and_leaves_nothing() -> None:
    """It keeps what it has."""
    gone = owner(deletionTimestamp="2023-11-14T22:13:20Z")
    looks = {"a": Claimable(MINE, False, True), "b": Claimable(MINE, False, False),
             "c": Claimable(None, False, True)}  # fmt: skip
    assert claims(gone, looks, looks.__getitem__) == Claims(["a"], [], [])


def test_adoption_and_release_change_references_and_finalizers() -> None:
    """Other owners stay."""
    beside = {"uid": "z", "kind": "A", "name": "z", "apiVersion": "v1"}
    pod: Object = {"metadata": {"name": "p", "uid": "q", "ownerReferences": [beside]}}
    reference = owner().reference()
    new = adopted(pod, "q", reference, ("f",))
    assert new["metadata"]["ownerReferences"] == [beside, reference]
    assert new["metadata"]["finalizers"] == ["f"]
    assert released(new, "q", "u", ("f",)) == pod
    only = {"metadata": {"name": "p", "uid": "q", "ownerReferences": [reference]}}
    assert released(only, "q", "u") == {"metadata": {"name": "p", "uid": "q"}}


def test_another_object_of_the_name_is_left_alone() -> None:
    """And one that has a controller."""
    pod: Object = {"metadata": {"name": "p", "uid": "q"}}
    with pytest.raises(ApiError, match="not to be adopted"):
        adopted(pod, "r", owner().reference())
    theirs = {"metadata": {**pod["metadata"], "ownerReferences": [
        {"uid": "v", "kind": "ReplicaSet", "controller": True}]}}  # fmt: skip
    with pytest.raises(ApiError, match="not to be adopted"):
        adopted(theirs, "q", owner().reference())
    with pytest.raises(ApiError, match="another object now"):
        released(pod, "r", "u")
