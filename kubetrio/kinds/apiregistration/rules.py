"""What writes of apiregistration.k8s.io do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from kubetrio.kinds.apiregistration import preparation, validation
from kubetrio.kinds.common.metadata import (
    GIVEN_METADATA,
    keep_metadata_of_stored,
)
from kubetrio.kinds.common.row import STATUS_ONLY, Row
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.members import member
from kubetrio.machinery.names_validation import NameCheck, path_segment
from kubetrio.schema.rules import Json, MetadataChecks


def service_name(obj: Json) -> NameCheck:
    """The check of names of APIServices: they follow from the spec."""
    spec = member(obj, "spec")
    wanted = f"{spec.get('version') or ''}.{spec.get('group') or ''}"
    detail = f'must be `spec.version+"."+spec.group`: {quote(wanted)}'

    def check(name: str, _prefix: bool) -> list[str]:
        return path_segment(name) or ([] if name == wanted else [detail])

    return check


RULES: Mapping[str, Row] = {
    "apiservices": Row(
        validation=validation.TABLES["apiservices"],
        metadata=MetadataChecks(change_first=True, standard_finalizers=False, name=service_name),
        create=preparation.create_api_service,
        undo_status_metadata=partial(keep_metadata_of_stored, names=GIVEN_METADATA),
        keep={"status": STATUS_ONLY},
    ),
}
"""By plural name."""
