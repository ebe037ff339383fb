"""Turn reference facts of a Kubernetes release into the data files of this folder.

Usage: ``python schemas/generate.py REFERENCE_DIR [OUTPUT_DIR]``

The reference is a folder of JSON files observed from a kube-apiserver (names, numbers, types,
scopes, verbs, printer columns, patch keys, defaults).  Only facts are kept: no descriptions;
those in ``descriptions`` are our own, written by hand.
Output is deterministic, one record per line, so that a new release is a readable diff.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Json = dict[str, Any]

TYPE_PREFIX = "io.k8s."


def load(reference: Path, name: str) -> Json:
    """Read one reference file."""
    with (reference / f"{name}.json").open(encoding="utf-8") as file:
        data: Json = json.load(file)
    return data


def dump(path: Path, records: Mapping[str, Any]) -> None:
    """Write a JSON object with one top-level member per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}"
        for key, value in records.items()
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def package_of(name: str) -> str:
    """Package of a type: its name without the last component."""
    return name.rpartition(".")[0]


def by_package(records: Mapping[str, Any]) -> dict[str, Json]:
    """Group records by package, each group sorted by name."""
    groups: dict[str, Json] = defaultdict(dict)
    for name in sorted(records):
        groups[package_of(name)][name] = records[name]
    return groups


def group_version_kinds(types: Mapping[str, Json]) -> Json:
    """Map ``group/version/Kind`` to the type that has it (kinds with one type only).

    Types with many identities (DeleteOptions, WatchEvent) are looked up by type name instead.
    """
    table: Json = {}
    for name in sorted(types):
        identities = types[name].get("x-kubernetes-group-version-kind", [])
        if len(identities) == 1:
            gvk = identities[0]
            table[f"{gvk['group']}/{gvk['version']}/{gvk['kind']}"] = name
    return table


def write_types(reference: Path, output: Path) -> None:
    """Types: one file a package, and an index from kind to type."""
    source = load(reference, "types")
    enabled, disabled = source["schemas"], source["schemasOfDisabledVersions"]
    merged = {**disabled, **enabled}
    for package, records in by_package(merged).items():
        dump(output / "types" / f"{package}.json", records)
    dump(output / "kinds.json", group_version_kinds(merged))


def write_protobuf(reference: Path, output: Path) -> None:
    """Protobuf messages: one file a package; wire facts apart."""
    source = load(reference, "protobuf")
    for package, records in by_package(source["messages"]).items():
        dump(output / "protobuf" / f"{package}.json", records)
    dump(output / "protobuf-wire.json", source["wire"])


def write_resources(reference: Path, output: Path) -> None:
    """Resources and the order in which discovery names groups and versions."""
    source = load(reference, "resources")
    keep = ("groupOrder", "legacyGroups", "rootPaths", "resources", "disabledByDefaultResources",
            "groupOrderAllVersionsEnabled")  # fmt: skip
    dump(output / "resources.json", {key: source[key] for key in keep})


def operations_file(path: str) -> str:
    """File of an operation: one for each version, and ``root`` for what is above them."""
    match path.strip("/").split("/"):
        case ["api", version, *_]:
            return f"core.{version}"
        case ["apis", group, version, *_]:
            return f"{group}.{version}"
        case _:
            return "root"


def write_operations(reference: Path, output: Path) -> None:
    """Operations by path: one file a version, so that nobody reads what is not asked for."""
    groups: dict[str, Json] = defaultdict(dict)
    source = load(reference, "operations")["paths"]
    for path in sorted(source):
        groups[operations_file(path)][path] = source[path]
    for name, records in groups.items():
        dump(output / "operations" / f"{name}.json", records)


def write_rest(reference: Path, output: Path) -> None:
    """Everything whose reference shape is already the shape the server reads."""
    columns = load(reference, "tables")["columnDefinitions"]
    dump(output / "tables.json", {key: columns[key] for key in sorted(columns)})
    selectors = load(reference, "field-selectors")["supported"]
    dump(output / "field-selectors.json", {key: selectors[key] for key in sorted(selectors)})
    bootstrap = load(reference, "bootstrap")
    dump(output / "bootstrap.json", bootstrap["objects"])
    dump(output / "aggregated-roles.json", bootstrap["aggregatedClusterRoleRules"])
    validation = load(reference, "validation")
    dump(output / "names.json", validation["names"])
    dump(output / "behaviours.json", load(reference, "behaviours")["resources"])
    metrics = load(reference, "metrics")["metrics"]
    dump(output / "metrics.json", {key: metrics[key] for key in sorted(metrics)})
    gates = load(reference, "kube-apiserver-flags")
    dump(output / "flags.json", {"flags": gates["flags"], "featureGates": gates["featureGates"]})


def main(arguments: list[str]) -> int:
    """Generate; returns the exit code."""
    if not 1 <= len(arguments) <= 2:
        print(__doc__, file=sys.stderr)
        return 2
    reference = Path(arguments[0])
    output = Path(arguments[1]) if len(arguments) == 2 else Path(__file__).parent
    for step in (write_types, write_protobuf, write_resources, write_operations, write_rest):
        step(reference, output)
        print(f"{step.__name__.removeprefix('write_')}: done")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
