"""What writes of definitions do beside what their clients say."""

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


def test_storage_versions_of_a_definition_add_up() -> None:
    """A version that was a storage version stays in the list."""
    names = {"plural": "foos", "kind": "Foo"}

    def spec(stored: str) -> Json:
        versions = [
            {"name": name, "served": True, "storage": name == stored} for name in ("v1", "v2")
        ]
        return {"group": "g.x", "scope": "Cluster", "names": names, "versions": versions}

    kind = ("apiextensions.k8s.io", "customresourcedefinitions")
    old = create(*kind, spec=spec("v1"))
    assert old["status"]["storedVersions"] == ["v1"]
    new = update(*kind, old, spec=spec("v2"), status=old["status"])
    assert new["status"]["storedVersions"] == ["v1", "v2"]
