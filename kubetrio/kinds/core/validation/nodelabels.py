"""Labels of nodes that are going away.

Source: "Well-Known Labels, Annotations and Taints" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

DEPRECATED_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
        "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
        "failure-domain.beta.kubernetes.io/region": (
            'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
        ),
        "failure-domain.beta.kubernetes.io/zone": (
            'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
        ),
        "beta.kubernetes.io/instance-type": (
            'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
        ),
        "app.kubernetes.io/created-by": "deprecated since v1.9",
        "scheduler.alpha.kubernetes.io/preferAvoidPods": (
            "deprecated since v1.22; use Taints and Tolerations instead"
        ),
        "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
    }
)
"""Labels of nodes that are going away, and what a warning says of them."""
