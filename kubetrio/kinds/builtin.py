"""The built-in kinds of a default kube-apiserver 1.36, made of facts."""

from __future__ import annotations

from functools import cache
from typing import Any

from kubetrio.kinds.parts import BUILTIN, traits_of
from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.schema.builtin import load, type_name_of
from kubetrio.schema.kind import Family, Kind, Subresource
from kubetrio.schema.registry import Registry

Json = dict[str, Any]
Key = tuple[str, str, str]


def _subresource(name: str, parent: GroupVersionKind, record: Json, traits: Json) -> Subresource:
    response = record.get("responseKind", {})
    older = (kind.split("/") for kind in traits.get("older", {}).get(name, ()))
    return Subresource(
        name=name,
        kind=GroupVersionKind(
            response.get("group") or (parent.group if not response.get("version") else ""),
            response.get("version") or parent.version,
            record["kind"],
        ),
        verbs=frozenset(record["verbs"]),
        older=frozenset(GroupVersionKind(*kind) for kind in older),
        serves=traits.get("subresources", {}).get(name, ""),
        columns=name not in traits.get("noColumns", ()),
    )


def _kind(key: Key, record: Json, below: dict[str, Json], family: Family | None) -> Kind:
    group, version, resource = key
    gvk = GroupVersionKind(group, version, record["kind"])
    traits = dict(traits_of(group, resource))
    prefix = traits.get("storagePrefix", resource)
    return Kind(
        group=group,
        version=version,
        resource=resource,
        kind=gvk.kind,
        singular=record["singular"],
        namespaced=record["scope"] == "Namespaced",
        verbs=frozenset(record["verbs"]),
        short_names=tuple(record.get("shortNames", ())),
        categories=tuple(record.get("categories", ())),
        storage_version_hash=record.get("storageVersionHash", ""),
        schema_name=type_name_of(gvk),
        storage_prefix=f"/registry/{prefix}/",
        family=family,
        subresources={name: _subresource(name, gvk, sub, traits) for name, sub in below.items()},
        cached=traits.get("cached", True),
        deprecated=traits.get("deprecated", ""),
        serves=traits.get("serves", ""),
        open=traits.get("open", False),
        builtin=True,
        parts=BUILTIN,
    )


def _stored_as(key: Key) -> GroupVersion:
    group, version, resource = key
    stored = traits_of(group, resource).get("storedAs")
    return GroupVersion(group, version) if stored is None else GroupVersion(*stored.split("/"))


@cache
def registry() -> Registry:
    """The built-in resources of a default kube-apiserver 1.36, as a snapshot to begin with."""
    source = load("resources")
    plain: dict[Key, Json] = {}
    below: dict[Key, dict[str, Json]] = {}
    for path, record in source["resources"].items():
        group, version, resource, *sub = path.split("/")
        key = (group, version, resource)
        if sub:
            below.setdefault(key, {})[sub[0]] = record
        else:
            plain[key] = record
    stored = {key: (*_stored_as(key), key[2]) for key in plain}
    families = {stored[key]: Family() for key in plain if stored[key] != key}
    kinds: dict[Key, Kind] = {}
    # Of a family that in which objects are stored comes first.
    for key in sorted(plain, key=lambda key: stored[key] != key):
        family = families.get(stored[key])
        kinds[key] = _kind(key, plain[key], below.get(key, {}), family)
        if family is not None:
            family.add(kinds[key])
    groups = {entry["group"]: tuple(entry["versions"]) for entry in source["groupOrder"]}
    return Registry(groups=groups, resources={key: kinds[key] for key in plain})
