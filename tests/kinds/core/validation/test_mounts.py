"""Checks of the mounts of containers."""

from __future__ import annotations

from typing import Any

import pytest
from checks.helpers import CONTAINER, Json, pod, refused, resource

PODS = resource("pods")
C = "spec.containers[0]"


def _mounting(mounts: list[Json], **more: Any) -> Json:
    volumes = [
        {"name": "v", "emptyDir": {}},
        {"name": "p", "persistentVolumeClaim": {"claimName": "p"}},
    ]
    return pod(containers=[{**CONTAINER, "volumeMounts": mounts, **more}], volumes=volumes)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            _mounting([{"name": "v", "mountPath": "/a"}, {"name": "p", "mountPath": "/a"}]),
            ['volumeMounts[1].mountPath: Invalid value: "/a": must be unique'],
        ),
        (
            _mounting([{"name": "v", "mountPath": "/a", "subPath": "../b"}]),
            ["volumeMounts.subPath: Invalid value: \"../b\": must not contain '..'"],
        ),
        (
            _mounting([{"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"}]),
            [
                (
                    "volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is "
                    "available only to privileged containers"
                )
            ],
        ),
        (
            _mounting([{"name": "v", "mountPath": "/a", "recursiveReadOnly": "Enabled"}]),
            [
                (
                    "volumeMounts.recursiveReadOnly: Forbidden: may only be specified when "
                    "readOnly "
                    "is true"
                )
            ],
        ),
        (
            _mounting([], volumeDevices=[{"name": "v", "devicePath": "/d"}]),
            [
                (
                    'volumeDevices[0].name: Invalid value: "v": can only use volume source type of '
                    "PersistentVolumeClaim or Ephemeral for block mode"
                )
            ],
        ),
        (_mounting([], volumeDevices=[{"name": "p", "devicePath": "/d"}]), []),
    ],
)
def test_mounts(body: Json, expected: list[str]) -> None:
    """Mounts and devices fit the volumes and each other."""
    assert refused(PODS, body) == sorted(f"{C}.{text}" for text in expected)


def test_image_volume_may_be_mounted_in_parts() -> None:
    """A sub path of an image is allowed since image volumes are beta."""
    mount = {"name": "v", "mountPath": "/v", "subPath": "a"}
    body = pod(
        containers=[{**CONTAINER, "volumeMounts": [mount]}],
        volumes=[{"name": "v", "image": {"reference": "img"}}],
    )
    assert refused(PODS, body) == []
