"""What writes of coordination.k8s.io do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.row import Row
from kubetrio.kinds.coordination import validation
from kubetrio.schema.rules import MetadataChecks

RULES: Mapping[str, Row] = {
    "leases": Row(
        validation=validation.TABLES["leases"],
        metadata=MetadataChecks(updated=(0, 1), standard_finalizers=False),
        off=(  # CoordinatedLeaderElection
            ("spec.strategy",),
            ("spec.preferredHolder",),
        ),
    ),
}
"""By plural name."""
