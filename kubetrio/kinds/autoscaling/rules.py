"""What writes of autoscaling do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.autoscaling import validation
from kubetrio.kinds.common.metadata import (
    CHANGE,
)
from kubetrio.kinds.common.row import Row

RULES: Mapping[str, Row] = {
    "horizontalpodautoscalers": Row(
        validation=validation.TABLES["horizontalpodautoscalers"],
        metadata=CHANGE,
    ),
}
"""By plural name."""
