"""What writes of resource.k8s.io do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.metadata import (
    CHANGE,
    always,
    keep_metadata_of_stored,
)
from kubetrio.kinds.common.row import STATUS_ONLY, Row
from kubetrio.kinds.resource import preparation
from kubetrio.kinds.resource.adminaccess import claim_access, template_access
from kubetrio.kinds.resource.statusrights import status_rights
from kubetrio.kinds.resource.validation import devices
from kubetrio.machinery.names_validation import long_name
from kubetrio.schema.rules import MetadataChecks

RULES: Mapping[str, Row] = {
    "deviceclasses": Row(
        validation=devices.TABLES["deviceclasses"],
        metadata=MetadataChecks(name=always(long_name)),
    ),
    "resourceclaims": Row(
        validation=devices.TABLES["resourceclaims"],
        look_up=claim_access,
        rights=status_rights,
        update=preparation.update_resource_claim,
        undo_status_metadata=keep_metadata_of_stored,
        keep={"status": STATUS_ONLY},
    ),
    "resourceclaimtemplates": Row(
        validation=devices.TABLES["resourceclaimtemplates"],
        look_up=template_access,
    ),
    "resourceslices": Row(
        validation=devices.TABLES["resourceslices"],
        metadata=CHANGE,
        create=preparation.create_resource_slice,
        update=preparation.update_resource_slice,
        off=(
            ("spec.devices[].nodeAllocatableResourceMappings",),  # DRANodeAllocatableResources
            tuple(  # DRAListTypeAttributes
                f"spec.devices[].attributes{{}}.{name}"
                for name in ("bools", "ints", "strings", "versions")
            ),
        ),
    ),
}
"""By plural name."""
