"""Objects that a server makes by itself when its storage is empty."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from facts.client import Client
from facts.documents import Json
from facts.listable import collection_path, listable

LEFT_OUT = frozenset({"/v1/componentstatuses", "/v1/events", "events.k8s.io/v1/events"})
"""What is not stored, or tells of the server's start rather than what it makes."""
GENERATED = frozenset({"uid", "resourceVersion", "creationTimestamp", "managedFields"})
OF_CONDITIONS = frozenset({"lastTransitionTime", "message"})
MANDATORY = frozenset({"exempt", "catch-all"})
"""Flow schemas and priority levels that are put back when a user changes them."""
FLOW_CONTROL = frozenset({"FlowSchema", "PriorityLevelConfiguration"})
PORTS = frozenset({"port", "targetPort"})

PATTERNS = (
    (re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"), "<uuid>"),
    (re.compile(r"^apiserver-[a-z0-9]{20,}"), "apiserver-<hash>"),
    (re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z$"), "<now>"),
    (re.compile(r"^\d{4}-\d\d-\d\d$"), "<date YYYY-MM-DD>"),
)


def snapshot(client: Client, resources: Mapping[str, Json]) -> list[Json]:
    """All objects of a fresh server, each once, in the order of discovery.

    Args:
        client: of a server that nothing else uses.
        resources: of that server.
    """
    found: dict[str, Json] = {}
    for name in listable(resources):
        if name in LEFT_OUT:
            continue
        listed = client.get(collection_path(name))
        kind = listed["kind"].removesuffix("List")
        for item in listed.get("items") or ():
            obj = {"apiVersion": listed["apiVersion"], "kind": kind, **item}
            found.setdefault(item["metadata"].get("uid", f"{name}/{item}"), obj)
    return list(found.values())


def objects(found: Iterable[Json]) -> dict[str, Json]:
    """Objects without what differs from server to server, by ``Kind [namespace/]name``.

    Args:
        found: objects of a fresh server.
    """
    stored = list(found)
    places = _places(stored)
    result: dict[str, Json] = {}
    for obj in stored:
        plain: Json = _general(_bare(obj), places)
        if obj["kind"] in FLOW_CONTROL:
            plain["mandatory"] = obj["metadata"]["name"] in MANDATORY
        metadata = plain["metadata"]
        parts = (metadata.get("namespace", ""), metadata["name"])
        result[f"{obj['kind']} {'/'.join(part for part in parts if part)}"] = plain
    return result


def _bare(obj: Json) -> Json:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in GENERATED}
    bare = {**obj, "metadata": metadata}
    if obj["kind"] == "PriorityClass":  # prose of upstream
        bare.pop("description", None)
    conditions = obj.get("status", {}).get("conditions")
    if conditions:
        bare["status"] = obj["status"] | {
            "conditions": [
                {key: value for key, value in condition.items() if key not in OF_CONDITIONS}
                for condition in conditions
            ]
        }
    return bare


def _places(stored: Iterable[Json]) -> dict[Any, str]:
    """Address, port and host name of the server -> what stands for them."""
    places: dict[Any, str] = {}
    for obj in stored:
        key = (obj["kind"], obj["metadata"]["name"])
        if key == ("Endpoints", "kubernetes"):
            for subset in obj["subsets"]:
                places |= {one["ip"]: "<advertise-address>" for one in subset["addresses"]}
                places |= {one["port"]: "<secure-port>" for one in subset["ports"]}
        if obj["kind"] == "Lease":
            host = obj["metadata"].get("labels", {}).get("kubernetes.io/hostname")
            places |= {host: "<hostname>"} if host else {}
    return places


def _general(value: Any, places: Mapping[Any, str], key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _general(member, places, name) for name, member in value.items()}
    if isinstance(value, list):
        return [_general(member, places, key) for member in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return places.get(value, value) if key in PORTS else value
    if not isinstance(value, str):
        return value
    if value in places:
        return places[value]
    host, colon, port = value.rpartition(":")
    if colon and port.isdigit() and host in places and int(port) in places:
        return f"{places[host]}:{places[int(port)]}"
    for pattern, placeholder in PATTERNS:
        value = pattern.sub(placeholder, value)
    return value


def aggregated(found: Mapping[str, Json]) -> dict[str, list[Json]]:
    """Rules that the aggregation controller gives to cluster roles, by the role's name.

    The server leaves them out; kube-controller-manager works them out from labels.

    Args:
        found: bootstrap objects by key.
    """
    roles = {obj["metadata"]["name"]: obj for obj in found.values() if obj["kind"] == "ClusterRole"}
    return {name: _rules(name, roles) for name in sorted(roles) if "aggregationRule" in roles[name]}


def _rules(name: str, roles: Mapping[str, Json]) -> list[Json]:
    aggregation = roles[name].get("aggregationRule")
    if aggregation is None:
        return list(roles[name]["rules"] or ())
    rules: list[Json] = []
    for selector in aggregation["clusterRoleSelectors"]:
        wanted = selector["matchLabels"].items()
        for other in sorted(roles):
            labels = roles[other]["metadata"].get("labels", {})
            if other != name and wanted <= labels.items():
                rules += [rule for rule in _rules(other, roles) if rule not in rules]
    return rules
