"""The kinds of scheduling.k8s.io: all that is said of each by hand."""

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
    from kubetrio.kinds.scheduling import defaults, printers, validation
else:
    defaults = lazily(f"{__package__}.defaults")
    printers = lazily(f"{__package__}.printers")
    validation = lazily(f"{__package__}.validation")

KINDS: Mapping[str, BuiltinKind] = {
    "priorityclasses": BuiltinKind(
        rules=WriteRules(
            validation=validation.PRIORITYCLASSES,
            metadata=CHANGE,
        ),
        defaults={"v1": defaults.PRIORITYCLASSES},
        printer=PrinterRow(printers.priority_class),
    ),
}
"""By plural name."""
