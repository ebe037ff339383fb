"""Defaults of scheduling.k8s.io."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Default, Rules

PRIORITYCLASSES: Rules = (Default("preemptionPolicy", "PreemptLowerPriority"),)
