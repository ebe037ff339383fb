"""Names of resources that the API itself gives meaning to, each with the reason.

No other module outside ``kinds`` names a built-in resource; what is particular to one is said by
its `Kind`.
"""

from __future__ import annotations

from typing import Final

from kubetrio.machinery.names import GroupResource

NAMESPACES: Final = "namespaces"
"""Paths hold it before a namespace; admission judges what is in one by its labels."""
SERVICE_ACCOUNTS: Final = "serviceaccounts"
"""Users have names after them, which others may impersonate and whose tokens cost nothing."""
PODS: Final = "pods"
"""Pods are bound, evicted and connected to; tokens are bound to them."""
NODES: Final = "nodes"
"""Kubelets are found by them; tokens are bound to them."""
SECRETS: Final = "secrets"
"""Tokens are bound to them."""
SERVICES: Final = "services"
"""Proxies lead to them,"""
ENDPOINTS: Final = "endpoints"
"""and find the way by these,"""
ENDPOINT_SLICES: Final = "endpointslices"
"""or by these."""
DISRUPTION_BUDGETS: Final = "poddisruptionbudgets"
"""Evictions ask them."""

CORE_PODS: Final = ("", "v1", PODS)
CORE_NODES: Final = ("", "v1", NODES)
CORE_SERVICES: Final = ("", "v1", SERVICES)
CORE_ENDPOINTS: Final = ("", "v1", ENDPOINTS)
SLICES: Final = ("discovery.k8s.io", "v1", ENDPOINT_SLICES)
BUDGETS: Final = ("policy", "v1", DISRUPTION_BUDGETS)
"""Group, version and plural name: keys of a registry."""

NAMESPACE_RESOURCE: Final = GroupResource("", NAMESPACES)
NODE_RESOURCE: Final = GroupResource("", NODES)
POD_RESOURCE: Final = GroupResource("", PODS)
"""Group and plural name, as messages and plugins have them."""
