"""``generated.proto`` files and the Go types beside them -> numbers of protobuf fields."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from facts import struct_tags
from facts.documents import Json

ROOTS = (
    "staging/src/k8s.io/api",
    "staging/src/k8s.io/apimachinery/pkg",
    "staging/src/k8s.io/apiextensions-apiserver/pkg/apis",
    "staging/src/k8s.io/kube-aggregator/pkg/apis",
)
LEFT_OUT = re.compile(
    r"\.imagepolicy\.|\.testapigroup\.|\.(apiextensions|apiregistration)\.v1beta1$"
)
"""Packages whose objects no client sends: reviews of images, tests, versions no longer served."""

COMMENT = re.compile(r"//[^\n]*")
PACKAGE = re.compile(r"^package ([\w.]+);", re.MULTILINE)
MESSAGE = re.compile(r"^message (\w+) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(
    r"^\s*(?:(optional|repeated) ([\w.]+)|map<(\w+), ([\w.]+)>) (\w+) = (\d+)", re.MULTILINE
)
SCALARS = frozenset({"string", "bytes", "bool", "int32", "int64", "double", "float", "uint32"})


def _full_name(name: str, package: str) -> str:
    if name in SCALARS or name.startswith("."):
        return name.lstrip(".")
    return name if "." in name else f"{package}.{name}"


def _rows(package: str, body: str, tags: dict[int, struct_tags.Field]) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for label, plain, key, value, name, digits in FIELD.findall(body):
        number = int(digits)
        if key:
            kind, short = f"map<{key},{_full_name(value, package)}>", "map"
        else:
            kind, short = _full_name(plain, package), label[:3]
        row = [number, name, kind, short]
        field = tags.get(number)
        if field is None:
            row.append("?")
        else:
            row.append(field.flags(repeated=short != "opt"))
            if field.json_name != name:
                row.append(field.json_name)
        rows.append(row)
    return rows


def messages(proto: str, sources: struct_tags.Package) -> dict[str, Json]:
    """Messages of one file by full name.

    Args:
        proto: text of ``generated.proto``.
        sources: the Go types of the same folder.

    Returns:
        Rows ``[number, name, type, label, flags, JSON name if it is another]``.  A message that
        stands for a named slice also says so.

    Raises:
        ValueError: the file names no package.
    """
    text = COMMENT.sub("", proto)
    package = PACKAGE.search(text)
    if package is None:
        raise ValueError("no package in generated.proto")
    found: dict[str, Json] = {}
    for name, body in MESSAGE.findall(text):
        entry: Json = {}
        if name in sources.slices:
            entry = {"slice": 1, "goType": sources.slices[name]}
        entry["fields"] = _rows(package[1], body, sources.structs.get(name, {}))
        found[f"{package[1]}.{name}"] = entry
    return found


def all_messages(source: Path) -> dict[str, Json]:
    """Messages of every API package of a Kubernetes tree, sorted by name."""
    found: dict[str, Json] = {}
    for root in ROOTS:
        for path in sorted((source / root).rglob("generated.proto")):
            files = sorted(path.parent.glob("*.go"))
            sources = struct_tags.package(file.read_text(encoding="utf-8") for file in files)
            found |= messages(path.read_text(encoding="utf-8"), sources)
    kept = (name for name in sorted(found) if not LEFT_OUT.search(name.rpartition(".")[0]))
    return {name: found[name] for name in kept}
