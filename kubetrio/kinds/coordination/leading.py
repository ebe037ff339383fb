"""Whether a component of a cluster runs beside this server, by the Lease of its leader."""

from __future__ import annotations

import orjson

from kubetrio.machinery.timestamps import parse_micro
from kubetrio.store.model import Reading

CONTROLLER_MANAGER, SCHEDULER = "kube-controller-manager", "kube-scheduler"
CLOUD_CONTROLLER_MANAGER = "cloud-controller-manager"
LEASED_S = 60.0  # a lease that was not renewed for so long has no holder


def lease_key(component: str) -> str:
    """Storage key of the Lease of a component."""
    return f"/registry/leases/kube-system/{component}"


async def leads(store: Reading, component: str, now: float) -> bool:
    """Whether a component renewed its Lease lately.

    Args:
        store: where Leases are.
        component: such as `CONTROLLER_MANAGER`.
        now: wall clock, in seconds since the epoch.

    Raises:
        StoreError: it cannot be read.
    """
    lease = await store.get(lease_key(component))
    if lease is None:
        return False
    renewed: str = (orjson.loads(lease.value).get("spec") or {}).get("renewTime") or ""
    return bool(renewed) and now - parse_micro(renewed) < LEASED_S
