"""What writes of node.k8s.io do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.row import Row
from kubetrio.kinds.node import validation
from kubetrio.schema.rules import MetadataChecks

RULES: Mapping[str, Row] = {
    "runtimeclasses": Row(
        validation=validation.TABLES["runtimeclasses"],
        metadata=MetadataChecks(standard_finalizers=False),
    ),
}
"""By plural name."""
