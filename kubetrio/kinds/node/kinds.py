"""The kinds of node.k8s.io: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import WriteRules
from kubetrio.schema.rules import MetadataChecks

if TYPE_CHECKING:
    from kubetrio.kinds.node import defaults, printers, validation
else:
    defaults = lazily(f"{__package__}.defaults")
    printers = lazily(f"{__package__}.printers")
    validation = lazily(f"{__package__}.validation")

KINDS: Mapping[str, BuiltinKind] = {
    "runtimeclasses": BuiltinKind(
        rules=WriteRules(
            validation=validation.RUNTIMECLASSES,
            metadata=MetadataChecks(standard_finalizers=False),
        ),
        defaults={"v1": defaults.RUNTIMECLASSES},
        printer=PrinterRow(printers.runtime_class),
    ),
}
"""By plural name."""
