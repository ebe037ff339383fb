"""What writes of storage.k8s.io do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.metadata import (
    CHANGE,
    CHANGE_FIRST,
    OBJECT,
    keep_metadata_of_stored,
)
from kubetrio.kinds.common.row import STATUS_ONLY, Row
from kubetrio.kinds.storage import validation
from kubetrio.schema.rules import MetadataChecks

RULES: Mapping[str, Row] = {
    "csidrivers": Row(
        validation=validation.TABLES["csidrivers"],
        metadata=CHANGE,
        off=(  # VolumeLimitScaling
            ("spec.preventPodSchedulingIfMissing",),
        ),
    ),
    "csinodes": Row(
        validation=validation.TABLES["csinodes"],
        metadata=OBJECT,
    ),
    "csistoragecapacities": Row(
        validation=validation.TABLES["csistoragecapacities"],
    ),
    "storageclasses": Row(
        validation=validation.TABLES["storageclasses"],
    ),
    "volumeattachments": Row(
        validation=validation.TABLES["volumeattachments"],
        metadata=MetadataChecks(updated=(1, 0), subresources={"status": (1, 0)}),
        undo_status_metadata=keep_metadata_of_stored,
        keep={"status": STATUS_ONLY},
    ),
    "volumeattributesclasses": Row(
        validation=validation.TABLES["volumeattributesclasses"],
        metadata=CHANGE_FIRST,
    ),
}
"""By plural name."""
