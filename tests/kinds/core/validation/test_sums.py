"""Sums of what containers ask for."""

from __future__ import annotations

from typing import Any

import pytest
from checks.helpers import (
    Json,
)

from kubetrio.kinds.core.validation.sums import container_amounts, quality_of_service


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        (
            {"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "1", "memory": "1"}},
            "Guaranteed",
        ),
        ({"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}, "Burstable"),
        ({"requests": {"cpu": "0"}}, "BestEffort"),
    ],
)
def test_quality_of_service(resources: Json, expected: str) -> None:
    """The class follows from requests and limits."""
    assert quality_of_service({"containers": [{"resources": resources}]}) == expected


def test_requests_with_sidecars() -> None:
    """Sidecars add up, other init containers only count for their time."""

    def container(cpu: str, **more: str) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [container("1")],
        "initContainers": [container("1", restartPolicy="Always"), container("5")],
    }
    assert str(container_amounts(spec)["cpu"]) == "6"
