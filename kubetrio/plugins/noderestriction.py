"""NodeRestriction: kubelets write what is their node's, and nothing that leads elsewhere.

What is about pods and their tokens is in `nodepods`.

Source: docs "Admission Control in Kubernetes" (NodeRestriction), "Using Node Authorization".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.chain import Plugin
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.plugin import Base, denied
from kubetrio.kinds.common.differences import difference
from kubetrio.machinery.asking import Authorize
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.names import GroupResource
from kubetrio.plugins.certificatesubjects import REQUESTS
from kubetrio.plugins.nodepods import Lacking, NodePods, NodeTokens
from kubetrio.schema.wellknown import POD_RESOURCE as PODS

if TYPE_CHECKING:
    from kubetrio.plugins.context import PluginContext

Object = dict[str, Any]
Check = Callable[[str, Attributes], Awaitable[None]]

NODES = GroupResource("", "nodes")
CLAIMS = GroupResource("", "persistentvolumeclaims")
ACCOUNTS = GroupResource("", "serviceaccounts")
LEASES = GroupResource("coordination.k8s.io", "leases")
CSI_NODES = GroupResource("storage.k8s.io", "csinodes")
SLICES = GroupResource("resource.k8s.io", "resourceslices")
POD_CERTIFICATES = GroupResource("certificates.k8s.io", "podcertificaterequests")

USER = "system:node:"
GROUP = "system:nodes"
LEASE_NAMESPACE = "kube-node-lease"
RESTRICTED = "node-restriction.kubernetes.io"
OWN_LABELS = frozenset(
    {
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    }
)
OWN_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
NODE_SIGNERS = frozenset(
    {"kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"}
)
# What a node says of a claim's volume.
RESIZED = ("capacity", "conditions", "allocatedResources", "allocatedResourceStatuses")


def node_of(user: UserInfo) -> str | None:
    """The name of the node that a user is, empty if it has none; None for others."""
    if not user.name.startswith(USER) or GROUP not in user.groups:
        return None
    return user.name.removeprefix(USER)


class NodeRestriction(Base):
    """The plugin.

    Args:
        lookup: reads objects.
        authorize: the server's authorizers.
    """

    name = "NodeRestriction"
    operations = frozenset({Operation.CREATE, Operation.UPDATE, Operation.DELETE})

    def __init__(self, lookup: Lookup, authorize: Authorize) -> None:
        pods, tokens = NodePods(lookup), NodeTokens(lookup, authorize)
        self._checks: dict[GroupResource, Check] = {
            PODS: pods.check,
            NODES: _node,
            CLAIMS: _claim,
            ACCOUNTS: tokens.check,
            POD_CERTIFICATES: _pod_certificate,
            LEASES: _lease,
            CSI_NODES: _csi_node,
            SLICES: _slice,
            REQUESTS: _request,
        }
        self.resources = frozenset(self._checks)

    async def mutate(self, attributes: Attributes) -> None:
        """Refuse a node what is not its own; changes nothing.

        Raises:
            ApiError: 403, or 404 for a pod or node that is not there.
        """
        node = node_of(attributes.user)
        if node is None:
            return
        if not node:
            user = quote(attributes.user.name)
            raise denied(attributes, f"could not determine node from user {user}")
        try:
            await self._checks[attributes.resource.group_resource](node, attributes)
        except Lacking as lacking:
            raise denied(attributes, str(lacking)) from None


# ---------------------------------------------------------------------- nodes


async def _node(node: str, attributes: Attributes) -> None:
    me, obj, old = quote(node), attributes.obj or {}, attributes.old or {}
    # In kube-apiserver a create has the name of its object here.
    name = attributes.name or str((obj.get("metadata") or {}).get("name") or "")
    if name != node:
        raise Lacking(f"node {me} is not allowed to modify node {quote(name)}")
    operation = attributes.operation
    if operation is Operation.CREATE:
        if _spec(obj).get("configSource") is not None:
            raise Lacking(f"node {me} is not allowed to create pods with a non-nil configSource")
        if labels := _forbidden_labels(obj, {}):
            raise Lacking(f"node {me} is not allowed to set the following labels: {labels}")
    elif operation is Operation.UPDATE:
        source = _spec(obj).get("configSource")
        if source is not None and source != _spec(old).get("configSource"):
            why = "is not allowed to update configSource to a new non-nil configSource"
            raise Lacking(f"node {me} {why}")
        if (_spec(obj).get("taints") or []) != (_spec(old).get("taints") or []):
            raise Lacking(f"node {me} is not allowed to modify taints")
        owners = [one["metadata"].get("ownerReferences") or [] for one in (obj, old)]
        if owners[0] != owners[1]:
            raise Lacking(f"node {me} is not allowed to modify ownerReferences")
        if labels := _forbidden_labels(obj, old):
            raise Lacking(f"is not allowed to modify labels: {labels}")


def _spec(obj: Object) -> Object:
    return obj.get("spec") or {}


def _labels(obj: Object) -> Mapping[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}


def _within(domain: str, of: str) -> bool:
    return domain == of or domain.endswith(f".{of}")


def _forbidden_labels(obj: Object, old: Object) -> str:
    """Labels that differ and are not a kubelet's to set, in order."""
    new, before = _labels(obj), _labels(old)

    def found() -> Iterator[str]:
        for label in {*new, *before}:
            if new.get(label) == before.get(label):
                continue
            domain, slash, _ = label.partition("/")
            domain = domain if slash else ""
            own = label in OWN_LABELS or any(_within(domain, one) for one in OWN_DOMAINS)
            reserved = _within(domain, "kubernetes.io") or _within(domain, "k8s.io")
            if _within(domain, RESTRICTED) or (reserved and not own):
                yield label

    return ", ".join(sorted(found()))


