"""What writes of flowcontrol.apiserver.k8s.io do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.metadata import (
    OBJECT,
    ignore_metadata,
)
from kubetrio.kinds.common.row import STATUS_ONLY, Row
from kubetrio.kinds.flowcontrol import validation

RULES: Mapping[str, Row] = {
    "flowschemas": Row(
        validation=validation.TABLES["flowschemas"],
        metadata=OBJECT,
        undo_status_metadata=ignore_metadata,
        keep={"status": STATUS_ONLY},
    ),
    "prioritylevelconfigurations": Row(
        validation=validation.TABLES["prioritylevelconfigurations"],
        metadata=OBJECT,
        undo_status_metadata=ignore_metadata,
        keep={"status": STATUS_ONLY},
    ),
}
"""By plural name."""
