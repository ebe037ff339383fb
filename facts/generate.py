"""Inputs -> the data files of ``schemas/``.

Only facts are kept: no descriptions; those in ``schemas/descriptions`` and
``schemas/columns.json`` are our own, written by hand.  Output is deterministic, one record per
line, so that a new release is a readable diff.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from facts import metric_list
from facts.documents import Json, dump, in_order, load


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


def write_types(inputs: Path, output: Path) -> None:
    """Types: one file a package, and an index from kind to type.

    A type that the server serves is taken from it, because only there enums are named.
    """
    merged = load(inputs, "published-types") | load(inputs, "types")
    for package, records in by_package(merged).items():
        dump(output / "types" / f"{package}.json", records)
    dump(output / "kinds.json", group_version_kinds(merged))


def write_protobuf(inputs: Path, output: Path) -> None:
    """Protobuf messages: one file a package."""
    for package, records in by_package(load(inputs, "protobuf")).items():
        dump(output / "protobuf" / f"{package}.json", records)


def write_resources(inputs: Path, output: Path) -> None:
    """Resources and the order in which discovery names groups and versions."""
    served, published = load(inputs, "resources"), load(inputs, "published-resources")
    on = served["resources"]
    off = {key: value for key, value in published["resources"].items() if key not in on}
    dump(
        output / "resources.json",
        {
            **{key: served[key] for key in ("groupOrder", "legacyGroups", "rootPaths")},
            "resources": on,
            "disabledByDefaultResources": off,
            "groupOrderAllVersionsEnabled": published["groupOrder"],
        },
    )


def operations_file(path: str) -> str:
    """File of an operation: one for each version, and ``root`` for what is above them."""
    match path.strip("/").split("/"):
        case ["api", version, *_]:
            return f"core.{version}"
        case ["apis", group, version, *_]:
            return f"{group}.{version}"
        case _:
            return "root"


def write_operations(inputs: Path, output: Path) -> None:
    """Operations by path: one file for each version, so that what is not asked for is not read."""
    groups: dict[str, Json] = defaultdict(dict)
    source = load(inputs, "published-operations") | load(inputs, "operations")
    for path in sorted(source):
        groups[operations_file(path)][path] = source[path]
    for name, records in groups.items():
        dump(output / "operations" / f"{name}.json", records)


def write_metrics(inputs: Path, output: Path) -> None:
    """Metrics that upstream lists, with what a server showed of them."""
    listed, seen = load(inputs, "published-metrics"), load(inputs, "metrics")
    dump(output / "metrics.json", metric_list.joined(listed, seen))


def write_rest(inputs: Path, output: Path) -> None:
    """Everything whose shape is already the shape that the server reads."""
    for name in (
        "tables",
        "field-selectors",
        "strategies",
        "registered",
        "parameters",
        "gostructs",
    ):
        dump(output / f"{name}.json", in_order(load(inputs, name)))
    for name in ("bootstrap", "aggregated-roles", "names", "behaviours", "flags"):
        dump(output / f"{name}.json", load(inputs, name))


STEPS: tuple[Callable[[Path, Path], None], ...] = (
    write_types,
    write_protobuf,
    write_resources,
    write_operations,
    write_metrics,
    write_rest,
)


def generate(inputs: Path, output: Path) -> Iterator[str]:
    """Write the data files; yields the name of each step when it is done.

    Args:
        inputs: folder with what ``facts.source``, ``facts.server`` and ``facts.help_text`` made.
        output: folder for the files, normally ``schemas``.

    Raises:
        FileNotFoundError: an input is not there.
    """
    for step in STEPS:
        step(inputs, output)
        yield step.__name__.removeprefix("write_")
