"""The kinds of storage.k8s.io: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.metadata import (
    CHANGE,
    CHANGE_FIRST,
    OBJECT,
    keep_metadata_of_stored,
)
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import STATUS_ONLY, WriteRules
from kubetrio.schema.rules import MetadataChecks

if TYPE_CHECKING:
    from kubetrio.kinds.storage import defaults, printers, validation
else:
    defaults = lazily(f"{__package__}.defaults")
    printers = lazily(f"{__package__}.printers")
    validation = lazily(f"{__package__}.validation")

KINDS: Mapping[str, BuiltinKind] = {
    "csidrivers": BuiltinKind(
        rules=WriteRules(
            validation=validation.CSIDRIVERS,
            metadata=CHANGE,
            off=(  # VolumeLimitScaling
                ("spec.preventPodSchedulingIfMissing",),
            ),
        ),
        defaults={"v1": defaults.CSIDRIVERS},
        printer=PrinterRow(printers.csi_driver),
    ),
    "csinodes": BuiltinKind(
        rules=WriteRules(
            validation=validation.CSINODES,
            metadata=OBJECT,
        ),
        printer=PrinterRow(printers.csi_node),
    ),
    "csistoragecapacities": BuiltinKind(
        rules=WriteRules(
            validation=validation.CSISTORAGECAPACITIES,
        ),
    ),
    "storageclasses": BuiltinKind(
        rules=WriteRules(
            validation=validation.STORAGECLASSES,
        ),
        defaults={"v1": defaults.STORAGECLASSES},
        printer=PrinterRow(printers.storage_class),
    ),
    "volumeattachments": BuiltinKind(
        rules=WriteRules(
            validation=validation.VOLUMEATTACHMENTS,
            metadata=MetadataChecks(updated=(1, 0), subresources={"status": (1, 0)}),
            undo_status_metadata=keep_metadata_of_stored,
            keep={"status": STATUS_ONLY},
        ),
        defaults={"v1": defaults.VOLUMEATTACHMENTS},
        printer=PrinterRow(printers.volume_attachment),
    ),
    "volumeattributesclasses": BuiltinKind(
        rules=WriteRules(
            validation=validation.VOLUMEATTRIBUTESCLASSES,
            metadata=CHANGE_FIRST,
        ),
        printer=PrinterRow(printers.volume_attributes_class),
    ),
}
"""By plural name."""
