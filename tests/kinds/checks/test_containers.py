"""Containers."""

from __future__ import annotations

from typing import Any

import pytest

from .helpers import CONTAINER, Json, pod, refused, resource

PODS = resource("pods")
C = "spec.containers[0]"


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (
            {"image": " img"},
            ['image: Invalid value: " img": must not have leading or trailing whitespace'],
        ),
        ({"ports": [{"containerPort": 0}]}, ["ports[0].containerPort: Required value"]),
        (
            {"ports": [{"containerPort": 1, "protocol": "X"}]},
            ['ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"'],
        ),
        (
            {"ports": [{"containerPort": 1, "name": "1-"}]},
            [
                'ports[0].name: Invalid value: "1-": must contain at least one letter (a-z)',
                'ports[0].name: Invalid value: "1-": must not begin or end with a hyphen',
            ],
        ),
        ({"env": [{"name": ""}]}, ["env[0].name: Required value"]),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.hostname"}}}]},
            [
                (
                    'env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.hostname": error '
                    "converting fieldPath: field label not supported: spec.hostname"
                )
            ],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}}]},
            [
                (
                    'env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.gpu": '
                    'supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", '
                    '"requests.cpu", "requests.ephemeral-storage", "requests.memory"'
                )
            ],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}]},
            ["env[0].valueFrom.secretKeyRef.key: Required value"],
        ),
        (
            {"envFrom": [{}]},
            ['envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`'],
        ),
        (
            {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"values": [1]}}]},
            [
                (
                    "restartPolicy: Required value: must specify restartPolicy when restart rules "
                    "are used"
                ),
                (
                    'restartPolicyRules[0].exitCodes.operator: Unsupported value: "": supported '
                    'values: "In", "NotIn"'
                ),
            ],
        ),
        (
            {"resizePolicy": [{"resourceName": "gpu", "restartPolicy": "NotRequired"}]},
            ['resizePolicy: Unsupported value: "gpu": supported values: "cpu", "memory"'],
        ),
        (
            {
                "resources": {
                    "requests": {"hugepages-2Mi": "3Mi"},
                    "limits": {"hugepages-2Mi": "3Mi"},
                }
            },
            [
                (
                    'resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive '
                    "integer multiple of hugepages-2Mi"
                ),
                (
                    'resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive '
                    "integer multiple of hugepages-2Mi"
                ),
                "resources: Forbidden: HugePages require cpu or memory",
            ],
        ),
        (
            {"resources": {"requests": {"example.com/gpu": "1"}}},
            [
                (
                    "resources.limits: Required value: Limit must be set for non overcommitable "
                    "resources"
                )
            ],
        ),
        (
            {"resources": {"claims": [{"name": "gpu"}]}},
            [
                (
                    'resources.claims[0]: Not found: "gpu": must be one of the names in '
                    "pod.spec.resourceClaims which is empty"
                )
            ],
        ),
    ],
)
def test_container_member(member: Json, expected: list[str]) -> None:
    """A bad member of a container is told with its path."""
    body = pod(containers=[{**CONTAINER, **member}])
    assert refused(PODS, body) == sorted(f"{C}.{text}" for text in expected)


@pytest.mark.parametrize(
    "member",
    [
        {"restartPolicy": "Always", "livenessProbe": {"tcpSocket": {"port": 1}}},
        {"restartPolicy": "Always", "lifecycle": {"preStop": {"sleep": {"seconds": 3}}}},
        {"restartPolicy": "Never"},
        {},
    ],
)
def test_good_init_container(member: Json) -> None:
    """Sidecars may have probes and hooks."""
    assert refused(PODS, pod(initContainers=[{"name": "i", "image": "x", **member}])) == []


def test_name_of_init_container_is_taken() -> None:
    """Init and regular containers share their names."""
    body = pod(initContainers=[CONTAINER])
    assert refused(PODS, body) == ['spec.initContainers[0].name: Duplicate value: "c"']


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        ({}, ["livenessProbe: Required value: must specify a handler type"]),
        (
            {"httpGet": {"port": "http", "scheme": "FTP"}},
            [
                (
                    'livenessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: '
                    '"HTTP", '
                    '"HTTPS"'
                )
            ],
        ),
        ({"exec": {}}, ["livenessProbe.exec.command: Required value"]),
        (
            {"grpc": {"port": 0}},
            ["livenessProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive"],
        ),
        (
            {"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 0},
            [
                (
                    "livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be "
                    "greater "
                    "than 0"
                )
            ],
        ),
    ],
)
def test_probe(probe: Json, expected: list[str]) -> None:
    """A probe needs one good handler."""
    body = pod(containers=[{**CONTAINER, "livenessProbe": probe}])
    assert refused(PODS, body) == sorted(f"{C}.{text}" for text in expected)


def test_sleep_longer_than_grace() -> None:
    """A hook may not sleep past the grace period."""
    hooks = {"preStop": {"sleep": {"seconds": 31}}}
    assert refused(PODS, pod(containers=[{**CONTAINER, "lifecycle": hooks}])) == [
        (
            f"{C}.lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than "
            "terminationGracePeriodSeconds (30)"
        )
    ]


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
