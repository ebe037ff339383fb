"""The kinds of autoscaling: all that is said of each by hand."""

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
    from kubetrio.kinds.autoscaling import conversion, defaults, printers, validation
else:
    conversion = lazily(f"{__package__}.conversion")
    defaults = lazily(f"{__package__}.defaults")
    printers = lazily(f"{__package__}.printers")
    validation = lazily(f"{__package__}.validation")

KINDS: Mapping[str, BuiltinKind] = {
    "horizontalpodautoscalers": BuiltinKind(
        rules=WriteRules(
            validation=validation.HORIZONTALPODAUTOSCALERS,
            metadata=CHANGE,
        ),
        defaults={
            "v2": defaults.HORIZONTALPODAUTOSCALERS_V2,
            "v1": defaults.HORIZONTALPODAUTOSCALERS_V1,
        },
        printer=PrinterRow(printers.horizontal_pod_autoscaler),
        conversions={"v1": conversion.HORIZONTALPODAUTOSCALERS_V1},
    ),
    "scale": BuiltinKind(
        below=True,
        printer=PrinterRow(printers.scale, columns=printers.SCALE_COLUMNS),
    ),
}
"""By plural name."""
