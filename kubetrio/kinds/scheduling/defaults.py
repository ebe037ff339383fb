"""Defaults of scheduling.k8s.io."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Default, Rules

TABLES: dict[str, Rules] = {
    "io.k8s.api.scheduling.v1.PriorityClass": (
        Default("preemptionPolicy", "PreemptLowerPriority"),
    ),
}
