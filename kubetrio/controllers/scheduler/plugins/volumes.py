"""Volumes: nodes that a pod's volumes can be used on, and claims that are not ready for it.

Source: docs "Persistent Volumes" (node affinity), "Storage Classes" (volume binding mode);
k8s.io/kubernetes/pkg/scheduler/framework/plugins (``volumebinding``, ``volumezone``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubetrio.controllers.scheduler.cluster import Cluster, NodeState
from kubetrio.controllers.scheduler.framework import Check, Refusal, Rejected
from kubetrio.controllers.scheduler.shapes import PodView
from kubetrio.controllers.scheduler.volumes import ClaimFacts, VolumeFacts, Volumes

ELSEWHERE = Refusal(("node(s) didn't match PersistentVolume's node affinity",), resolvable=False)
NO_VOLUME = Refusal(
    ("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",),
    resolvable=False,
)
NOT_FOUND = Refusal(("node(s) didn't find available persistent volumes to bind",), resolvable=False)
OTHER_ZONE = Refusal(("node(s) had no available volume zone",), resolvable=False)
UNBOUND = Rejected("pod has unbound immediate PersistentVolumeClaims")


def claim_names(pod: PodView) -> Iterator[tuple[str, bool]]:
    """Yield the names of a pod's claims, and whether they are made for it."""
    for name, made_for_pod in pod.shape.claims:
        yield (f"{pod.name}-{name}" if made_for_pod else name), made_for_pod


def waiting_claims(pod: PodView, volumes: Volumes) -> list[str]:
    """The names of a pod's claims that are bound once a node is chosen."""
    names = []
    for name, _ in claim_names(pod):
        claim = volumes.claims.get(f"{pod.shape.namespace}/{name}")
        if claim is not None and not claim.bound and _waits(claim, volumes):
            names.append(name)
    return names


def _waits(claim: ClaimFacts, volumes: Volumes) -> bool:
    storage_class = volumes.classes.get(claim.class_name)
    return storage_class is not None and storage_class.waits


def _claims(pod: PodView, volumes: Volumes) -> list[ClaimFacts] | Rejected:
    claims = []
    for name, made_for_pod in claim_names(pod):
        claim = volumes.claims.get(f"{pod.shape.namespace}/{name}")
        if claim is None and made_for_pod and not volumes.binding:
            continue  # nothing makes it
        if claim is None and made_for_pod:
            what = "waiting for ephemeral volume controller to create the persistentvolumeclaim"
            return Rejected(f'{what} "{name}"')
        if claim is None:
            return Rejected(f'persistentvolumeclaim "{name}" not found')
        if claim.lost:
            what = "bound to non-existent persistentvolume"
            return Rejected(f'persistentvolumeclaim "{name}" {what} "{claim.volume}"')
        if claim.deleting:
            return Rejected(f'persistentvolumeclaim "{name}" is being deleted')
        claims.append(claim)
    return claims


def unusable(pod: PodView, cluster: Cluster) -> Check | Rejected | None:
    """Prepare the check that a pod's volumes can be used on a node."""
    volumes = cluster.volumes
    if not pod.shape.claims:
        return None
    claims = _claims(pod, volumes)
    if isinstance(claims, Rejected):
        return claims
    unbound = [claim for claim in claims if not claim.bound] if volumes.binding else []
    if any(not _waits(claim, volumes) for claim in unbound):
        return UNBOUND
    bound = [volumes.volumes.get(claim.volume) for claim in claims if claim.bound]

    def check(node: NodeState) -> Refusal | None:
        facts = node.facts
        for volume in bound:
            if volume is None:
                return NO_VOLUME
            if not volume.allows(facts.name, facts.labels):
                return ELSEWHERE
        for claim in unbound:
            if claim.node not in ("", facts.name):
                return NOT_FOUND
            if not claim.node and not volumes.classes[claim.class_name].provisions:
                return NOT_FOUND
        if any(volume and not _in_zone(volume, facts.labels) for volume in bound):
            return OTHER_ZONE
        return None

    return check


def _in_zone(volume: VolumeFacts, labels: Mapping[str, str]) -> bool:
    """Whether a node is in the zones of a volume, or in none at all."""
    if not any("topology.kubernetes.io/" in key or "failure-domain." in key for key in labels):
        return True
    return all(
        labels.get(key, labels.get(_newer(key), "")) in values
        for key, values in volume.zones.items()
    )


def _newer(key: str) -> str:
    """The name that a label has today."""
    return key.replace("failure-domain.beta.kubernetes.io/", "topology.kubernetes.io/")
