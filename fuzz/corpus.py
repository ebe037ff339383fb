"""What mutations begin with: objects of every built-in kind, and the values met in their fields.

The objects are those of the tests: manifests, samples of defaults and printers, cases of
validation.  A value is remembered by the type and the field it stands in, so that it can be put
into another object in the same place.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.schema import builtin
from kubetrio.schema.kind import Kind, Subresource

Object = dict[str, Any]
Schema = dict[str, Any]

TESTS = Path(__file__).resolve().parent.parent / "tests"
MORE = Path(__file__).resolve().parent / "bases.yaml"
DEFINITIONS = Path(__file__).resolve().parent / "custom.yaml"
AREAS = Path(__file__).resolve().parent / "areas.yaml"
POLICIES = Path(__file__).resolve().parent / "policies.yaml"
CUSTOM = Path(__file__).resolve().parent / "custom_objects.yaml"
METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
VERBS = frozenset(
    {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
)
VALUES = 40  # of one field: enough to choose from


@dataclass(frozen=True, kw_only=True, eq=False)
class Custom:
    """A custom resource in one version, with what sequences of requests ask of a kind."""

    group: str
    version: str
    resource: str
    kind: str
    namespaced: bool
    subresources: Mapping[str, Subresource]
    schema: Schema
    verbs: frozenset[str] = VERBS

    @property
    def api_version(self) -> str:
        """Group and version."""
        return f"{self.group}/{self.version}"


def customs(definition: Object) -> Iterator[Custom]:
    """The resources that a definition has served."""
    spec = definition["spec"]
    for version in spec["versions"]:
        if not version["served"]:
            continue
        schema = copy.deepcopy(version["schema"]["openAPIV3Schema"])
        schema.setdefault("properties", {})["metadata"] = {"$ref": METADATA}
        identity = GroupVersionKind(spec["group"], version["name"], spec["names"]["kind"])
        yield Custom(
            group=spec["group"],
            version=version["name"],
            resource=spec["names"]["plural"],
            kind=spec["names"]["kind"],
            namespaced=spec["scope"] == "Namespaced",
            schema=schema,
            subresources={
                name: Subresource(
                    name=name, kind=identity, verbs=frozenset({"get", "update", "patch"})
                )
                for name in version.get("subresources", {})
            },
        )


def root(resource: Kind | Custom) -> Schema:
    """The schema of a resource's objects."""
    return resource.schema if isinstance(resource, Custom) else {"$ref": resource.schema_name}


@dataclass(kw_only=True)
class Corpus:
    """Objects and values.

    Args:
        manifests: objects that go together, in the order in which they can be made.
        bases: objects by the resource they are of.
        definitions: definitions of custom resources.
        custom: objects by the custom resource they are of.
        values: by type and field, as they were met.
        words: values of strings by the name of their field.
    """

    manifests: list[tuple[Kind, Object]] = field(default_factory=list)
    bases: dict[Kind, list[Object]] = field(default_factory=dict)
    definitions: list[Object] = field(default_factory=list)
    custom: dict[Custom, list[Object]] = field(default_factory=dict)
    values: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=dict)


def resolved(schema: Schema) -> tuple[str, Schema]:
    """The name of the type a schema refers to, or empty, and what it says."""
    reference = schema.get("$ref", "")
    for part in schema.get("allOf", ()):
        reference = reference or part.get("$ref", "")
    return (reference, builtin.type_schema(reference)) if reference else ("", schema)


def member(schema: Schema, name: str) -> Schema | None:
    """The schema of a member of an object, declared or not; None when it may not be there."""
    found: Any = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
    return found if isinstance(found, dict) else None


@cache
def corpus() -> Corpus:
    """Everything there is, read once."""
    out = Corpus()
    kinds = {(r.api_version, r.kind): r for r in registry().resources.values()}
    for made in _manifests():
        resource = kinds.get((made.get("apiVersion", ""), made.get("kind", "")))
        if resource is not None:
            out.manifests.append((resource, made))
    for each in (*(made for _, made in out.manifests), *_more(), *samples()):
        resource = kinds.get((each.get("apiVersion", ""), each.get("kind", "")))
        if resource is None or not isinstance(each.get("metadata"), dict):
            continue
        out.bases.setdefault(resource, []).append(each)
        _remember(out, each, {"$ref": resource.schema_name})
    _add_custom(out)
    return out


def _add_custom(out: Corpus) -> None:
    out.definitions = list(_documents(DEFINITIONS))
    made = [each for definition in out.definitions for each in customs(definition)]
    for each in _documents(CUSTOM):
        (resource,) = (
            r for r in made if (r.api_version, r.kind) == (each["apiVersion"], each["kind"])
        )
        out.custom.setdefault(resource, []).append(each)
        _remember(out, each, resource.schema)


def _manifests() -> Iterator[Object]:
    for path in sorted((TESTS / "e2e" / "manifests").glob("*.yaml")):
        yield from _documents(path)


def _more() -> Iterator[Object]:
    yield from _documents(MORE)
    yield from _documents(AREAS)
    yield from bound_policies()


@cache
def bound_policies() -> list[Object]:
    """Admission policies that are bound and put to use."""
    return list(_documents(POLICIES))


def _documents(path: Path) -> Iterator[Object]:
    # Through JSON: times are to be the text that they are written as.
    for each in yaml.load_all(path.read_text(), _Loader):
        if each:
            yield from each["items"] if each["kind"] == "List" else [each]


class _Loader(yaml.SafeLoader):
    """Reads times as text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rows if not tag.endswith(":timestamp")]
    for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def samples() -> Iterator[Object]:
    """Yield every API object that the tests of kinds have."""
    for path in sorted((TESTS / "kinds" / "checks" / "cases").rglob("*.json")):
        yield from _objects(json.loads(path.read_text()))
    for room in ("kinds/printers", "kinds/defaults"):
        yield from _objects(json.loads((TESTS / room / "samples.json").read_text()))


def _objects(value: Any) -> Iterator[Object]:
    """Every API object in a JSON value, wherever it is."""
    if isinstance(value, dict):
        if isinstance(value.get("kind"), str) and isinstance(value.get("apiVersion"), str):
            yield value
            return
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _objects(each)


def _remember(out: Corpus, value: Any, schema: Schema) -> None:
    name, schema = resolved(schema)
    if isinstance(value, dict):
        for key, inner in value.items():
            below = member(schema, key)
            if below is None:
                continue
            _keep(out.values.setdefault((name, key), []), inner)
            if isinstance(inner, str):
                _keep(out.words.setdefault(key, []), inner)
            _remember(out, inner, below)
    elif isinstance(value, list):
        for each in value:
            _remember(out, each, schema.get("items", {}))


def _keep(values: list[Any], value: Any) -> None:
    if len(values) < VALUES and value not in values:
        values.append(value)


def leaves_and_parts(value: Any, schema: Schema) -> Iterable[tuple[Any, Any, str, Schema]]:
    """Every place in a value: its container, its key there, the type around, its schema."""
    name, schema = resolved(schema)
    if isinstance(value, dict):
        for key, inner in value.items():
            below = member(schema, key) or {}
            yield value, key, name, below
            yield from leaves_and_parts(inner, below)
    elif isinstance(value, list):
        below = schema.get("items") or {}
        for index, inner in enumerate(value):
            yield value, index, name, below
            yield from leaves_and_parts(inner, below)
