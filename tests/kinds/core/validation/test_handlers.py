"""Checks of probes and life cycle handlers."""

from __future__ import annotations

import pytest
from checks.helpers import CONTAINER, Json, pod, refused, resource

PODS = resource("pods")
C = "spec.containers[0]"


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
