"""What writes of claims on devices and their slices do beside what their clients say."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.identity import UserInfo
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import Context, Json
from kubetrio.schema.structural import Report, compile_type

CONTEXT = Context(
    now="2026-01-01T00:00:00Z",
    uid="u-1",
    user=UserInfo("alice", "", ("devs",), {"k": ("v",)}),
)
LATER = Context(now="2026-01-02T00:00:00Z")


def resource(group: str, name: str) -> Kind:
    found = registry().get(group, "v1", name)
    assert found is not None
    return found


def decode(group: str, name: str, **raw: Any) -> Json:
    kind = resource(group, name)
    raw.setdefault("metadata", {"name": "x"})
    return compile_type(kind.schema_name).decode(
        {"kind": kind.kind, "apiVersion": kind.api_version, **deepcopy(raw)}, Report()
    )


def create(group: str, name: str, **raw: Any) -> Json:
    kind = resource(group, name)
    obj = decode(group, name, **raw)
    kind.rules.default(obj)
    kind.rules.prepare_create(obj, CONTEXT)
    kind.rules.default(obj)
    return obj


def update(group: str, name: str, old: Json, sub: str = "", /, **raw: Any) -> Json:
    kind = resource(group, name)
    new = decode(group, name, **raw)
    kind.rules.default(new)
    before = deepcopy(old)
    kind.rules.prepare_update(new, old, LATER, sub)
    assert old == before
    return new


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
