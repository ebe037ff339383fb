"""The kinds of admissionregistration.k8s.io: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.metadata import (
    ADMISSION,
    keep_metadata_of_stored,
)
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import STATUS_ONLY, WriteRules

if TYPE_CHECKING:
    from kubetrio.kinds.admissionregistration import defaults, printers
    from kubetrio.kinds.admissionregistration.validation import webhooks as validation_webhooks
else:
    defaults = lazily(f"{__package__}.defaults")
    printers = lazily(f"{__package__}.printers")
    validation_webhooks = lazily(f"{__package__}.validation.webhooks")

KINDS: Mapping[str, BuiltinKind] = {
    "mutatingadmissionpolicies": BuiltinKind(
        rules=WriteRules(
            validation=validation_webhooks.MUTATINGADMISSIONPOLICIES,
            metadata=ADMISSION,
        ),
        defaults={"v1": defaults.MUTATINGADMISSIONPOLICIES},
        printer=PrinterRow(printers.mutating_admission_policy),
    ),
    "mutatingadmissionpolicybindings": BuiltinKind(
        rules=WriteRules(
            validation=validation_webhooks.MUTATINGADMISSIONPOLICYBINDINGS,
            metadata=ADMISSION,
        ),
        defaults={"v1": defaults.MUTATINGADMISSIONPOLICYBINDINGS},
        printer=PrinterRow(printers.admission_policy_binding),
    ),
    "mutatingwebhookconfigurations": BuiltinKind(
        rules=WriteRules(
            validation=validation_webhooks.MUTATINGWEBHOOKCONFIGURATIONS,
            metadata=ADMISSION,
        ),
        defaults={"v1": defaults.MUTATINGWEBHOOKCONFIGURATIONS},
        printer=PrinterRow(printers.webhook_configuration),
    ),
    "validatingadmissionpolicies": BuiltinKind(
        rules=WriteRules(
            validation=validation_webhooks.VALIDATINGADMISSIONPOLICIES,
            metadata=ADMISSION,
            undo_status_metadata=keep_metadata_of_stored,
            keep={"status": STATUS_ONLY},
        ),
        defaults={"v1": defaults.VALIDATINGADMISSIONPOLICIES},
        printer=PrinterRow(printers.validating_admission_policy),
    ),
    "validatingadmissionpolicybindings": BuiltinKind(
        rules=WriteRules(
            validation=validation_webhooks.VALIDATINGADMISSIONPOLICYBINDINGS,
            metadata=ADMISSION,
        ),
        defaults={"v1": defaults.VALIDATINGADMISSIONPOLICYBINDINGS},
        printer=PrinterRow(printers.admission_policy_binding),
    ),
    "validatingwebhookconfigurations": BuiltinKind(
        rules=WriteRules(
            validation=validation_webhooks.VALIDATINGWEBHOOKCONFIGURATIONS,
            metadata=ADMISSION,
        ),
        defaults={"v1": defaults.VALIDATINGWEBHOOKCONFIGURATIONS},
        printer=PrinterRow(printers.webhook_configuration),
    ),
}
"""By plural name."""
