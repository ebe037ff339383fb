"""What writes of admissionregistration.k8s.io do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.admissionregistration.validation import (
    webhooks,
)
from kubetrio.kinds.common.metadata import (
    ADMISSION,
    keep_metadata_of_stored,
)
from kubetrio.kinds.common.row import STATUS_ONLY, Row

RULES: Mapping[str, Row] = {
    "mutatingadmissionpolicies": Row(
        validation=webhooks.TABLES["mutatingadmissionpolicies"],
        metadata=ADMISSION,
    ),
    "mutatingadmissionpolicybindings": Row(
        validation=webhooks.TABLES["mutatingadmissionpolicybindings"],
        metadata=ADMISSION,
    ),
    "mutatingwebhookconfigurations": Row(
        validation=webhooks.TABLES["mutatingwebhookconfigurations"],
        metadata=ADMISSION,
    ),
    "validatingadmissionpolicies": Row(
        validation=webhooks.TABLES["validatingadmissionpolicies"],
        metadata=ADMISSION,
        undo_status_metadata=keep_metadata_of_stored,
        keep={"status": STATUS_ONLY},
    ),
    "validatingadmissionpolicybindings": Row(
        validation=webhooks.TABLES["validatingadmissionpolicybindings"],
        metadata=ADMISSION,
    ),
    "validatingwebhookconfigurations": Row(
        validation=webhooks.TABLES["validatingwebhookconfigurations"],
        metadata=ADMISSION,
    ),
}
"""By plural name."""
