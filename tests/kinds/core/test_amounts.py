"""Sums of requests and limits of pods."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.kinds.core.amounts import pod_total, qos_class
from kubetrio.schema.rules import Json


def container(requests: Json | None = None, limits: Json | None = None, **more: Any) -> Json:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {"name": "c", "image": "i", "resources": resources, **more}


def test_init_containers_count_as_a_peak_and_sidecars_always() -> None:
    """The total is the greater of the sum and of the worst moment of initialisation."""
    spec = {
        "containers": [container({"cpu": "1"})],
        "initContainers": [
            container({"cpu": "500m"}, restartPolicy="Always"),
            container({"cpu": "3"}),
        ],
    }
    assert {name: str(amount) for name, amount in pod_total(spec, "requests").items()} == {
        "cpu": "3500m"
    }


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ([container()], "BestEffort"),
        ([container({"cpu": "0"})], "BestEffort"),
        ([container({"cpu": "1"})], "Burstable"),
        ([container({"cpu": "1"}, {"cpu": "1"})], "Burstable"),
        ([container(*[{"cpu": "1", "memory": "1"}] * 2)], "Guaranteed"),
        ([container(*[{"cpu": "1", "memory": "1"}] * 2), container()], "Burstable"),
        ([container({"nvidia.com/gpu": "1"})], "BestEffort"),
    ],
)
def test_quality_of_service(containers: list[Json], expected: str) -> None:
    """Guaranteed needs equal processor and memory everywhere; nothing at all is best effort."""
    assert qos_class({"containers": containers}) == expected
