"""Load the generated facts of ``schemas/`` lazily, one file at a time."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import orjson

from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.schema.registry import Registry, ResourceType, Subresource

Json = dict[str, Any]

# Where etcd keys of kube-apiserver differ from "/registry/<plural>/"; messages print them.
STORAGE_PREFIXES = {
    ("", "services"): "services/specs",
    ("", "endpoints"): "services/endpoints",
    ("", "nodes"): "minions",
    ("", "replicationcontrollers"): "controllers",
    ("networking.k8s.io", "ingresses"): "ingress",
    ("apiextensions.k8s.io", "customresourcedefinitions"): (
        "apiextensions.k8s.io/customresourcedefinitions"
    ),
    ("apiregistration.k8s.io", "apiservices"): "apiregistration.k8s.io/apiservices",
}
# Where one kind is served in several groups or versions: what is stored.
STORED_AS = {
    ("autoscaling", "horizontalpodautoscalers"): GroupVersion("autoscaling", "v2"),
    ("events.k8s.io", "events"): GroupVersion("", "v1"),
}
# Resources without a watch cache in kube-apiserver.
UNCACHED = frozenset({("", "events"), ("events.k8s.io", "events")})
# Kinds that are registered and that no OpenAPI document shows: the type with the same members.
UNPUBLISHED = {
    GroupVersionKind("policy", "v1beta1", "Eviction"): "io.k8s.api.policy.v1.Eviction",
}
# By resource and subresource: versions that it takes beside its own.
OLDER = {
    (GroupVersionKind("", "v1", "Pod"), "eviction"): frozenset(
        {GroupVersionKind("policy", "v1beta1", "Eviction")}
    ),
}


@cache
def folder() -> Path:
    """The data folder: beside the package in a checkout, inside it when installed."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_schemas"
    return installed if installed.is_dir() else package.parent / "schemas"


@cache
def load(name: str) -> Json:
    """One data file by its path without ``.json``; cached for the life of the process.

    Raises:
        FileNotFoundError: no such file.
    """
    data: Json = orjson.loads((folder() / f"{name}.json").read_bytes())
    return data


def type_schema(name: str) -> Json:
    """The schema of a type by full name, such as ``io.k8s.api.core.v1.ConfigMap``.

    Raises:
        KeyError: no such type.
    """
    try:
        schema: Json = load(f"types/{name.rpartition('.')[0]}")[name]
    except FileNotFoundError:
        raise KeyError(name) from None
    return schema


def message(name: str) -> list[list[Any]]:
    """Rows ``[number, name, type, label, flags, json name?]`` of a protobuf message.

    Raises:
        KeyError: no such message.
    """
    try:
        fields: list[list[Any]] = load(f"protobuf/{name.rpartition('.')[0]}")[name]["fields"]
    except FileNotFoundError:
        raise KeyError(name) from None
    return fields


def message_name(type_name: str) -> str:
    """Protobuf message of a type: the same name with the domain the other way round."""
    return type_name.replace("io.k8s.", "k8s.io.", 1)


def type_name_of(gvk: GroupVersionKind) -> str:
    """Type name of a kind, or an empty string."""
    known: dict[str, str] = load("kinds")
    return known.get(f"{gvk.group}/{gvk.version}/{gvk.kind}", "") or UNPUBLISHED.get(gvk, "")


@cache
def stored_type(resource: ResourceType) -> ResourceType:
    """A resource in the version in which its objects are stored."""
    stored = resource.stored_as
    if stored == resource.group_version:
        return resource
    return registry().resources[stored.group, stored.version, resource.resource]


def _subresource(name: str, parent: GroupVersionKind, record: Json) -> Subresource:
    response = record.get("responseKind", {})
    return Subresource(
        name=name,
        kind=GroupVersionKind(
            response.get("group") or (parent.group if not response.get("version") else ""),
            response.get("version") or parent.version,
            record["kind"],
        ),
        verbs=frozenset(record["verbs"]),
        older=OLDER.get((parent, name), frozenset()),
    )


@cache
def registry() -> Registry:
    """The built-in resources of a default kube-apiserver 1.36."""
    source = load("resources")
    plain: dict[tuple[str, str, str], Json] = {}
    below: dict[tuple[str, str, str], dict[str, Json]] = {}
    for path, record in source["resources"].items():
        group, version, resource, *sub = path.split("/")
        key = (group, version, resource)
        if sub:
            below.setdefault(key, {})[sub[0]] = record
        else:
            plain[key] = record
    resources = {}
    for key, record in plain.items():
        group, version, resource = key
        kind = GroupVersionKind(group, version, record["kind"])
        prefix = STORAGE_PREFIXES.get((group, resource), resource)
        resources[key] = ResourceType(
            group=group,
            version=version,
            resource=resource,
            kind=kind.kind,
            singular=record["singular"],
            namespaced=record["scope"] == "Namespaced",
            verbs=frozenset(record["verbs"]),
            short_names=tuple(record.get("shortNames", ())),
            categories=tuple(record.get("categories", ())),
            storage_version_hash=record.get("storageVersionHash", ""),
            schema_name=type_name_of(kind),
            storage_prefix=f"/registry/{prefix}/",
            storage_group_version=STORED_AS.get((group, resource)),
            subresources={
                name: _subresource(name, kind, sub) for name, sub in below.get(key, {}).items()
            },
            cached=(group, resource) not in UNCACHED,
        )
    groups = {entry["group"]: tuple(entry["versions"]) for entry in source["groupOrder"]}
    return Registry(groups=groups, resources=resources)
