"""What writes of policy do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.metadata import (
    UNCHECKED,
)
from kubetrio.kinds.common.row import Row
from kubetrio.kinds.policy import validation

RULES: Mapping[str, Row] = {
    "poddisruptionbudgets": Row(
        validation=validation.TABLES["poddisruptionbudgets"],
        metadata=UNCHECKED,
    ),
}
"""By plural name."""
