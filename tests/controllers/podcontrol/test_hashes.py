"""Hashes as kube-controller-manager makes them; they were computed by its code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubetrio.controllers.podcontrol.hashes import data_hash, fnv32, fnv32a, safe, template_hash

Object = dict[str, Any]


def small(cpu: str = "") -> Object:
    """A template as it is stored."""
    resources = {"limits": {"cpu": cpu, "memory": "64Mi"}, "requests": {"memory": cpu}}
    container = {
        "name": "c", "image": "i", "resources": resources if cpu else {},
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        "imagePullPolicy": "Always",
    }  # fmt: skip
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "containers": [container], "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
            "securityContext": {}, "schedulerName": "default-scheduler",
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cpu", "found"),
    [
        ("", "6bfcccbf84"), ("100m", "79b4c648f7"), ("1", "88c77df7c"), ("0", "7467bd8f49"),
        ("128Mi", "d7f5d8f7"), ("100Mi", "5d4bffbddf"), ("1500m", "5f7859db5c"),
        ("2Ti", "5c474545d7"), ("100Ti", "7d476496f5"), ("1Ei", "5879f77db9"),
        ("1e3", "85bf675857"), ("1k", "6dd74798c7"), ("500u", "59dfcc84f"),
        ("12345678901234567890", "6bb98c45d9"), ("7Pi", "8696f4786f"),
        ("123456789012345678", "58cf4d546f"), ("5", "7f496b785c"),
    ],
)  # fmt: skip
def test_templates(cpu: str, found: str) -> None:
    """With each way in which Go keeps a quantity."""
    assert template_hash(small(cpu)) == found


def test_a_template_with_nearly_everything() -> None:
    """Volumes, probes, affinity, security, and a number of collisions."""
    known = json.loads((Path(__file__).parent / "template.json").read_text())
    assert template_hash(known["template"]) == known["hash"]
    assert template_hash(known["template"], 7) == known["hash7"]


def test_numbers() -> None:
    """The two variants of FNV, and letters for digits."""
    assert fnv32(b"a") == 0x050C5D7E
    assert fnv32a(b"a") == 0xE40C292C
    assert safe(1234567890) == "56789bcdf4"
    assert data_hash(b"{}") != data_hash(b"{}", 0) == data_hash(b"{}0")
