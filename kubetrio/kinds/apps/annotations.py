"""Annotations that hold what older versions of workloads had members for."""

from __future__ import annotations

ROLLBACK_TO = "deprecated.deployment.rollback.to"
"""Where a Deployment keeps the revision to go back to since apps/v1."""
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
"""Where a DaemonSet keeps the generation of its template since apps/v1."""