# ---------------------------------------------------------------------- what else a node has


async def _claim(node: str, attributes: Attributes) -> None:
    if attributes.subresource != "status":
        raise Lacking("may only update PVC status")
    if attributes.operation is not Operation.UPDATE:
        raise Lacking(f"unexpected operation {quote(attributes.operation)}")
    new, old = (_without_sizes(one or {}) for one in (attributes.obj, attributes.old))
    if new != old:
        raise Lacking(
            f"node {quote(node)} is not allowed to update fields other than status.quantity "
            f"and status.conditions: {difference(old, new)}"
        )


def _without_sizes(claim: Object) -> Object:
    meta, status = claim.get("metadata") or {}, claim.get("status") or {}
    unsaid = ("resourceVersion", "managedFields")
    return {
        **claim,
        "metadata": {key: value for key, value in meta.items() if key not in unsaid},
        "status": {key: value for key, value in status.items() if key not in RESIZED},
    }


async def _pod_certificate(_: str, __: Attributes) -> None:
    raise Lacking("PodCertificateRequest feature gate is disabled")


def _named(attributes: Attributes) -> str:
    """The name of what is written; that of a new object is in the object."""
    if attributes.operation is not Operation.CREATE:
        return attributes.name
    return str(((attributes.obj or {}).get("metadata") or {}).get("name") or "")


async def _lease(node: str, attributes: Attributes) -> None:
    if attributes.namespace != LEASE_NAMESPACE:
        raise Lacking(f"can only access leases in the {quote(LEASE_NAMESPACE)} system namespace")
    if _named(attributes) != node:
        raise Lacking("can only access node lease with the same name as the requesting node")


async def _csi_node(node: str, attributes: Attributes) -> None:
    if _named(attributes) != node:
        raise Lacking("can only access CSINode with the same name as the requesting node")


async def _slice(node: str, attributes: Attributes) -> None:
    verbs = {Operation.CREATE: "create", Operation.DELETE: "delete"}
    verb = verbs.get(attributes.operation)
    obj = attributes.obj if verb == "create" else attributes.old
    if verb is not None and _spec(obj or {}).get("nodeName") != node:
        why = f"can only {verb} ResourceSlice with the same NodeName as the requesting node"
        raise Lacking(why)


async def _request(node: str, attributes: Attributes) -> None:
    spec = _spec(attributes.obj or {})
    if attributes.operation is not Operation.CREATE or spec.get("signerName") not in NODE_SIGNERS:
        return
    from kubetrio.kinds.certificates.requests import read_request

    try:
        name = read_request(spec.get("request") or "").common_name
    except ValueError as error:
        raise Lacking(f"unable to parse csr: {error}") from None
    if name != f"{USER}{node}":
        raise Lacking(f"can only create a node CSR with CN={USER}{node}")


def node_restriction(context: PluginContext) -> Plugin:
    """Make the plugin NodeRestriction."""
    return NodeRestriction(context.lookup, context.server.authorize)
