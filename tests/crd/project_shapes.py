"""Definitions in the shapes of forty popular projects, and objects of them.

Only the shape is theirs: how deep, how large, which kinds of lists, unions, defaults, rules,
subresources and versions; names, texts and limits are not.  They are in ``project_shapes.jsonl``,
one on each line.  What embeds pods takes their types from the built-in kinds, as generators of
definitions do: ``{"$builtin": "PodSpec"}`` stands for a schema of some thousand places.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubetrio.schema import builtin

Json = dict[str, Any]

FILE = Path(__file__).with_suffix(".jsonl")
DEPTH = 8
"""Types inside of types of a built-in one; below, anything is let be."""
_OPEN: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_NUMBER_OR_TEXT: Json = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
_KEPT = frozenset({"type", "format", "required", "enum", "x-kubernetes-map-type"})
_CONDITION: Json = {
    "type": "object",
    "required": ["status", "type"],
    "properties": {
        "type": {"type": "string", "maxLength": 316},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "reason": {"type": "string", "maxLength": 1024},
        "message": {"type": "string", "maxLength": 32768},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
    },
}
_STATUS: Json = {
    "type": "object",
    "properties": {
        "conditions": {
            "type": "array",
            "items": _CONDITION,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        },
        "phase": {"type": "string"},
        "replicas": {"type": "integer"},
        "selector": {"type": "string"},
    },
}


def _of_builtin(schema: Mapping[str, Any], depth: int) -> Json:
    """A built-in type as a structural schema."""
    if (ref := schema.get("$ref")) is not None:
        return _of_builtin(builtin.type_schema(ref), depth - 1) if depth > 0 else dict(_OPEN)
    if "oneOf" in schema:
        return dict(_NUMBER_OR_TEXT)
    if not schema.get("type"):
        return {"x-kubernetes-preserve-unknown-fields": True}
    found: Json = {name: value for name, value in schema.items() if name in _KEPT}
    if "properties" in schema:
        found["properties"] = {
            name: _of_builtin(inner, depth) for name, inner in schema["properties"].items()
        }
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            found[name] = _of_builtin(schema[name], depth)
    return found


def _expanded(schema: Any) -> Any:
    """A schema with its built-in types."""
    if isinstance(schema, list):
        return [_expanded(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    name = schema.get("$builtin")
    if name is None:
        return {key: _expanded(inner) for key, inner in schema.items()}
    return _of_builtin({"$ref": f"io.k8s.api.core.v1.{name}"}, schema.get("depth", DEPTH))


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A definition in the shape of a project's.

    Args:
        kind: its kind, which names the shape.
        specs: by version, the schema of the spec, or the version that has the same; the first is
            stored.
        made: a spec that is valid in the first version.
        claimed: what a second manager applies: a part that the first one does not set.
        bad: specs that are refused in the first version.
        scale: where all versions have the replicas wanted, empty without a scale.
        cluster: whether its objects are in no namespace.
        status: whether all versions have a status subresource.
        columns: JSON paths of printer columns.
        selectable: JSON paths of fields that lists select by.
        loose: whether anything may be in the status.
    """

    kind: str
    specs: Mapping[str, Json | str]
    made: Json
    claimed: Json
    bad: Sequence[Json]
    scale: str = ""
    cluster: bool = False
    status: bool = True
    columns: Sequence[str] = ()
    selectable: Sequence[str] = ()
    loose: bool = False

    @property
    def group(self) -> str:
        """The API group."""
        return f"{self.kind.lower()}.shapes.example.com"

    @property
    def plural(self) -> str:
        """The name in paths."""
        return f"{self.kind.lower()}s"

    @property
    def stored(self) -> str:
        """The version in which objects are stored."""
        return next(iter(self.specs))

    def definition(self) -> Json:
        """The CustomResourceDefinition."""
        names = {
            "plural": self.plural,
            "kind": self.kind,
            "shortNames": [f"{self.kind.lower()}sh"],
            "categories": ["shapes"],
        }
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{self.plural}.{self.group}"},
            "spec": {
                "group": self.group,
                "scope": "Cluster" if self.cluster else "Namespaced",
                "names": names,
                "versions": [self._version(name) for name in self.specs],
            },
        }

    def _version(self, name: str) -> Json:
        spec = self.specs[name]
        schema = _expanded(self.specs[spec] if isinstance(spec, str) else spec)
        status = _OPEN if self.loose else _STATUS
        below: Json = {"status": {}} if self.status else {}
        if self.scale:
            below["scale"] = {
                "specReplicasPath": self.scale,
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            }
        whole = {"type": "object", "properties": {"spec": schema, "status": status}}
        found: Json = {
            "name": name,
            "served": True,
            "storage": name == self.stored,
            "schema": {"openAPIV3Schema": whole},
            "subresources": below,
            "additionalPrinterColumns": [
                {"name": f"Column{at}", "type": "string", "jsonPath": path}
                for at, path in enumerate(self.columns)
            ],
            "selectableFields": [{"jsonPath": path} for path in self.selectable],
        }
        return {member: value for member, value in found.items() if value not in ([], {})}

    def object(self, name: str, spec: Json | None = None, version: str = "") -> Json:
        """An object, by default one that is valid in the first version."""
        meta: Json = {"name": name} if self.cluster else {"name": name, "namespace": "default"}
        return {
            "apiVersion": f"{self.group}/{version or self.stored}",
            "kind": self.kind,
            "metadata": meta,
            "spec": deepcopy(self.made if spec is None else spec),
        }


