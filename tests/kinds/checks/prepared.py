"""Objects as their writes prepare them, for the tests of each group."""

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
POD_SPEC = {"containers": [{"name": "c", "image": "i"}]}


def resource(group: str, name: str) -> Kind:
    """The kind of a group's ``v1``."""
    found = registry().get(group, "v1", name)
    assert found is not None
    return found


def decode(group: str, name: str, **raw: Any) -> Json:
    """An object as a client's body is decoded."""
    kind = resource(group, name)
    raw.setdefault("metadata", {"name": "x"})
    return compile_type(kind.schema_name).decode(
        {"kind": kind.kind, "apiVersion": kind.api_version, **deepcopy(raw)}, Report()
    )


def create(group: str, name: str, **raw: Any) -> Json:
    """An object as its creation prepares it."""
    kind = resource(group, name)
    obj = decode(group, name, **raw)
    kind.rules.default(obj)
    kind.rules.prepare_create(obj, CONTEXT)
    kind.rules.default(obj)
    return obj


def update(group: str, name: str, old: Json, sub: str = "", /, **raw: Any) -> Json:
    """An object as its replacement prepares it; the old one is not touched."""
    kind = resource(group, name)
    new = decode(group, name, **raw)
    kind.rules.default(new)
    before = deepcopy(old)
    kind.rules.prepare_update(new, old, LATER, sub)
    assert old == before
    return new
