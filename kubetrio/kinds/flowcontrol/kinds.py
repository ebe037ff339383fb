"""The kinds of flowcontrol.apiserver.k8s.io: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.metadata import (
    OBJECT,
    ignore_metadata,
)
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import STATUS_ONLY, WriteRules

if TYPE_CHECKING:
    from kubetrio.kinds.flowcontrol import defaults, printers, validation
else:
    defaults = lazily(f"{__package__}.defaults")
    printers = lazily(f"{__package__}.printers")
    validation = lazily(f"{__package__}.validation")

KINDS: Mapping[str, BuiltinKind] = {
    "flowschemas": BuiltinKind(
        rules=WriteRules(
            validation=validation.FLOWSCHEMAS,
            metadata=OBJECT,
            undo_status_metadata=ignore_metadata,
            keep={"status": STATUS_ONLY},
        ),
        defaults={"v1": defaults.FLOWSCHEMAS},
        printer=PrinterRow(printers.flow_schema, sort_key=printers.flow_schema_order),
    ),
    "prioritylevelconfigurations": BuiltinKind(
        rules=WriteRules(
            validation=validation.PRIORITYLEVELCONFIGURATIONS,
            metadata=OBJECT,
            undo_status_metadata=ignore_metadata,
            keep={"status": STATUS_ONLY},
        ),
        defaults={"v1": defaults.PRIORITYLEVELCONFIGURATIONS},
        printer=PrinterRow(printers.priority_level_configuration),
    ),
}
"""By plural name."""
