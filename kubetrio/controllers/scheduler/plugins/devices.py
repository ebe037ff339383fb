"""Claims of devices: nodes that have what a pod claims, and devices for a node that was chosen.

Source: docs "Dynamic Resource Allocation";
k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.devices.allocator import AllocationError, Allocator
from kubetrio.controllers.scheduler.devices.facts import MOST_CONSUMERS, Claim
from kubetrio.controllers.scheduler.framework import Check, Refusal, Rejected
from kubetrio.controllers.scheduler.nodefacts import NodeFacts
from kubetrio.controllers.scheduler.shapes import PodView

Object = dict[str, Any]

NAME = "DynamicResources"
ELSEWHERE = Refusal(("resourceclaim not available on the node",), resolvable=False)
NOT_ENOUGH = Refusal(("cannot allocate all claims",), resolvable=False)


class Given(NamedTuple):
    """A claim of a pod that gets a node.

    Args:
        name: of the claim.
        uid: of the claim.
        allocation: that it gets, None where it has one.
    """

    name: str
    uid: str
    allocation: Object | None


def claims_of(pod: PodView, cluster: Cluster) -> list[tuple[str, Claim]] | Rejected:
    """Names of a pod's claims and what is known of them, or why they cannot be used.

    Args:
        pod: the pod.
        cluster: as it is now.
    """
    namespace, claims = pod.shape.namespace, []
    names = dict(pod.made_claims)
    for one in pod.shape.spec.get("resourceClaims") or ():
        name, of_template = one.get("resourceClaimName"), False
        if name is None:
            if one["name"] not in names:
                return Rejected(f'pod "{pod.key}": ResourceClaim not created yet')
            name, of_template = names[one["name"]], True
        if not name:
            continue  # it is known not to be needed
        claim = cluster.devices.claims.get(f"{namespace}/{name}")
        if claim is None:
            return Rejected(f'could not find ResourceClaim "{namespace}/{name}"')
        if claim.deleting:
            return Rejected(f'resourceclaim "{name}" is being deleted')
        if of_template and claim.owner != pod.uid:
            what = f"ResourceClaim {namespace}/{name} was not created for Pod {pod.key}"
            return Rejected(f"{what} (Pod is not owner)")
        claims.append((name, claim))
    return claims


def _rejected(pod: PodView, cluster: Cluster, claims: list[tuple[str, Claim]]) -> Rejected | None:
    """Why no node can help."""
    for name, claim in claims:
        key = f"{pod.shape.namespace}/{name}"
        if claim.allocated:
            if len(claim.consumers) >= MOST_CONSUMERS and pod.uid not in claim.consumers:
                return Rejected("resourceclaim in use")
            continue
        if key in cluster.devices.given:
            return Rejected(f"resource claim {key} is in the process of being allocated")
        for request in claim.requests:
            if not request.known:
                what = "has subrequests, but the DRAPrioritizedList feature is disabled"
                return Rejected(f"resource claim {key}, request {request.name}: {what}")
            if request.class_name not in cluster.devices.classes:
                what = f"device class {request.class_name} does not exist"
                return Rejected(f"request {request.name}: {what}")
        for number, constraint in enumerate(claim.constraints):
            if not constraint.get("matchAttribute"):
                what = f"constraint #{number}: empty constraint (unsupported constraint type?)"
                return Rejected(f"claim {key}, {what}")
    return None


def _allocator(pod: PodView, cluster: Cluster, claims: list[tuple[str, Claim]]) -> Allocator | None:
    """Finds devices for those claims of a pod that have none; None if all have."""
    namespace = pod.shape.namespace
    missing = [(f"{namespace}/{name}", claim) for name, claim in claims if not claim.allocated]
    return Allocator(cluster.devices, cluster.devices.in_use(), missing) if missing else None


def unavailable(pod: PodView, cluster: Cluster) -> Check | Rejected | None:
    """Prepare the check that a node can use the devices that a pod claims."""
    if not pod.shape.spec.get("resourceClaims"):
        return None
    claims = claims_of(pod, cluster)
    if isinstance(claims, Rejected):
        return claims
    rejected = _rejected(pod, cluster, claims)
    if rejected is not None:
        return rejected
    allocator = _allocator(pod, cluster, claims)

    def check(node: NodeState) -> Refusal | None:
        name, labels = node.facts.name, node.facts.labels
        if allocator is not None:
            try:
                if allocator.allocate(name, labels) is None:
                    return NOT_ENOUGH
            except AllocationError as error:
                return Refusal((str(error),), resolvable=False)
        if any(claim.allocated and not claim.serves(name, labels) for _, claim in claims):
            return ELSEWHERE
        return None

    return check


def given_on(pod: PodView, cluster: Cluster, node: NodeFacts) -> list[Given] | None:
    """What the claims of a pod get on a node that fits; None if that is no longer so.

    Args:
        pod: that gets the node.
        cluster: as it is now.
        node: the node.
    """
    if not pod.shape.spec.get("resourceClaims"):
        return []
    claims = claims_of(pod, cluster)
    if isinstance(claims, Rejected) or _rejected(pod, cluster, claims) is not None:
        return None
    allocator, allocations = _allocator(pod, cluster, claims), list[Object]()
    if allocator is not None:
        try:
            results = allocator.allocate(node.name, node.labels)
        except AllocationError:
            results = None
        if results is None:
            return None
        allocations = results
    rest = iter(allocations)
    return [
        Given(name, claim.uid, None if claim.allocated else next(rest)) for name, claim in claims
    ]


def idle_elsewhere(pod: PodView, cluster: Cluster) -> str:
    """The name of a claim whose devices hold a pod back and serve no other, empty for none.

    Args:
        pod: that fits on no node.
        cluster: as it is now.
    """
    claims = claims_of(pod, cluster)
    for name, claim in () if isinstance(claims, Rejected) else claims:
        if claim.allocated and claim.consumers <= {pod.uid}:
            nodes = (node.facts for node in cluster.order)
            if any(not claim.serves(one.name, one.labels) for one in nodes):
                return name
    return ""
