"""How objects of the core group become rows of a ``Table``."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.printerrow import PrinterRow
from kubetrio.kinds.core.printers import cluster, network, pods, storage, workloads

PRINTERS: Mapping[str, PrinterRow] = {
    "componentstatuses": PrinterRow(cluster.component_status),
    "configmaps": PrinterRow(cluster.config_map),
    "events": PrinterRow(cluster.event),
    "namespaces": PrinterRow(cluster.namespace),
    "nodes": PrinterRow(cluster.node),
    "podtemplates": PrinterRow(cluster.pod_template),
    "resourcequotas": PrinterRow(cluster.resource_quota),
    "secrets": PrinterRow(cluster.secret),
    "serviceaccounts": PrinterRow(cluster.name_and_age),
    "pods": PrinterRow(pods.pod, conditions=pods.row_conditions),
    "endpoints": PrinterRow(network.endpoints),
    "services": PrinterRow(network.service),
    "persistentvolumeclaims": PrinterRow(storage.persistent_volume_claim),
    "persistentvolumes": PrinterRow(storage.persistent_volume),
    "replicationcontrollers": PrinterRow(workloads.replication_controller),
}
"""By plural name."""
