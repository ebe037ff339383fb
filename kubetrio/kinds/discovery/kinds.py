"""The kinds of discovery.k8s.io: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.metadata import (
    OBJECT,
)
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import WriteRules

if TYPE_CHECKING:
    from kubetrio.kinds.discovery import defaults, preparation, printers, validation
else:
    defaults = lazily(f"{__package__}.defaults")
    preparation = lazily(f"{__package__}.preparation")
    printers = lazily(f"{__package__}.printers")
    validation = lazily(f"{__package__}.validation")

KINDS: Mapping[str, BuiltinKind] = {
    "endpointslices": BuiltinKind(
        rules=WriteRules(
            validation=validation.ENDPOINTSLICES,
            metadata=OBJECT,
            create=preparation.create_endpoint_slice,
            update=preparation.update_endpoint_slice,
        ),
        defaults={"v1": defaults.ENDPOINTSLICES},
        printer=PrinterRow(printers.endpoint_slice),
    ),
}
"""By plural name."""
