"""Templates of Deployments and their ReplicaSets."""

from __future__ import annotations

from kubetrio.controllers.deployment.templates import (
    HASH,
    new_replica_set,
    same_template,
    split,
    without_hash,
)
from kubetrio.controllers.podcontrol.claims import Controlling
from kubetrio.testing.workloads import template, workload


def owner(name: str = "w") -> Controlling:
    """A Deployment."""
    obj = workload("Deployment", name, replicas=2, minReadySeconds=5)
    obj["metadata"]["uid"] = "u"
    return Controlling("apps/v1", "Deployment", obj)


def test_a_new_one_has_the_hash_in_name_labels_and_selector() -> None:
    """And no pods."""
    made = new_replica_set(owner())
    found = made["metadata"]["labels"][HASH]
    assert made["metadata"]["name"] == f"w-{found}"
    assert made["spec"]["selector"]["matchLabels"] == {"app": "web", HASH: found}
    assert made["spec"]["template"]["metadata"]["labels"] == {"app": "web", HASH: found}
    assert (made["spec"]["replicas"], made["spec"]["minReadySeconds"]) == (0, 5)
    assert made["metadata"]["ownerReferences"] == [owner().reference()]


def test_collisions_make_other_names() -> None:
    """And long names are cut."""
    one = owner()
    one.obj["status"] = {"collisionCount": 1}
    assert new_replica_set(one)["metadata"]["name"] != new_replica_set(owner())["metadata"]["name"]
    long = new_replica_set(owner("a" * 253))["metadata"]["name"]
    assert len(long) == 253


def test_the_oldest_with_the_template_is_the_newest_revision() -> None:
    """All others are old."""
    made = new_replica_set(owner())
    first = {**made, "metadata": {**made["metadata"], "name": "b", "creationTimestamp": "1"}}
    second = {**made, "metadata": {**made["metadata"], "name": "a", "creationTimestamp": "2"}}
    other = {
        "metadata": {"name": "c", "creationTimestamp": "0"}, "spec": {"template": template("j")},
    }  # fmt: skip
    assert split(owner().obj, [second, other, first]) == (first, [other, second])
    assert split(owner().obj, [other]) == (None, [other])


def test_hashes_do_not_count() -> None:
    """A template goes back to its Deployment without one."""
    made = new_replica_set(owner())["spec"]["template"]
    assert same_template(made, template())
    assert not same_template(made, template("j"))
    assert without_hash(made) == template()
