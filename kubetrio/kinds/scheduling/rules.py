"""What writes of scheduling.k8s.io do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.metadata import (
    CHANGE,
)
from kubetrio.kinds.common.row import Row
from kubetrio.kinds.scheduling import validation

RULES: Mapping[str, Row] = {
    "priorityclasses": Row(
        validation=validation.TABLES["priorityclasses"],
        metadata=CHANGE,
    ),
}
"""By plural name."""
