"""The kinds of certificates.k8s.io: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.metadata import (
    always,
)
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import SPEC, STATUS, WriteRules
from kubetrio.machinery.names_validation import any_name
from kubetrio.machinery.ownership import excluding
from kubetrio.schema.fieldselectors import SHORT, FieldSelectors, at
from kubetrio.schema.rules import MetadataChecks

if TYPE_CHECKING:
    from kubetrio.kinds.certificates import preparation, printers, validation
else:
    preparation = lazily(f"{__package__}.preparation")
    printers = lazily(f"{__package__}.printers")
    validation = lazily(f"{__package__}.validation")

KINDS: Mapping[str, BuiltinKind] = {
    "certificatesigningrequests": BuiltinKind(
        rules=WriteRules(
            validation=validation.CERTIFICATESIGNINGREQUESTS,
            metadata=MetadataChecks(
                subresources={"approval": (1, 1), "status": (1, 1)}, name=always(any_name)
            ),
            create=preparation.create_signing_request,
            update=preparation.update_signing_request,
            keep={
                "": excluding(SPEC, STATUS),
                "approval": excluding(SPEC, (*STATUS, "f:certificate")),
                "status": excluding(SPEC, (*STATUS, "f:conditions")),
            },
        ),
        printer=PrinterRow(printers.certificate_signing_request),
        selectors=FieldSelectors(getters={"spec.signerName": at("spec.signerName")}, refusal=SHORT),
    ),
}
"""By plural name."""
