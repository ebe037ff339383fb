"""Discovery documents -> resources: kinds, scopes, verbs, short names, the order of groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from facts.documents import Json

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def groups(items: Iterable[Json]) -> list[Json]:
    """Groups and their versions in the order of a document.

    Args:
        items: groups of aggregated discovery.
    """
    return [
        {
            "group": item["metadata"].get("name", ""),
            "versions": [version["version"] for version in item["versions"]],
            "freshness": sorted({version["freshness"] for version in item["versions"]}),
        }
        for item in items
    ]


def core(legacy: Mapping[str, Json], versions: Iterable[str]) -> Json:
    """The core group as aggregated discovery would show it; upstream publishes it only the old way.

    Args:
        legacy: ``APIResourceList`` by ``v1`` or ``group/version``.
        versions: of the core group.
    """
    return {
        "metadata": {},
        "versions": [
            {
                "version": version,
                "freshness": "Current",
                "resources": list(_from_legacy(legacy[version]["resources"])),
            }
            for version in versions
        ],
    }


def _from_legacy(rows: Iterable[Json]) -> Iterator[Json]:
    plain: dict[str, Json] = {}
    below: list[tuple[str, str, Json]] = []
    for row in rows:
        name, _, sub = row["name"].partition("/")
        entry: Json = {
            "responseKind": {
                "group": row.get("group", ""),
                "version": row.get("version", ""),
                "kind": row["kind"],
            },
            "scope": "Namespaced" if row["namespaced"] else "Cluster",
            **{key: row[key] for key in ("shortNames", "categories", "verbs") if key in row},
        }
        if sub:
            below.append((name, sub, entry))
        else:
            plain[name] = entry | {"resource": name, "singularResource": row["singularName"]}
    for name, sub, entry in below:
        parent = plain.setdefault(name, {"resource": name, "scope": entry["scope"]})
        parent.setdefault("subresources", []).append(entry | {"subresource": sub})
    return iter(plain.values())


def _record(entry: Json, legacy: Json, *, scope: str, singular: str) -> Json:
    record: Json = {
        "kind": legacy.get("kind", entry["responseKind"]["kind"]),
        "responseKind": {
            key: entry["responseKind"].get(key, "") for key in ("group", "version", "kind")
        },
        "scope": scope,
        "singular": singular,
    }
    for key in ("shortNames", "categories", "verbs"):
        if entry.get(key):
            record[key] = entry[key]
    for key, name in (
        ("storageVersionHash", "storageVersionHash"),
        ("group", "legacyGroup"),
        ("version", "legacyVersion"),
    ):
        if legacy.get(key):
            record[name] = legacy[key]
    return record


def resources(items: Iterable[Json], legacy: Mapping[str, Json]) -> dict[str, Json]:
    """Resources and subresources by ``group/version/resource[/subresource]``.

    Args:
        items: groups of aggregated discovery.
        legacy: ``APIResourceList`` by ``v1`` or ``group/version``; what they say beside.
    """
    found: dict[str, Json] = {}
    for item in items:
        group = item["metadata"].get("name", "")
        for version in item["versions"]:
            prefix = f"{group}/{version['version']}"
            old = {
                row["name"]: row for row in legacy.get(prefix.lstrip("/"), {}).get("resources", ())
            }
            for entry in version.get("resources", ()):
                name, scope = entry["resource"], entry["scope"]
                if entry.get("verbs"):
                    found[f"{prefix}/{name}"] = _record(
                        entry, old.get(name, {}), scope=scope, singular=entry["singularResource"]
                    )
                for below in entry.get("subresources", ()):
                    full = f"{name}/{below['subresource']}"
                    found[f"{prefix}/{full}"] = _record(
                        below, old.get(full, {}), scope=scope, singular=""
                    )
    return found


def legacy_groups(document: Json) -> list[Json]:
    """What ``/apis`` says: names, versions, the preferred one.

    Args:
        document: an ``APIGroupList``.
    """
    return [
        {
            "name": group["name"],
            "versions": [version["version"] for version in group["versions"]],
            "preferredVersion": group["preferredVersion"]["version"],
        }
        for group in document["groups"]
    ]


def root_paths(document: Json) -> list[str]:
    """Paths that ``/`` names and that are above the API groups."""
    return [path for path in document["paths"] if path.split("/")[1] not in {"api", "apis"}]
