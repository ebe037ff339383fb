"""Names, ordinals, volumes and claims of members."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.podcontrol.claims import Controlling
from kubetrio.controllers.podcontrol.view import view_of
from kubetrio.controllers.statefulset.members import (
    Revision,
    claims_of,
    identity_matches,
    new_member,
    parent_and_ordinal,
    revision_for,
    storage_matches,
)
from kubetrio.testing.workloads import template, workload

Object = dict[str, Any]
OLD, NEW = Revision("old", template("i")), Revision("new", template("j"))
CLAIM = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}


def owner(**spec: Any) -> Controlling:
    """A StatefulSet."""
    obj = workload("StatefulSet", serviceName="s", volumeClaimTemplates=[CLAIM], **spec)
    obj["metadata"]["uid"] = "u"
    return Controlling("apps/v1", "StatefulSet", obj)


@pytest.mark.parametrize(
    ("name", "found"),
    [("w-0", ("w", 0)), ("a-b-12", ("a-b", 12)), ("w", ("", -1)), ("w-", ("", -1)),
     ("w-99999999999", ("w", -1))],
)  # fmt: skip
def test_names_tell_ordinals(name: str, found: tuple[str, int]) -> None:
    """Of 32 bits."""
    assert parent_and_ordinal(name) == found


@pytest.mark.parametrize(
    ("strategy", "replicas", "found"),
    [
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}, 0, ["old", "old", "new"]),
        ({"type": "RollingUpdate"}, 1, ["old", "new", "new"]),
        ({"type": "OnDelete"}, 2, ["new", "new", "new"]),
    ],
)
def test_a_missing_member_has_a_revision(strategy: Object, replicas: int, found: list[str]) -> None:
    """By the partition, or by how many are not updated."""
    one = owner(updateStrategy=strategy)
    one.obj["status"] = {"currentReplicas": replicas}
    assert [revision_for(one, OLD, NEW, number).name for number in range(3)] == found


def test_a_member_matches_what_it_is_made_of() -> None:
    """A volume of the template with a claim's name is replaced."""
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]
    pod = new_member(owner(), Revision("r", template(volumes=volumes)), 3)
    assert pod["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-w-3"}}, volumes[1],
    ]  # fmt: skip
    view = view_of({**pod, "metadata": {**pod["metadata"], "uid": "p"}})
    assert identity_matches(view)
    assert storage_matches(owner(), view)
    assert not identity_matches(view._replace(labels=()))
    assert not storage_matches(owner(), view._replace(claims=()))


def test_claims_have_the_labels_that_are_selected() -> None:
    """And the name of the member."""
    (claim,) = claims_of(owner(), 1)
    assert claim["metadata"] == {
        "name": "data-w-1", "namespace": "default", "labels": {"app": "web"},
    }  # fmt: skip
