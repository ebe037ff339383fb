"""Type schemas of OpenAPI documents: which ones are needed, and how each version writes them.

``schemas/types`` and CustomResourceDefinitions hold OpenAPI v3 schemas whose ``$ref`` is a bare
type name.  A document wants them as a closed set with references into itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.schema import builtin
from kubetrio.schema.descriptions import Descriptions
from kubetrio.schema.steps import Steps
from kubetrio.schema.structural_scheme import INTERNAL

Json = dict[str, Any]

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
V2_PREFIX: Final = "#/definitions/"
V3_PREFIX: Final = "#/components/schemas/"
# What Swagger 2.0 has no word for; defaults are known to v2 but kube-apiserver leaves them out.
NOT_IN_V2: Final = frozenset({"allOf", "anyOf", "default", "not", "nullable", "oneOf"})
TYPES: Final = 8
"""Types that are looked at in a step."""
CONTENTS: Final = frozenset({"additionalProperties", "items", "properties"})
# Types that every group and version of kube-apiserver's scheme knows under its own name.
CROSS_REGISTERED: Final = ("DeleteOptions", "WatchEvent")
# Groups that client-go's scheme lacks: of reviews that servers send, and of other servers.
NOT_FOR_CLIENTS: Final = frozenset(
    {"admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io"}
)
# References that nothing is said about, neither words nor a default; others are wrapped in v3.
_SCHEMA_PROPS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
BARE_REFERENCES: Final[Mapping[str, frozenset[str]]] = {
    "io.k8s.api.networking.v1.IngressRule": frozenset({"http"}),
    _SCHEMA_PROPS: frozenset(
        {"additionalItems", "additionalProperties", "example", "externalDocs", "items", "not"}
    ),
}


def type_name(gvk: GroupVersionKind) -> str:
    """Name of the type of a kind; a custom kind is named after its group, the other way round."""
    known = builtin.type_name_of(gvk)
    if known:
        return known
    return ".".join([*reversed(gvk.group.split(".")), gvk.version, gvk.kind])


def gvk_object(gvk: GroupVersionKind) -> Json:
    """A kind as the ``x-kubernetes-group-version-kind`` extension writes it."""
    return {"group": gvk.group, "kind": gvk.kind, "version": gvk.version}


def closure_steps(roots: Iterable[str]) -> Steps[dict[str, Json]]:
    """The named types and all they refer to, with descriptions, sorted by name, in steps of a few.

    Args:
        roots: type names.

    Raises:
        KeyError: a name that ``schemas/types`` does not know.
    """
    definitions: dict[str, Json] = {}
    descriptions = Descriptions()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in definitions:
            continue
        definitions[name] = descriptions.add(name, builtin.type_schema(name))
        waiting.extend(_references(definitions[name]))
        if len(definitions) % TYPES == 0:
            yield
    return dict(sorted(definitions.items()))


def cross_registered(
    types: Mapping[str, Json], group_version: GroupVersion | None = None, *, custom: bool = False
) -> dict[str, Json]:
    """Types with the kinds that the shared ones among them are.

    Source: `filterScopedGVKs` of k8s.io/apiserver/pkg/server/routes.

    Args:
        types: types of a document, by name.
        group_version: the version a v3 document is about: it names that one and the core; None for
            all that there are.
        custom: whether it is that of custom resources: those name the groups that clients know.
    """
    keys = (key.split("/") for key in builtin.load("registered"))
    known = sorted({GroupVersion(*key[:2]) for key in keys if key[1] != INTERNAL})
    if custom:
        known = [item for item in known if item.group not in NOT_FOR_CLIENTS]
    elif group_version in known:
        known = [item for item in known if item in (group_version, GroupVersion("", "v1"))]
    result = dict(types)
    for kind in CROSS_REGISTERED:
        name = f"{META}{kind}"
        if name in result:
            kinds = [gvk_object(GroupVersionKind(*item, kind)) for item in known]
            result[name] = {**result[name], "x-kubernetes-group-version-kind": kinds}
    return result


def converted_steps(
    types: Mapping[str, Json], convert: Callable[[str, Mapping[str, Any]], Json]
) -> Steps[dict[str, Json]]:
    """Types as a version of OpenAPI writes them, in steps of a few.

    Args:
        types: types of a document, by name.
        convert: writes one of them, given its name too.
    """
    result: dict[str, Json] = {}
    for name, schema in types.items():
        result[name] = convert(name, schema)
        if len(result) % TYPES == 0:
            yield
    return result


def _references(schema: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        yield schema["$ref"]
    for child in _children(schema):
        yield from _references(child)


def _children(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Schemas directly inside a schema; names of properties are not keywords."""
    yield from schema.get("properties", {}).values()
    for keyword in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(keyword), dict):
            yield schema[keyword]
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(keyword, ())


def _with_children(schema: Mapping[str, Any], convert: Callable[[Mapping[str, Any]], Json]) -> Json:
    result = dict(schema)
    if "properties" in schema:
        result["properties"] = {
            name: convert(child) for name, child in schema["properties"].items()
        }
    for keyword in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(keyword), dict):
            result[keyword] = convert(schema[keyword])
    for keyword in ("allOf", "anyOf", "oneOf"):
        if keyword in schema:
            result[keyword] = [convert(child) for child in schema[keyword]]
    return result


def type_to_v3(name: str, schema: Mapping[str, Any]) -> Json:
    """A type for an OpenAPI v3 document."""
    return to_v3(schema, BARE_REFERENCES.get(name, frozenset()))


def to_v3(schema: Mapping[str, Any], bare: Collection[str] = ()) -> Json:
    """A schema for an OpenAPI v3 document.

    In v3 members beside a ``$ref`` have no effect, so a reference with a default is wrapped, and
    so is that of a property, beside which kube-apiserver has words.

    Args:
        schema: a schema whose ``$ref`` is a type name.
        bare: properties of it without a word.
    """
    result = _with_children(schema, to_v3)
    for name, child in result.get("properties", {}).items():
        if child.keys() == {"$ref"} and name not in bare:
            result["properties"][name] = {"allOf": [child]}
    if "$ref" not in result:
        return result
    reference = {"$ref": V3_PREFIX + result.pop("$ref")}
    return {**result, "allOf": [reference]} if result else reference


def type_to_v2(_name: str, schema: Mapping[str, Any]) -> Json:
    """A type for a Swagger 2.0 document."""
    return to_v2(schema)


def to_v2(schema: Mapping[str, Any]) -> Json:
    """A schema for a Swagger 2.0 document: the same with less.

    Unions become the text form that clients may always send; values that may be null or anything
    lose what describes their contents, because v2 readers would reject the rest.
    """
    result = _with_children(
        {key: value for key, value in schema.items() if key not in NOT_IN_V2}, to_v2
    )
    if {"type": "string"} in schema.get("oneOf", ()):
        result["type"] = "string"
    if schema.get("nullable"):
        result.pop("type", None)
    if schema.get("nullable") or schema.get("x-kubernetes-preserve-unknown-fields"):
        for keyword in CONTENTS & result.keys():
            del result[keyword]
    if "$ref" in result:
        result["$ref"] = V2_PREFIX + result["$ref"]
    return result
