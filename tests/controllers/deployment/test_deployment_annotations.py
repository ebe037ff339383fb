"""Annotations of Deployments and their ReplicaSets."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.deployment import annotations as notes

Object = dict[str, Any]


def obj(**annotations: str) -> Object:
    """An object with annotations."""
    return {"metadata": {"annotations": {_name(key): value for key, value in annotations.items()}}}


def _name(key: str) -> str:
    return {"revision": notes.REVISION, "history": notes.HISTORY, "most": notes.MAX_REPLICAS}.get(
        key, key
    )


@pytest.mark.parametrize(
    ("text", "found"), [("3", 3), ("0", 0), ("-1", None), ("x", None), ("9999999999", None)]
)
def test_numbers(text: str, found: int | None) -> None:
    """Those of 32 bits that are not negative."""
    assert notes.number(obj(most=text), notes.MAX_REPLICAS) == found


def test_revisions() -> None:
    """The highest, and the one before."""
    found = [obj(revision="3"), obj(), obj(revision="x"), obj(revision="12")]
    assert [notes.revision(one) for one in found] == [3, 0, None, 12]
    assert notes.newest_revision(found) == 12
    assert notes.last_revision([*found, None]) == 3
    assert notes.last_revision(found[:1]) == 0


def test_the_newest_gets_annotations_and_a_revision() -> None:
    """Not those that are about something else."""
    deployment = obj(a="1", revision="7")
    found = notes.copied(deployment, obj(b="2"), 4)
    assert found == {"a": "1", "b": "2", notes.REVISION: "4"}


def test_an_older_revision_is_remembered() -> None:
    """One that is newer already stays; one that is no number too."""
    assert notes.copied(obj(), obj(revision="2"), 4) == {notes.REVISION: "4", notes.HISTORY: "2"}
    again = notes.copied(obj(), obj(revision="4", history="1,2"), 9)
    assert again == {notes.REVISION: "9", notes.HISTORY: "1,2,4"}
    assert notes.copied(obj(), obj(revision="9"), 4) == {notes.REVISION: "9"}
    assert notes.copied(obj(), obj(revision="x"), 4) == {notes.REVISION: "x"}


def test_a_long_history_loses_its_beginning() -> None:
    """And nothing is added where one revision alone is too long."""
    history = ",".join(str(1000 + number) for number in range(400))
    found = notes.copied(obj(), obj(revision="9998", history=history), 9999)[notes.HISTORY]
    assert len(found) <= notes.MOST_HISTORY
    assert found.endswith(",1399,9998")


def test_a_deployment_takes_annotations_back() -> None:
    """It keeps what is not copied."""
    found = notes.rolled_back(obj(a="1", revision="3"), obj(b="2", revision="1", most="4"))
    assert found == {notes.REVISION: "3", "b": "2"}


def test_no_annotations_are_no_member() -> None:
    """As Go prints them."""
    assert notes.with_annotations(obj(a="1"), {}) == {"metadata": {}}
    assert notes.sizes_noted({"a": "b"}, 3, 4) == {
        "a": "b", notes.DESIRED_REPLICAS: "3", notes.MAX_REPLICAS: "4",
    }  # fmt: skip
