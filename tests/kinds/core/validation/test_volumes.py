"""Checks of the volumes of pods."""

from __future__ import annotations

from checks.helpers import pod, refused, resource

PODS = resource("pods")
CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


def test_claim_of_ephemeral_volume_is_not_used_twice() -> None:
    """A volume may not use the claim that another one creates."""
    body = pod(
        volumes=[
            {"name": "a", "ephemeral": {"volumeClaimTemplate": CLAIM}},
            {"name": "b", "persistentVolumeClaim": {"claimName": "x-a"}},
        ]
    )
    assert refused(PODS, body) == [
        (
            'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "x-a": must not '
            "reference a PVC that gets created for an ephemeral volume"
        )
    ]
