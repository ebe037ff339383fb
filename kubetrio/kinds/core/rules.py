"""What writes of the core group do, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.metadata import (
    CHANGE,
    CHANGE_FIRST,
    OBJECT,
    UNCHECKED,
    always,
)
from kubetrio.kinds.common.row import ALL_BUT_STATUS, METADATA, SPEC, Row
from kubetrio.kinds.core.preparation import cluster as prepared
from kubetrio.kinds.core.preparation import pods as prepared_pods
from kubetrio.kinds.core.preparation import services as prepared_services
from kubetrio.kinds.core.validation import cluster as checked
from kubetrio.kinds.core.validation import pods as checked_pods
from kubetrio.machinery.names_validation import long_name
from kubetrio.machinery.ownership import all_fields, excluding
from kubetrio.schema.rules import MetadataChecks

RULES: Mapping[str, Row] = {
    "bindings": Row(
        validation=checked_pods.TABLES["bindings"],
    ),
    "configmaps": Row(
        validation=checked.TABLES["configmaps"],
        metadata=CHANGE_FIRST,
    ),
    "endpoints": Row(
        validation=checked.TABLES["endpoints"],
        metadata=CHANGE_FIRST,
    ),
    "events": Row(
        validation=checked.TABLES["events"],
        metadata=UNCHECKED,
    ),
    "limitranges": Row(
        validation=checked.TABLES["limitranges"],
        metadata=OBJECT,
    ),
    "namespaces": Row(
        validation=checked.TABLES["namespaces"],
        create=prepared.create_namespace,
        update=prepared.update_namespace,
        keep={"finalize": ALL_BUT_STATUS},
    ),
    "nodes": Row(
        validation=checked.TABLES["nodes"],
        create=prepared.create_node,
        update=prepared.update_node,
        status_given=True,
    ),
    "persistentvolumeclaims": Row(
        validation=checked.TABLES["persistentvolumeclaims"],
        metadata=CHANGE_FIRST,
        create=prepared.create_claim,
        update=prepared.update_claim,
    ),
    "persistentvolumes": Row(
        validation=checked.TABLES["persistentvolumes"],
        metadata=MetadataChecks(updated=(2, 0)),
        create=prepared.create_volume,
        update=prepared.update_volume,
    ),
    "pods": Row(
        validation=checked_pods.TABLES["pods"],
        metadata=MetadataChecks(
            change_first=True, subresources={"ephemeralcontainers": (1, 1), "resize": (1, 1)}
        ),
        create=prepared_pods.create,
        update=prepared_pods.update,
        pod_spec="spec",
        off=(
            ("status.nodeAllocatableResourceClaimStatuses",),  # DRANodeAllocatableResources
            (  # ImageVolumeWithDigest
                "status.containerStatuses[].volumeMounts[].volumeStatus",
                "status.initContainerStatuses[].volumeMounts[].volumeStatus",
                "status.ephemeralContainerStatuses[].volumeMounts[].volumeStatus",
            ),
        ),
        off_below=True,
        keep={
            "status": excluding(
                SPEC, (*METADATA, "f:deletionTimestamp"), (*METADATA, "f:ownerReferences")
            ),
            "ephemeralcontainers": all_fields,
            "resize": all_fields,
        },
    ),
    "podtemplates": Row(
        validation=checked_pods.TABLES["podtemplates"],
        metadata=CHANGE,
        pod_spec="template.spec",
    ),
    "replicationcontrollers": Row(
        validation=checked.TABLES["replicationcontrollers"],
        metadata=MetadataChecks(updated=(0, 1), name=always(long_name)),
        pod_spec="spec.template.spec",
    ),
    "resourcequotas": Row(
        validation=checked.TABLES["resourcequotas"],
        metadata=CHANGE,
    ),
    "secrets": Row(
        validation=checked.TABLES["secrets"],
        metadata=CHANGE_FIRST,
    ),
    "serviceaccounts": Row(
        validation=checked.TABLES["serviceaccounts"],
        metadata=CHANGE_FIRST,
        create=prepared.create_service_account,
        update=prepared.update_service_account,
    ),
    "services": Row(
        validation=checked.TABLES["services"],
        metadata=CHANGE,
        create=prepared_services.create,
        update=prepared_services.update,
    ),
}
"""By plural name."""
