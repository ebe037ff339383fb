"""The kinds of policy: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.metadata import (
    UNCHECKED,
)
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import WriteRules

if TYPE_CHECKING:
    from kubetrio.kinds.policy import printers, validation
else:
    printers = lazily(f"{__package__}.printers")
    validation = lazily(f"{__package__}.validation")

KINDS: Mapping[str, BuiltinKind] = {
    "evictions": BuiltinKind(
        below=True,
    ),
    "poddisruptionbudgets": BuiltinKind(
        rules=WriteRules(
            validation=validation.PODDISRUPTIONBUDGETS,
            metadata=UNCHECKED,
        ),
        printer=PrinterRow(printers.pod_disruption_budget),
    ),
}
"""By plural name."""
