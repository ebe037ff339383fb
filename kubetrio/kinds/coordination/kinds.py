"""The kinds of coordination.k8s.io: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import WriteRules
from kubetrio.schema.rules import MetadataChecks

if TYPE_CHECKING:
    from kubetrio.kinds.coordination import printers, validation
else:
    printers = lazily(f"{__package__}.printers")
    validation = lazily(f"{__package__}.validation")

KINDS: Mapping[str, BuiltinKind] = {
    "leases": BuiltinKind(
        rules=WriteRules(
            validation=validation.LEASES,
            metadata=MetadataChecks(updated=(0, 1), standard_finalizers=False),
            off=(  # CoordinatedLeaderElection
                ("spec.strategy",),
                ("spec.preferredHolder",),
            ),
        ),
        printer=PrinterRow(printers.lease),
    ),
}
"""By plural name."""
