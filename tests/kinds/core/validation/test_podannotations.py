"""Checks of the annotations of pods."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from checks.helpers import Json, made, pod, refused, refused_change, resource

PODS = resource("pods")


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (
            {"kubernetes.io/config.mirror": "m"},
            [
                (
                    'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "m": must '
                    "set "
                    "spec.nodeName if mirror pod annotation is set"
                )
            ],
        ),
        (
            {"controller.kubernetes.io/pod-deletion-cost": "01"},
            [
                (
                    "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid "
                    'value: "01": '
                    "must be a 32bit integer"
                )
            ],
        ),
        (
            {"container.apparmor.security.beta.kubernetes.io/d": "unconfined"},
            [
                (
                    "metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]: "
                    "Invalid "
                    'value: "d": container not found'
                )
            ],
        ),
        (
            {"seccomp.security.alpha.kubernetes.io/pod": "x"},
            [
                (
                    "metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "
                    '"x": must be a valid seccomp profile'
                )
            ],
        ),
    ],
)
def test_annotations(annotations: Json, expected: list[str]) -> None:
    """Annotations with a meaning are checked."""
    body: dict[str, Any] = {**pod(), "metadata": {"annotations": annotations}}
    assert refused(PODS, body) == expected


BOUND = made(PODS, pod(nodeName="n"))


def test_bad_annotation_is_told_twice_on_update() -> None:
    """Once of the pod and once of the change, as kube-apiserver does."""
    cost = "controller.kubernetes.io/pod-deletion-cost"
    new = copy.deepcopy(BOUND)
    new["metadata"]["annotations"] = {cost: "x"}
    told = f'metadata.annotations[{cost}]: Invalid value: "x": must be a 32bit integer'
    assert refused_change(PODS, BOUND, new) == [told, told]
    assert refused_change(PODS, BOUND, new, "status") == [told]
