"""Checks of containers."""

from __future__ import annotations

import pytest
from checks.helpers import CONTAINER, Json, pod, refused, resource

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
