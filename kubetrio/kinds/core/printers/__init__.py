"""How objects of the core group become rows of a ``Table``."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.printed import Look
from kubetrio.kinds.core.printers import cluster, network, pods, storage, workloads

PRINTERS: Mapping[str, Look] = {
    "componentstatuses": Look(cluster.component_status),
    "configmaps": Look(cluster.config_map),
    "events": Look(cluster.event),
    "namespaces": Look(cluster.namespace),
    "nodes": Look(cluster.node),
    "podtemplates": Look(cluster.pod_template),
    "resourcequotas": Look(cluster.resource_quota),
    "secrets": Look(cluster.secret),
    "serviceaccounts": Look(cluster.name_and_age),
    "pods": Look(pods.pod, conditions=pods.row_conditions),
    "endpoints": Look(network.endpoints),
    "services": Look(network.service),
    "persistentvolumeclaims": Look(storage.persistent_volume_claim),
    "persistentvolumes": Look(storage.persistent_volume),
    "replicationcontrollers": Look(workloads.replication_controller),
}
"""By plural name."""
