"""What writes of events.k8s.io do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.metadata import (
    CHANGE,
)
from kubetrio.kinds.common.row import Row
from kubetrio.kinds.events import validation

RULES: Mapping[str, Row] = {
    "events": Row(
        validation=validation.TABLES["events"],
        metadata=CHANGE,
    ),
}
"""By plural name."""
