"""Limit ranges: defaults of containers, and pods that have none."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.plugins.limitranger import fill_in, pod_violations

RANGE = {
    "spec": {
        "limits": [
            {"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}},
            {"type": "Pod", "max": {"memory": "1Gi"}},
        ]
    }
}


@pytest.mark.parametrize("spec", [{}, {"containers": None, "initContainers": None}])
def test_a_pod_without_containers_is_left_to_validation(spec: dict[str, Any]) -> None:
    """There is nothing to fill in, and no container to measure."""
    pod: dict[str, Any] = {"metadata": {"name": "p"}, "spec": spec}
    fill_in(pod, RANGE)
    assert pod == {"metadata": {"name": "p"}, "spec": spec}
    assert not any("Container" in text for text in pod_violations(pod, RANGE))
