"""The kinds of events.k8s.io: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.metadata import (
    CHANGE,
)
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import WriteRules

if TYPE_CHECKING:
    from kubetrio.kinds.core.printers import cluster as core_printers_cluster
    from kubetrio.kinds.events import conversion, selectors, validation
else:
    conversion = lazily(f"{__package__}.conversion")
    selectors = lazily(f"{__package__}.selectors")
    validation = lazily(f"{__package__}.validation")
    core_printers_cluster = lazily("kubetrio.kinds.core.printers.cluster")

KINDS: Mapping[str, BuiltinKind] = {
    "events": BuiltinKind(
        rules=WriteRules(
            validation=validation.EVENTS,
            metadata=CHANGE,
        ),
        printer=PrinterRow(core_printers_cluster.event),
        selectors=selectors.EVENTS,
        conversions={"v1": conversion.EVENTS_V1},
    ),
}
"""By plural name."""