def shapes() -> list[Shape]:
    """All of them."""
    return [Shape(**json.loads(line)) for line in FILE.read_text().splitlines()]


# ---------------------------------------------------------------- the page about them

PAGE = """\
# Definitions of projects

CustomResourceDefinitions in the shapes of {count} popular projects are installed and used in each \
run of the tests (`tests/crd/test_project_shapes.py`).
Among the projects are cert-manager, prometheus-operator, Istio, Gateway API, Argo, Flux, \
Crossplane, Rook, KEDA, Velero, Kyverno, Cilium, Calico and Karpenter.
The shape is theirs: depth, size, kinds of lists, unions, defaults, rules, subresources, versions.
Names, texts and limits are not.

Objects of each shape are created with strict validation, refused for what is wrong with them, \
applied by two managers, read and replaced in every version, shown as a table, and deleted.
They are scaled and given a status where the shape has that.
To check an object takes at most a hundredth of the [steps](limits.md#requests) that one may take.

What a definition is made of is in [compatibility](compatibility.md#extension).
The page is made by `python -m tests.crd.project_shapes`; a test compares it.

| shape | versions, the stored one first | scope | places in the schema | levels | rules in CEL \
| beside the object |
| --- | --- | --- | --- | --- | --- | --- |
"""


def _rows() -> Iterator[str]:
    for shape in shapes():
        version = shape.definition()["spec"]["versions"][0]
        schema = version["schema"]["openAPIV3Schema"]
        parts = list(_parts(schema, 1))
        rules = sum(len(part.get("x-kubernetes-validations", ())) for part, _ in parts)
        below = [f"`{name}`" for name in version.get("subresources", ())]
        below += ["columns"] if shape.columns else []
        below += ["selectable fields"] if shape.selectable else []
        cells = [
            shape.kind,
            ", ".join(f"`{name}`" for name in shape.specs),
            "cluster" if shape.cluster else "namespace",
            f"{len(parts):,}",
            str(max(level for _, level in parts)),
            str(rules),
            ", ".join(below),
        ]
        yield f"| {' | '.join(cells)} |\n"


def _parts(schema: Json, level: int) -> Iterator[tuple[Json, int]]:
    """A schema and all inside of it, with their levels."""
    yield schema, level
    inner = list(schema.get("properties", {}).values())
    inner += [schema[name] for name in ("items", "additionalProperties") if schema.get(name)]
    for one in inner:
        if isinstance(one, dict):
            yield from _parts(one, level + 1)


def page() -> str:
    """The page of the documentation."""
    return PAGE.format(count=len(shapes())) + "".join(_rows())


if __name__ == "__main__":
    (Path(__file__).parents[2] / "docs/reference/definitions.md").write_text(page())
