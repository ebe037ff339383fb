"""Quantities of resources."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.kinds.common import quantities
from kubetrio.kinds.common.checks import Check
from kubetrio.machinery.status import Cause


def found(check: Check, value: Any) -> list[str]:
    out: list[Cause] = []
    check(value, "p", out)
    return [cause.message.partition(": ")[2] for cause in out]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cpu", []),
        ("hugepages-2Mi", []),
        ("example.com/gpu", []),
        ("storage", ["must be a standard resource for containers"]),
        (
            "gpu",
            [
                "must be a standard resource type or fully qualified",
                "must be a standard resource for containers",
            ],
        ),
        ("requests.example.com/gpu", ["doesn't follow extended resource name standard"]),
    ],
)
def test_container_resource(name: str, expected: list[str]) -> None:
    """Containers use what nodes have."""
    texts = found(quantities.container_resource_name, name)
    assert [text.rpartition(": ")[2] for text in texts] == expected
