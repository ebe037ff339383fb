"""How objects of the core group become rows of a ``Table``."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.common.printed import Look
from kubetrio.kinds.core.printers import network, others, pods, storage, workloads

PRINTERS: Mapping[str, Look] = {
    "componentstatuses": Look(others.component_status),
    "configmaps": Look(others.config_map),
    "events": Look(others.event),
    "namespaces": Look(others.namespace),
    "nodes": Look(others.node),
    "podtemplates": Look(others.pod_template),
    "resourcequotas": Look(others.resource_quota),
    "secrets": Look(others.secret),
    "serviceaccounts": Look(others.name_and_age),
    "pods": Look(pods.pod, conditions=pods.row_conditions),
    "endpoints": Look(network.endpoints),
    "services": Look(network.service),
    "persistentvolumeclaims": Look(storage.persistent_volume_claim),
    "persistentvolumes": Look(storage.persistent_volume),
    "replicationcontrollers": Look(workloads.replication_controller),
}
"""By plural name."""
