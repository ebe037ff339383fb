"""What writes of claims on devices and their slices do beside what their clients say."""

from __future__ import annotations

from checks.prepared import CONTEXT, create, update


def test_device_taints_have_a_time() -> None:
    """A taint without one is from now on."""
    device = {"name": "d", "taints": [{"key": "a", "effect": "NoSchedule"}]}
    spec = {"driver": "x.y", "pool": {"name": "p"}, "devices": [device]}
    slices = create("resource.k8s.io", "resourceslices", spec=spec)
    assert slices["spec"]["devices"][0]["taints"][0]["timeAdded"] == CONTEXT.now


def test_devices_that_are_given_back_take_their_status_along() -> None:
    """What a driver told of a device goes with the allocation; the rest stays."""
    kind = ("resource.k8s.io", "resourceclaims")
    results = [{"driver": "d", "pool": "p", "device": name} for name in ("one", "two")]
    old = create(*kind, spec={"devices": {}})
    old["status"] = {"allocation": {"devices": {"results": results}}, "devices": results}
    fewer = {"allocation": {"devices": {"results": results[:1]}}, "devices": results}
    new = update(*kind, old, "status", spec={"devices": {}}, status=fewer)
    assert [item["device"] for item in new["status"]["devices"]] == ["one"]
    new = update(*kind, old, "status", spec={"devices": {}}, status={"devices": results})
    assert "devices" not in new["status"]
    new = update(*kind, old, "status", spec={"devices": {}}, status=old["status"])
    assert [item["device"] for item in new["status"]["devices"]] == ["one", "two"]
