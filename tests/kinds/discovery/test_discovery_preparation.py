"""What writes of endpoint slices do beside what their clients say."""

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


def test_old_topology_of_endpoints_is_not_written() -> None:
    """It stays as long as the endpoints stay the same."""
    endpoint = {"addresses": ["1.2.3.4"], "deprecatedTopology": {"kubernetes.io/hostname": "n"}}
    raw: dict[str, Any] = {"addressType": "IPv4", "endpoints": [endpoint]}
    old = decode("discovery.k8s.io", "endpointslices", **raw)
    assert (
        "deprecatedTopology"
        not in create("discovery.k8s.io", "endpointslices", **raw)["endpoints"][0]
    )
    same = update("discovery.k8s.io", "endpointslices", old, **raw)
    assert same["endpoints"] == old["endpoints"]
    moved = {**endpoint, "addresses": ["1.2.3.5"]}
    new = update("discovery.k8s.io", "endpointslices", old, **{**raw, "endpoints": [moved]})
    assert new["endpoints"][0]["nodeName"] == "n"
    assert "deprecatedTopology" not in new["endpoints"][0]
