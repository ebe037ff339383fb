"""What writes of certificates.k8s.io do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.certificates import preparation, validation
from kubetrio.kinds.common.metadata import (
    always,
)
from kubetrio.kinds.common.row import SPEC, STATUS, Row
from kubetrio.machinery.names_validation import any_name
from kubetrio.machinery.ownership import excluding
from kubetrio.schema.rules import MetadataChecks

RULES: Mapping[str, Row] = {
    "certificatesigningrequests": Row(
        validation=validation.TABLES["certificatesigningrequests"],
        metadata=MetadataChecks(
            subresources={"approval": (1, 1), "status": (1, 1)}, name=always(any_name)
        ),
        create=preparation.create_signing_request,
        update=preparation.update_signing_request,
        keep={
            "": excluding(SPEC, STATUS),
            "approval": excluding(SPEC, (*STATUS, "f:certificate")),
            "status": excluding(SPEC, (*STATUS, "f:conditions")),
        },
    ),
}
"""By plural name."""
