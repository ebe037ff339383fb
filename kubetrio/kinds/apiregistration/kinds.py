"""The kinds of apiregistration.k8s.io: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.metadata import (
    GIVEN_METADATA,
    keep_metadata_of_stored,
)
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import STATUS_ONLY, WriteRules
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.members import member
from kubetrio.machinery.names_validation import NameCheck, path_segment
from kubetrio.schema.rules import Json, MetadataChecks

if TYPE_CHECKING:
    from kubetrio.kinds.apiregistration import defaults, preparation, printers, validation
else:
    defaults = lazily(f"{__package__}.defaults")
    preparation = lazily(f"{__package__}.preparation")
    printers = lazily(f"{__package__}.printers")
    validation = lazily(f"{__package__}.validation")


def service_name(obj: Json) -> NameCheck:
    """The check of names of APIServices: they follow from the spec."""
    spec = member(obj, "spec")
    expected = f"{spec.get('version') or ''}.{spec.get('group') or ''}"
    detail = f'must be `spec.version+"."+spec.group`: {quote(expected)}'

    def check(name: str, _prefix: bool) -> list[str]:
        return path_segment(name) or ([] if name == expected else [detail])

    return check


KINDS: Mapping[str, BuiltinKind] = {
    "apiservices": BuiltinKind(
        rules=WriteRules(
            validation=validation.APISERVICES,
            metadata=MetadataChecks(
                change_first=True, standard_finalizers=False, name=service_name
            ),
            create=preparation.create_api_service,
            undo_status_metadata=partial(keep_metadata_of_stored, names=GIVEN_METADATA),
            keep={"status": STATUS_ONLY},
        ),
        defaults={"v1": defaults.APISERVICES},
        printer=PrinterRow(printers.api_service),
    ),
}
"""By plural name."""
