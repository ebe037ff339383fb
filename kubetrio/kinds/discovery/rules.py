"""What writes of discovery.k8s.io do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.metadata import (
    OBJECT,
)
from kubetrio.kinds.common.row import Row
from kubetrio.kinds.discovery import preparation, validation

RULES: Mapping[str, Row] = {
    "endpointslices": Row(
        validation=validation.TABLES["endpointslices"],
        metadata=OBJECT,
        create=preparation.create_endpoint_slice,
        update=preparation.update_endpoint_slice,
    ),
}
"""By plural name."""
