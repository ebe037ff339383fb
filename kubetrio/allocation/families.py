"""Address families of services: what is left out, and what does not fit together.

Decided before anything is allocated, so that a dry run shows it too.

Source: docs "IPv4/IPv6 dual-stack"; KEP-563; kube-apiserver's order of checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubetrio.machinery.fielderrors import invalid
from kubetrio.machinery.status import Cause

Spec = dict[str, Any]

HEADLESS = "None"
_WITH_ADDRESS = ("ClusterIP", "NodePort", "LoadBalancer")
_POLICY = "spec.ipFamilyPolicy"
_OTHER = {"IPv4": "IPv6", "IPv6": "IPv4"}


def complete_families(spec: Spec, was: Spec | None, configured: Sequence[str]) -> list[Cause]:
    """Fill in the families of a service and their policy.

    Args:
        spec: the new spec; changed.
        was: the stored spec, None for a create.
        configured: families of the cluster, the primary one first.

    Returns:
        Why the service is refused, or nothing.
    """
    if spec["type"] == "ExternalName" or stays_preferred(spec, was):
        return []
    if spec.get("ipFamilyPolicy") is None:
        spec["ipFamilyPolicy"] = _policy(spec, was)
    from kubetrio.kinds.core.validation.services import cluster_ips

    causes: list[Cause] = []
    cluster_ips(spec, causes, (was or {}).get("clusterIPs") or ())
    if causes:
        return causes
    if was is not None:
        causes += _released(spec, was)
    causes += _too_many(spec)
    causes += _follow_addresses(spec, configured)
    if causes:
        return causes
    families = list(spec.get("ipFamilies") or ())
    # Endpoints of a headless service without selector may be of any family.
    free = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
    if not free:
        causes = list(_unserved(spec, families, configured))
        if causes:
            return causes
    families = families or [configured[0]]
    both = spec["ipFamilyPolicy"] != "SingleStack" and (free or len(configured) == 2)
    if both and len(families) == 1:
        families.append(_OTHER[families[0]])
    spec["ipFamilies"] = families
    return []


def stays_preferred(spec: Spec, was: Spec | None) -> bool:
    """Whether an update leaves alone what a service that prefers both families has.

    Such a service gets or loses a family only when a client says so, not because the cluster has
    other families now.
    """
    if was is None or spec["type"] != was["type"] or spec["type"] not in _WITH_ADDRESS:
        return False
    if spec.get("ipFamilyPolicy") != "PreferDualStack":
        return False
    if was.get("ipFamilyPolicy") not in (None, "PreferDualStack"):
        return False
    return _same(spec, was, "clusterIPs") and _same(spec, was, "ipFamilies")


def _same(spec: Spec, was: Spec, name: str) -> bool:
    return (spec.get(name) or []) == (was.get(name) or [])


def _policy(spec: Spec, was: Spec | None) -> str:
    """The policy of a service that names none: never a change between one family and two."""
    if was is not None and was.get("ipFamilyPolicy"):
        return str(was["ipFamilyPolicy"])
    if spec.get("clusterIP") == HEADLESS and not spec.get("selector"):
        return "RequireDualStack"
    return "SingleStack"


def _released(spec: Spec, was: Spec) -> Iterator[Cause]:
    """Drop the second family when only the policy asks for that; else the policy must ask too."""
    for name, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        mine, theirs = spec.get(name) or [], was.get(name) or []
        if spec["ipFamilyPolicy"] == "SingleStack":
            if mine == theirs and len(mine) > 1:
                spec[name] = mine[:1]
        elif 0 < len(mine) < len(theirs):
            detail = f"must be 'SingleStack' to release the secondary {what}"
            yield invalid(_POLICY, spec["ipFamilyPolicy"], detail)


def _too_many(spec: Spec) -> Iterator[Cause]:
    if spec["ipFamilyPolicy"] != "SingleStack":
        return
    needed = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
    for name, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
        if len(spec.get(name) or ()) == 2:
            yield invalid(_POLICY, "SingleStack", f"{needed} {what} are specified")


def _follow_addresses(spec: Spec, configured: Sequence[str]) -> Iterator[Cause]:
    """Families that only the addresses tell."""
    addresses, families = spec.get("clusterIPs") or [], list(spec.get("ipFamilies") or ())
    for index, address in enumerate(addresses):
        if address == HEADLESS:
            break
        if index < len(families):
            continue
        family = "IPv6" if ":" in address else "IPv4"
        if family in configured:
            families.append(family)
        else:
            detail = f"{family} is not configured on this cluster"
            yield invalid(f"spec.clusterIPs[{index}]", addresses, detail)
    if families:
        spec["ipFamilies"] = families


def _unserved(spec: Spec, families: Sequence[str], configured: Sequence[str]) -> Iterator[Cause]:
    if spec["ipFamilyPolicy"] == "RequireDualStack" and len(configured) < 2:
        detail = "this cluster is not configured for dual-stack services"
        yield invalid(_POLICY, "RequireDualStack", detail)
    for index, family in enumerate(families):
        if family not in configured:
            yield invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
