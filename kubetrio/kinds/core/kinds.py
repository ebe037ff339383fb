"""The kinds of the core group: all that is said of each by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubetrio.kinds.common.builtinkind import BuiltinKind, lazily
from kubetrio.kinds.common.metadata import (
    CHANGE,
    CHANGE_FIRST,
    OBJECT,
    UNCHECKED,
    always,
)
from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.common.writerules import ALL_BUT_STATUS, METADATA, SPEC, WriteRules
from kubetrio.machinery.names_validation import long_name
from kubetrio.machinery.ownership import all_fields, excluding
from kubetrio.schema.rules import MetadataChecks

if TYPE_CHECKING:
    from kubetrio.kinds.core import selectors
    from kubetrio.kinds.core.defaults import cluster as defaults_cluster
    from kubetrio.kinds.core.defaults import pods as defaults_pods
    from kubetrio.kinds.core.defaults import services as defaults_services
    from kubetrio.kinds.core.preparation import cluster as preparation_cluster
    from kubetrio.kinds.core.preparation import pods as preparation_pods
    from kubetrio.kinds.core.preparation import services as preparation_services
    from kubetrio.kinds.core.printers import cluster as printers_cluster
    from kubetrio.kinds.core.printers import network as printers_network
    from kubetrio.kinds.core.printers import pods as printers_pods
    from kubetrio.kinds.core.printers import storage as printers_storage
    from kubetrio.kinds.core.validation import claims as validation_claims
    from kubetrio.kinds.core.validation import cluster as validation_cluster
    from kubetrio.kinds.core.validation import configs as validation_configs
    from kubetrio.kinds.core.validation import coreevents as validation_coreevents
    from kubetrio.kinds.core.validation import endpoints as validation_endpoints
    from kubetrio.kinds.core.validation import limits as validation_limits
    from kubetrio.kinds.core.validation import nodes as validation_nodes
    from kubetrio.kinds.core.validation import persistent as validation_persistent
    from kubetrio.kinds.core.validation import pods as validation_pods
    from kubetrio.kinds.core.validation import services as validation_services
else:
    defaults_cluster = lazily(f"{__package__}.defaults.cluster")
    defaults_pods = lazily(f"{__package__}.defaults.pods")
    defaults_services = lazily(f"{__package__}.defaults.services")
    preparation_cluster = lazily(f"{__package__}.preparation.cluster")
    preparation_pods = lazily(f"{__package__}.preparation.pods")
    preparation_services = lazily(f"{__package__}.preparation.services")
    printers_cluster = lazily(f"{__package__}.printers.cluster")
    printers_network = lazily(f"{__package__}.printers.network")
    printers_pods = lazily(f"{__package__}.printers.pods")
    printers_storage = lazily(f"{__package__}.printers.storage")
    selectors = lazily(f"{__package__}.selectors")
    validation_claims = lazily(f"{__package__}.validation.claims")
    validation_cluster = lazily(f"{__package__}.validation.cluster")
    validation_configs = lazily(f"{__package__}.validation.configs")
    validation_coreevents = lazily(f"{__package__}.validation.coreevents")
    validation_endpoints = lazily(f"{__package__}.validation.endpoints")
    validation_limits = lazily(f"{__package__}.validation.limits")
    validation_nodes = lazily(f"{__package__}.validation.nodes")
    validation_persistent = lazily(f"{__package__}.validation.persistent")
    validation_pods = lazily(f"{__package__}.validation.pods")
    validation_services = lazily(f"{__package__}.validation.services")

KINDS: Mapping[str, BuiltinKind] = {
    "bindings": BuiltinKind(
        rules=WriteRules(
            validation=validation_pods.BINDINGS,
        ),
    ),
    "componentstatuses": BuiltinKind(
        printer=PrinterRow(printers_cluster.component_status),
    ),
    "configmaps": BuiltinKind(
        rules=WriteRules(
            validation=validation_configs.CONFIG_MAPS,
            metadata=CHANGE_FIRST,
        ),
        printer=PrinterRow(printers_cluster.config_map),
    ),
    "endpoints": BuiltinKind(
        rules=WriteRules(
            validation=validation_endpoints.ENDPOINTS,
            metadata=CHANGE_FIRST,
        ),
        defaults={"v1": defaults_cluster.ENDPOINTS},
        printer=PrinterRow(printers_network.endpoints),
    ),
    "events": BuiltinKind(
        rules=WriteRules(
            validation=validation_coreevents.EVENTS,
            metadata=UNCHECKED,
        ),
        printer=PrinterRow(printers_cluster.event),
        selectors=selectors.EVENTS,
    ),
    "limitranges": BuiltinKind(
        rules=WriteRules(
            validation=validation_limits.LIMIT_RANGES,
            metadata=OBJECT,
        ),
        defaults={"v1": defaults_cluster.LIMITRANGES},
    ),
    "namespaces": BuiltinKind(
        rules=WriteRules(
            validation=validation_cluster.NAMESPACES,
            create=preparation_cluster.create_namespace,
            update=preparation_cluster.update_namespace,
            keep={"finalize": ALL_BUT_STATUS},
        ),
        defaults={"v1": defaults_cluster.NAMESPACES},
        printer=PrinterRow(printers_cluster.namespace),
        selectors=selectors.NAMESPACES,
    ),
    "nodes": BuiltinKind(
        rules=WriteRules(
            validation=validation_nodes.NODES,
            create=preparation_cluster.create_node,
            update=preparation_cluster.update_node,
            status_given=True,
        ),
        defaults={"v1": defaults_cluster.NODES},
        printer=PrinterRow(printers_cluster.node),
        selectors=selectors.NODES,
    ),
    "persistentvolumeclaims": BuiltinKind(
        rules=WriteRules(
            validation=validation_claims.CLAIMS,
            metadata=CHANGE_FIRST,
            create=preparation_cluster.create_claim,
            update=preparation_cluster.update_claim,
        ),
        defaults={"v1": defaults_cluster.CLAIM},
        printer=PrinterRow(printers_storage.persistent_volume_claim),
    ),
    "persistentvolumes": BuiltinKind(
        rules=WriteRules(
            validation=validation_persistent.VOLUMES,
            metadata=MetadataChecks(updated=(2, 0)),
            create=preparation_cluster.create_volume,
            update=preparation_cluster.update_volume,
        ),
        defaults={"v1": defaults_cluster.PERSISTENTVOLUMES},
        printer=PrinterRow(printers_storage.persistent_volume),
    ),
    "pods": BuiltinKind(
        rules=WriteRules(
            validation=validation_pods.PODS,
            metadata=MetadataChecks(
                change_first=True, subresources={"ephemeralcontainers": (1, 1), "resize": (1, 1)}
            ),
            create=preparation_pods.create,
            update=preparation_pods.update,
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
        defaults={"v1": defaults_pods.POD},
        printer=PrinterRow(printers_pods.pod, conditions=printers_pods.row_conditions),
        selectors=selectors.PODS,
    ),
    "podtemplates": BuiltinKind(
        rules=WriteRules(
            validation=validation_pods.PODTEMPLATES,
            metadata=CHANGE,
            pod_spec="template.spec",
        ),
        defaults={"v1": defaults_pods.PODTEMPLATES},
        printer=PrinterRow(printers_cluster.pod_template),
    ),
    "replicationcontrollers": BuiltinKind(
        rules=WriteRules(
            validation=validation_cluster.REPLICATIONCONTROLLERS,
            metadata=MetadataChecks(updated=(0, 1), name=always(long_name)),
            pod_spec="spec.template.spec",
        ),
        defaults={"v1": defaults_cluster.REPLICATIONCONTROLLERS},
        printer=PrinterRow(printers_cluster.replication_controller),
        selectors=selectors.REPLICATIONCONTROLLERS,
    ),
    "resourcequotas": BuiltinKind(
        rules=WriteRules(
            validation=validation_limits.RESOURCE_QUOTAS,
            metadata=CHANGE,
        ),
        defaults={"v1": defaults_cluster.RESOURCEQUOTAS},
        printer=PrinterRow(printers_cluster.resource_quota),
    ),
    "secrets": BuiltinKind(
        rules=WriteRules(
            validation=validation_configs.SECRETS,
            metadata=CHANGE_FIRST,
        ),
        defaults={"v1": defaults_cluster.SECRETS},
        printer=PrinterRow(printers_cluster.secret),
        selectors=selectors.SECRETS,
    ),
    "serviceaccounts": BuiltinKind(
        rules=WriteRules(
            validation=validation_cluster.SERVICEACCOUNTS,
            metadata=CHANGE_FIRST,
            create=preparation_cluster.create_service_account,
            update=preparation_cluster.update_service_account,
        ),
        printer=PrinterRow(printers_cluster.name_and_age),
    ),
    "services": BuiltinKind(
        rules=WriteRules(
            validation=validation_services.SERVICES,
            metadata=CHANGE,
            create=preparation_services.create,
            update=preparation_services.update,
        ),
        defaults={"v1": defaults_services.SERVICES},
        printer=PrinterRow(printers_network.service),
        selectors=selectors.SERVICES,
    ),
}
"""By plural name."""
