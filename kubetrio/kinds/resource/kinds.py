"""The kinds of resource.k8s.io: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.metadata import (
    CHANGE,
    always,
    keep_metadata_of_stored,
)
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import STATUS_ONLY, WriteRules
from kubetrio.machinery.names_validation import long_name
from kubetrio.schema.fieldselectors import FieldSelectors, at
from kubetrio.schema.rules import MetadataChecks

if TYPE_CHECKING:
    from kubetrio.kinds.core.printers import cluster as core_printers_cluster
    from kubetrio.kinds.resource import (
        adminaccess,
        defaults,
        preparation,
        printers,
        statusrights,
    )
    from kubetrio.kinds.resource.validation import devices as validation_devices
else:
    adminaccess = lazily(f"{__package__}.adminaccess")
    defaults = lazily(f"{__package__}.defaults")
    preparation = lazily(f"{__package__}.preparation")
    printers = lazily(f"{__package__}.printers")
    statusrights = lazily(f"{__package__}.statusrights")
    validation_devices = lazily(f"{__package__}.validation.devices")
    core_printers_cluster = lazily("kubetrio.kinds.core.printers.cluster")

KINDS: Mapping[str, BuiltinKind] = {
    "deviceclasses": BuiltinKind(
        rules=WriteRules(
            validation=validation_devices.DEVICECLASSES,
            metadata=MetadataChecks(name=always(long_name)),
        ),
        printer=PrinterRow(core_printers_cluster.name_and_age),
    ),
    "resourceclaims": BuiltinKind(
        rules=WriteRules(
            validation=validation_devices.RESOURCECLAIMS,
            look_up=adminaccess.claim_access,
            rights=statusrights.status_rights,
            update=preparation.update_resource_claim,
            undo_status_metadata=keep_metadata_of_stored,
            keep={"status": STATUS_ONLY},
        ),
        defaults={"v1": defaults.RESOURCECLAIMS},
        printer=PrinterRow(printers.resource_claim),
    ),
    "resourceclaimtemplates": BuiltinKind(
        rules=WriteRules(
            validation=validation_devices.RESOURCECLAIMTEMPLATES,
            look_up=adminaccess.template_access,
        ),
        defaults={"v1": defaults.RESOURCECLAIMTEMPLATES},
        printer=PrinterRow(core_printers_cluster.name_and_age),
    ),
    "resourceslices": BuiltinKind(
        rules=WriteRules(
            validation=validation_devices.RESOURCESLICES,
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
        printer=PrinterRow(printers.resource_slice),
        selectors=FieldSelectors(
            getters={"spec.driver": at("spec.driver"), "spec.nodeName": at("spec.nodeName")},
            refusal="field label not supported for {group}/{version}, Kind={kind}: {field}",
        ),
    ),
}
"""By plural name."""
