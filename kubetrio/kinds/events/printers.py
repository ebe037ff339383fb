"""How objects of events.k8s.io become rows of a ``Table``."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.core.printers.cluster import event

PRINTERS: Mapping[str, PrinterRow] = {
    "events": PrinterRow(event),
}
"""By plural name."""
