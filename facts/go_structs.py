"""Go structs of a pod template: names, types and order of their fields.

kube-controller-manager hashes a template as Go's spew prints it, which shows all of these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

API = "staging/src/k8s.io/api/core/v1"
META = "staging/src/k8s.io/apimachinery/pkg/apis/meta/v1"
ROOT = "v1.PodTemplateSpec"
STRUCT = re.compile(r"^type (\w+) struct \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"^type (\w+) ((?:\[\]|map\[|\w).*?)(?:\s*//.*)?$", re.MULTILINE)
FIELD = re.compile(r"^\t(?:(\w+)\s+)?([^\s`/]+)\s*`([^`]*)`", re.MULTILINE)
JSON = re.compile(r'json:"([^",]*)')
WORD = re.compile(r"[\w.]+")
BASIC = frozenset({"string", "bool", "int32", "int64", "uint8", "float64"})
# Types of other packages that print in a way of their own.
OPAQUE = frozenset({"v1.Time", "resource.Quantity", "intstr.IntOrString", "v1.FieldsV1"})
OTHERS = {"types.UID": "string"}
Struct = list[list[str]]
"""A row for each field: its Go name, its name in JSON (empty for an embedded struct whose members
are those of the outer one), and its Go type."""


def _qualified(go_type: str) -> str:
    """A type as Go's reflection names it; types of both packages are called ``v1``."""

    def named(match: re.Match[str]) -> str:
        word = match[0]
        if word == "byte":
            return "uint8"
        if word in BASIC or word == "map":
            return word
        package, dot, name = word.rpartition(".")
        return f"v1.{name}" if not dot or package == "metav1" else word

    return WORD.sub(named, go_type)


def _declared(folder: Path) -> dict[str, Struct | str]:
    """The types that the files of a package declare: structs, and what others are made of."""
    found: dict[str, Struct | str] = {}
    for path in sorted(folder.glob("*.go")):
        if path.name.endswith("_test.go"):
            continue
        text = path.read_text(encoding="utf-8")
        for name, go_type in NAMED.findall(text):
            if go_type.split()[0] not in ("struct", "interface", "func"):
                found.setdefault(f"v1.{name}", _qualified(go_type))
        for name, body in STRUCT.findall(text):
            rows = [_row(*field) for field in FIELD.findall(body)]
            if rows:
                found[f"v1.{name}"] = rows
    return found


def _row(name: str, go_type: str, tags: str) -> list[str]:
    full = _qualified(go_type)
    tag = JSON.search(tags)
    return [name or full.rpartition(".")[2], tag[1] if tag else name, full]


def pod_template(source: Path) -> Mapping[str, Struct | str]:
    """The types that a pod template is made of, by their names in Go.

    Args:
        source: root of a checkout of the release.

    Returns:
        Structs as rows of their fields, and of other named types what they are made of.

    Raises:
        ValueError: a type is declared nowhere.
    """
    declared: dict[str, Struct | str] = {**_declared(source / META), **_declared(source / API)}
    declared |= OTHERS
    found: dict[str, Struct | str] = {}
    open_ = [ROOT]
    while open_:
        name = open_.pop()
        if name in found or name in BASIC or name in OPAQUE or name == "map":
            continue
        if name not in declared:
            raise ValueError(f"{name} is not declared")
        made = found[name] = declared[name]
        types = [made] if isinstance(made, str) else [row[2] for row in made]
        open_.extend(word for go_type in types for word in WORD.findall(go_type))
    return dict(sorted(found.items()))
