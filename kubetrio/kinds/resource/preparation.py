"""What writes of resource.k8s.io do beside what their clients say."""

from __future__ import annotations

from kubetrio.schema.rules import Context, Json


def create_resource_slice(devices: Json, context: Context) -> None:
    """Taints of devices have a time."""
    for device in (devices.get("spec") or {}).get("devices") or ():
        for taint in device.get("taints") or ():
            if taint.get("timeAdded") is None:
                taint["timeAdded"] = context.now


def update_resource_slice(new: Json, _old: Json, context: Context, _: str) -> None:
    """Taints of devices have a time."""
    create_resource_slice(new, context)


_DEVICE = ("driver", "pool", "device", "shareID")


def _devices_of(results: list[Json] | None) -> set[tuple[str, ...]]:
    return {tuple(item.get(member) or "" for member in _DEVICE) for item in results or ()}


def _allocated(claim: Json) -> set[tuple[str, ...]]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return _devices_of((allocation.get("devices") or {}).get("results"))


def update_resource_claim(new: Json, old: Json, _: Context, subresource: str) -> None:
    """What drivers tell of a device goes with its allocation (KEP-4817)."""
    devices = (new.get("status") or {}).get("devices")
    if subresource != "status" or not devices:
        return
    gone = _allocated(old) - _allocated(new)
    kept = [item for item in devices if not _devices_of([item]) & gone]
    if len(kept) != len(devices):
        new["status"] = {**new["status"], "devices": kept}
        if not kept:
            del new["status"]["devices"]
