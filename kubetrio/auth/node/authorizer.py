"""The Node authorizer: what the kubelet of a node may do, by what the node's pods use.

Source: docs "Using Node Authorization"; KEP-4601 (selectors in authorization); the words of its
reasons are kube-apiserver's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubetrio.auth.authorize import ALLOWED, NO_OPINION, Rules
from kubetrio.auth.node.graph import Graph
from kubetrio.auth.node.uses import (
    ACCOUNT,
    ATTACHMENT,
    CLAIM,
    CONFIG_MAP,
    POD,
    RESOURCE_CLAIM,
    SECRET,
    SLICE,
    VOLUME,
)
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.identity import Attributes, Decision, UserInfo, Verdict

PREFIX = "system:node:"
NODES = "system:nodes"
LEASES = "kube-node-lease"

Rule = tuple[str, str, str]
"""Verb, API group and resource with its subresource."""

_OWN = frozenset({"get", "create", "update", "patch", "delete"})
_READ = frozenset({"get", "list", "watch"})
_COLLECTION = frozenset({"list", "watch"})


def node_of(user: UserInfo) -> str | None:
    """The node whose kubelet a user is; empty for one of no name, None for who is no kubelet."""
    if not user.name.startswith(PREFIX) or NODES not in user.groups:
        return None
    return user.name.removeprefix(PREFIX)


def _no(reason: str = "") -> Verdict:
    return Verdict(Decision.NO_OPINION, reason) if reason else NO_OPINION


def rules_of(role: Mapping[str, Any]) -> frozenset[Rule]:
    """The rules of a role without wildcards and names.

    Args:
        role: a ClusterRole.
    """
    return frozenset(
        (verb, group, resource)
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule.get("apiGroups", ())
        for resource in rule.get("resources", ())
    )


class NodeAuthorizer:
    """Decides for kubelets and has no opinion of others.

    Args:
        graph: what the pods of nodes use.
        rules: what is allowed to every kubelet, of kinds that no method here looks at.
    """

    def __init__(self, graph: Graph, rules: frozenset[Rule]) -> None:
        self._graph = graph
        self._rules = rules
        self._ways: dict[tuple[str, str], Callable[[str, Attributes], Verdict]] = {
            ("", "secrets"): self._reader(SECRET),
            ("", "configmaps"): self._reader(CONFIG_MAP),
            ("", "persistentvolumeclaims"): self._claim,
            ("", "persistentvolumes"): self._getter(VOLUME),
            ("resource.k8s.io", "resourceclaims"): self._getter(RESOURCE_CLAIM),
            ("storage.k8s.io", "volumeattachments"): self._getter(ATTACHMENT),
            ("", "serviceaccounts"): self._account,
            ("coordination.k8s.io", "leases"): self._lease,
            ("storage.k8s.io", "csinodes"): self._csi_node,
            ("resource.k8s.io", "resourceslices"): self._slice,
            ("", "nodes"): self._node,
            ("", "pods"): self._pod,
            # The feature is off: no kubelet asks for certificates of pods.
            ("certificates.k8s.io", "podcertificaterequests"): lambda *_: NO_OPINION,
        }

    def authorize(self, attributes: Attributes) -> Verdict:
        """Allow what a kubelet needs."""
        user = attributes.user
        node = node_of(user)
        if node is None:
            return NO_OPINION
        if not node:
            return _no(f"unknown node for user {quote(user.name)}")
        if not attributes.resource_request:
            return NO_OPINION
        way = self._ways.get((attributes.api_group, attributes.resource))
        if way is not None:
            return way(node, attributes)
        resource = attributes.resource
        if attributes.subresource:
            resource = f"{resource}/{attributes.subresource}"
        if (attributes.verb, attributes.api_group, resource) in self._rules:
            return ALLOWED
        return NO_OPINION

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Nothing: what a kubelet may do depends on what its pods use."""
        del namespace
        if node_of(user) is None:
            return Rules()
        return Rules(incomplete=True, error="node authorizer does not support user rule resolution")

    # ------------------------------------------------------------------ what is used

    def _used(self, node: str, kind: str, attributes: Attributes) -> Verdict:
        if not attributes.name:
            return _no("No Object name found")
        if self._graph.leads((kind, attributes.namespace, attributes.name), node):
            return ALLOWED
        return _no(f"no relationship found between node '{node}' and this object")

    def _getter(self, kind: str) -> Callable[[str, Attributes], Verdict]:
        def get(node: str, attributes: Attributes) -> Verdict:
            if attributes.verb != "get":
                return _no("can only get individual resources of this type")
            if attributes.subresource:
                return _no("cannot get subresource")
            return self._used(node, kind, attributes)

        return get

    def _reader(self, kind: str) -> Callable[[str, Attributes], Verdict]:
        def read(node: str, attributes: Attributes) -> Verdict:
            if attributes.verb not in _READ:
                return _no("can only read resources of this type")
            if attributes.subresource:
                return _no("cannot read subresource")
            if not attributes.namespace:
                return _no("can only read namespaced object of this type")
            return self._used(node, kind, attributes)

        return read

    def _claim(self, node: str, attributes: Attributes) -> Verdict:
        if attributes.subresource != "status":
            return self._getter(CLAIM)(node, attributes)
        if attributes.verb not in ("update", "patch"):
            return _no("can only get/update/patch this type")
        return self._used(node, CLAIM, attributes)

    def _account(self, node: str, attributes: Attributes) -> Verdict:
        if attributes.verb == "get" and not attributes.subresource:
            return self._reader(ACCOUNT)(node, attributes)
        if attributes.verb != "create" or not attributes.name:
            return _no("can only create tokens for individual service accounts")
        if attributes.subresource != "token":
            return _no("can only create token subresource of serviceaccount")
        return self._used(node, ACCOUNT, attributes)

    # ------------------------------------------------------------------ what is a node's own

    def _lease(self, node: str, attributes: Attributes) -> Verdict:
        if attributes.verb not in _OWN:
            return _no("can only get, create, update, patch, or delete a node lease")
        if attributes.namespace != LEASES:
            return _no(f"can only access leases in the {quote(LEASES)} system namespace")
        # The name of what is created is not known here; admission looks at it.
        if attributes.verb != "create" and attributes.name != node:
            return _no("can only access node lease with the same name as the requesting node")
        return ALLOWED

    def _csi_node(self, node: str, attributes: Attributes) -> Verdict:
        if attributes.verb not in _OWN:
            return _no("can only get, create, update, patch, or delete a CSINode")
        if attributes.subresource:
            return _no("cannot authorize CSINode subresources")
        if attributes.verb != "create" and attributes.name != node:
            return _no("can only access CSINode with the same name as the requesting node")
        return ALLOWED

    def _slice(self, node: str, attributes: Attributes) -> Verdict:
        if attributes.subresource:
            return _no("cannot authorize ResourceSlice subresources")
        verb = attributes.verb
        if verb == "create":  # admission looks at its node
            return ALLOWED
        if verb in _OWN:
            return self._used(node, SLICE, attributes)
        if verb in _COLLECTION or verb == "deletecollection":
            if _selects(attributes, "spec.nodeName", node):
                return ALLOWED
            return _no(
                "can only list/watch/deletecollection resourceslices with nodeName field selector"
            )
        return _no(
            "only the following verbs are allowed for a ResourceSlice: "
            "get, watch, list, create, update, patch, delete, deletecollection"
        )

    def _node(self, node: str, attributes: Attributes) -> Verdict:
        verb, below = attributes.verb, attributes.subresource
        if below == "status":
            return ALLOWED if verb in ("update", "patch") else NO_OPINION
        if below:
            return NO_OPINION
        if verb in ("create", "update", "patch"):  # admission looks at which
            return ALLOWED
        if verb not in _READ:
            return NO_OPINION
        if attributes.name == node:
            return ALLOWED
        if not attributes.name:
            return _no(f"node '{node}' cannot read all nodes, only its own Node object")
        return _no(f"node '{node}' cannot read '{attributes.name}', only its own Node object")

    def _pod(self, node: str, attributes: Attributes) -> Verdict:
        verb, below = attributes.verb, attributes.subresource
        if below == "status":
            return ALLOWED if verb in ("update", "patch") else NO_OPINION
        if below == "eviction":
            return ALLOWED if verb == "create" else NO_OPINION
        if below:
            return NO_OPINION
        if verb in ("create", "delete"):  # of mirror pods: admission looks at which
            return ALLOWED
        if verb == "get":
            return self._used(node, POD, attributes)
        if verb in _COLLECTION:
            if _selects(attributes, "spec.nodeName", node):
                return ALLOWED
            if attributes.name:
                return self._used(node, POD, attributes)
            return _no("can only list/watch pods with spec.nodeName field selector")
        return NO_OPINION


def _selects(attributes: Attributes, field: str, value: str) -> bool:
    """Whether a field selector leaves nothing but what has a value in a field."""
    return any(
        one.key == field and one.operator == "In" and one.values == (value,)
        for one in attributes.field_selector or ()
    )
