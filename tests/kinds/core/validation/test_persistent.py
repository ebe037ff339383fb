"""Checks of persistent volumes."""

from __future__ import annotations

import pytest
from checks.helpers import (
    Json,
    changed,
    made,
    refused,
    refused_change,
    resource,
)
from checks.recorded import Case, assert_as_recorded, recorded

VOLUMES = resource("persistentvolumes")


def test_volume_may_gain_expansion_secret() -> None:
    """The one member of a source that may be added later."""
    csi = {"driver": "d.io", "volumeHandle": "h"}
    base = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "csi": csi}
    old = made(VOLUMES, {"spec": base})
    secret = {"name": "a", "namespace": "b"}
    new = changed(old, "spec.csi.controllerExpandSecretRef", secret)
    assert refused_change(VOLUMES, old, new) == []
    assert refused_change(VOLUMES, new, changed(new, "spec.csi.controllerExpandSecretRef", None))


def test_mount_options_of_a_volume_that_has_none() -> None:
    """The annotation is for some kinds of volumes."""
    note = "volume.beta.kubernetes.io/mount-options"
    body = {
        "metadata": {"annotations": {note: "ro"}},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/x"},
        },
    }
    told = f"metadata.annotations.{note}: Forbidden: may not specify mount options for this volume "
    assert refused(VOLUMES, body) == [f"{told}type"]
    old = made(VOLUMES, body)
    assert refused_change(VOLUMES, old, old) == [f"{told}type"]
    body["spec"]["nfs"] = {"server": "s", "path": "/x"}
    del body["spec"]["hostPath"]
    assert refused(VOLUMES, body) == []


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"flexVolume": {"driver": "a/b"}}, []),
        ({"flexVolume": {}}, ["spec.flexVolume.driver: Required value"]),
        (
            {"local": {"path": "/a"}},
            ["spec.local: Forbidden: may not specify more than 1 volume type"],
        ),
    ],
)
def test_a_second_source_of_a_volume(more: Json, expected: list[str]) -> None:
    """Only the first is looked into, but for the one that upstream does not count."""
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/a"},
    }
    assert refused(VOLUMES, {"spec": {**spec, **more}}) == expected


def _volume(**spec: object) -> Json:
    base = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    return {"metadata": {"name": "x"}, "spec": {**base, **spec}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"hostPath": {"path": "/"}, "persistentVolumeReclaimPolicy": "Recycle"},
            [
                (
                    "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a "
                    "hostPath "
                    "mount of '/'"
                )
            ],
        ),
        ({"csi": {"driver": "d.io"}}, ["spec.csi.volumeHandle: Required value"]),
        (
            {"csi": {"driver": "d.io", "volumeHandle": "h", "nodePublishSecretRef": {"name": "a"}}},
            ["spec.csi.nodePublishSecretRef.namespace: Required value"],
        ),
        (
            {"hostPath": {"path": "/a"}, "volumeMode": "Tape"},
            ['spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'],
        ),
        (
            {"hostPath": {"path": "/a"}, "volumeAttributesClassName": "gold"},
            ["spec.csi: Required value: has to be specified when using volumeAttributesClassName"],
        ),
        (
            {"hostPath": {"path": "/a"}, "nodeAffinity": {}},
            ["spec.nodeAffinity.required: Required value: must specify required node constraints"],
        ),
    ],
)
def test_persistent_volume(spec: Json, expected: list[str]) -> None:
    """PersistentVolumes share sources with pods and add rules."""
    assert refused(VOLUMES, _volume(**spec)) == sorted(expected)


@pytest.mark.parametrize("case", recorded("", "persistentvolumes"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
