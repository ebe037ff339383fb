"""Which volume suits a claim, as tables."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.persistentvolumes.matching import (
    best_match,
    class_of,
    default_class,
    has_class,
    is_bound_to,
    unsuited,
)

Object = dict[str, Any]


def claim(size: str = "1Gi", **spec: Any) -> Object:
    """A claim of a class."""
    usual = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "c",
        "resources": {"requests": {"storage": size}},
    }
    return {
        "metadata": {"name": "pvc", "namespace": "ns", "uid": "u"},
        "spec": {**usual, **spec},
    }


def volume(name: str, size: str = "1Gi", phase: str = "Available", **spec: Any) -> Object:
    """A volume of the class."""
    usual = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "c",
        "capacity": {"storage": size},
    }
    return {
        "metadata": {"name": name, "labels": {"disk": name}},
        "spec": {**usual, **spec},
        "status": {"phase": phase},
    }


def reference(name: str = "pvc", namespace: str = "ns", uid: str | None = None) -> Object:
    """What a volume says of its claim."""
    named = {"name": name, "namespace": namespace}
    return named if uid is None else {**named, "uid": uid}


MANY = ["ReadWriteOnce", "ReadOnlyMany"]


@pytest.mark.parametrize(
    ("wanted", "volumes", "name"),
    [
        (claim(), [], None),
        (claim(), [volume("a")], "a"),
        (claim("2Gi"), [volume("a")], None),
        (claim(), [volume("a", "5Gi"), volume("b", "2Gi"), volume("d", "3Gi")], "b"),
        (claim(), [volume("b"), volume("a")], "a"),
        (claim(), [volume("a", accessModes=MANY), volume("b", "9Gi")], "b"),
        (claim(accessModes=["ReadOnlyMany"]), [volume("b"), volume("a", accessModes=MANY)], "a"),
        (claim(), [volume("a", phase="Released"), volume("b", phase="Bound")], None),
        (claim(), [volume("a", storageClassName="other")], None),
        (claim(storageClassName=""), [volume("a", storageClassName=None)], "a"),
        (claim(volumeMode="Block"), [volume("a"), volume("b", volumeMode="Block")], "b"),
        (claim(volumeAttributesClassName="x"), [volume("a")], None),
        (claim(selector={"matchLabels": {"disk": "b"}}), [volume("a"), volume("b")], "b"),
        (claim(selector={"matchExpressions": [{"key": "disk", "operator": "?"}]}),
         [volume("a")], None),
        (claim(), [volume("a"), volume("b", claimRef=reference("other"))], "a"),
        # what is meant for the claim wins, of whatever class and phase
        (claim(), [volume("a"), volume("b", "9Gi", "Bound", claimRef=reference())], "b"),
        (claim(), [volume("b", claimRef=reference(uid="u"), storageClassName="other")], "b"),
        (claim(), [volume("b", claimRef=reference(uid="another"))], None),
        (claim("2Gi"), [volume("b", claimRef=reference(uid="u"))], None),
    ],
)  # fmt: skip
def test_best_match(wanted: Object, volumes: list[Object], name: str | None) -> None:
    """The smallest volume that suits is taken, or the one that is meant for the claim."""
    found = best_match(wanted, volumes, waits=False)
    assert (None if found is None else found["metadata"]["name"]) == name


def test_claims_that_wait() -> None:
    """Only what is meant for one counts before a pod uses it."""
    meant = volume("b", claimRef=reference())
    assert best_match(claim(), [volume("a")], waits=True) is None
    assert best_match(claim(), [volume("a"), meant], waits=True) is meant


def test_a_volume_that_goes() -> None:
    """It suits no claim."""
    going = volume("a")
    going["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z"
    assert best_match(claim(), [going], waits=False) is None
    assert unsuited(going, claim()) == 'the volume is marked for deletion "a"'


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (volume("a"), ""),
        (volume("a", "1Mi"), "requested PV is too small"),
        (volume("a", storageClassName="other"), "storageClassName does not match"),
        (volume("a", volumeAttributesClassName="x"), "volumeAttributesClassName does not match"),
        (volume("a", volumeMode="Block"), "incompatible volumeMode"),
        (volume("a", accessModes=["ReadOnlyMany"]), "incompatible accessMode"),
    ],
)
def test_why_a_volume_does_not_suit(one: Object, why: str) -> None:
    """A claim that names it is told."""
    assert unsuited(one, claim()) == why


def test_classes() -> None:
    """The old annotation is stronger; an empty name is a class, none is not."""
    assert class_of(claim()) == "c"
    old = claim()
    old["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": "old"}
    assert class_of(old) == "old"
    assert has_class(claim(storageClassName=""))
    assert not has_class(claim(storageClassName=None))


def test_the_default_class() -> None:
    """It is the newest that says so, by name where several are as new."""

    def made(name: str, at: str, **annotations: str) -> Object:
        return {"metadata": {"name": name, "creationTimestamp": at, "annotations": annotations}}

    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    beta = {"storageclass.beta.kubernetes.io/is-default-class": "true"}
    assert default_class([made("a", "1")]) is None
    classes = [made("z", "2", **default), made("b", "2", **beta), made("a", "1", **default)]
    assert default_class(classes) == "b"


def test_what_a_volume_is_for() -> None:
    """Name and namespace count, and the uid where there is one."""
    assert is_bound_to(volume("a", claimRef=reference()), claim())
    assert is_bound_to(volume("a", claimRef=reference(uid="")), claim())
    assert not is_bound_to(volume("a"), claim())
    assert not is_bound_to(volume("a", claimRef=reference(namespace="other")), claim())
