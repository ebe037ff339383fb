"""OpenAPI v3 documents of a kube-apiserver -> types and operations, without a word of prose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from facts.documents import Json

REFERENCE = "#/components/schemas/"
METHODS = ("get", "post", "put", "patch", "delete", "options", "head")
GVK = "x-kubernetes-group-version-kind"


def bare(schema: Json) -> Json:
    """A schema without descriptions, its references by type name.

    ``allOf`` with one member, which documents use to put a default beside a reference, is folded.
    """
    result: Json = {}
    for key, value in schema.items():
        match key:
            case "description":
                continue
            case "$ref":
                result[key] = value.removeprefix(REFERENCE)
            case "properties":
                result[key] = {name: bare(member) for name, member in value.items()}
            case "items" | "additionalProperties" if isinstance(value, dict):
                result[key] = bare(value)
            case "allOf" if len(value) == 1:
                result |= bare(value[0])
            case "allOf" | "anyOf" | "oneOf":
                result[key] = [bare(member) for member in value]
            case _:
                result[key] = value
    if "$ref" in result:  # named first, whatever stands beside it
        result = {"$ref": result.pop("$ref"), **result}
    return result


def types(documents: Iterable[Json]) -> dict[str, Json]:
    """Types of all documents by full name, such as ``io.k8s.api.core.v1.Pod``.

    Patch keys (``x-kubernetes-patch-*``) and list types (``x-kubernetes-list-*``) stay with them.
    """
    found: dict[str, Json] = {}
    for document in documents:
        for name, schema in document.get("components", {}).get("schemas", {}).items():
            found[name] = _united(found.get(name, {}), bare(schema))
    return found


def _united(before: Json, schema: Json) -> Json:
    """A type that several documents show, each with its own kinds (``DeleteOptions``)."""
    if GVK in before and GVK in schema:
        kinds = [*before[GVK], *(kind for kind in schema[GVK] if kind not in before[GVK])]
        schema = schema | {
            GVK: sorted(kinds, key=lambda kind: (kind["group"], kind["version"], kind["kind"]))
        }
    return schema


def _parameter_names(*lists: Iterable[Json]) -> list[str]:
    return sorted(parameter["name"] for parameters in lists for parameter in parameters)


def _operation(shared: Iterable[Json], operation: Json) -> Json:
    gvk = operation.get(GVK, {})
    row: Json = {"id": operation["operationId"]}
    if "x-kubernetes-action" in operation:
        row["action"] = operation["x-kubernetes-action"]
    row["gvk"] = "/".join(gvk.get(key, "") for key in ("group", "version", "kind"))
    row["codes"] = sorted(operation["responses"])
    if params := _parameter_names(shared, operation.get("parameters", ())):
        row["params"] = params
    if accepts := sorted(operation.get("requestBody", {}).get("content", {})):
        row["accepts"] = accepts
    return row


def operations(documents: Iterable[Json]) -> dict[str, Json]:
    """Operations by path and method: id, action, kind, status codes, parameters, media types."""
    found: dict[str, Json] = {}
    for document in documents:
        for path, item in document.get("paths", {}).items():
            shared = item.get("parameters", ())
            found[path] = {
                method: _operation(shared, item[method]) for method in METHODS if method in item
            }
    return found


def shared_parameters(document: Json) -> dict[str, str]:
    """Names under which an OpenAPI v2 document shares parameters.

    They end in a hash of the parameter with its description, which cannot be made from facts.
    A parameter with one such name is keyed ``name in``.  Of several, the one that most kinds
    use has that key; others are keyed by the subresource or by the action that uses them.
    """
    places: dict[str, set[tuple[str, str]]] = {}
    for path, item in document["paths"].items():
        for used in item.get("parameters", ()):
            _use(places, used, _subresource(path), "")
        for method in METHODS:
            operation: Mapping[str, Any] = item.get(method, {})
            for used in operation.get("parameters", ()):
                action = operation.get("x-kubernetes-action", "")
                _use(places, used, _subresource(path), action)
    names: dict[str, list[str]] = {}
    for name, parameter in document["parameters"].items():
        if parameter["in"] != "body":
            names.setdefault(f"{parameter['name']} {parameter['in']}", []).append(name)
    found: dict[str, str] = {}
    for key, candidates in names.items():
        if len(candidates) == 1:
            found[key] = candidates[0]
            continue
        for name in candidates:
            found[f"{key} {_qualifier(places.get(name, set()))}".rstrip()] = name
    return dict(sorted(found.items()))


def _use(places: dict[str, set[tuple[str, str]]], used: Json, place: str, action: str) -> None:
    if reference := used.get("$ref"):
        places.setdefault(reference.rpartition("/")[2], set()).add((place, action))


def _qualifier(places: set[tuple[str, str]]) -> str:
    """What tells one use of a parameter from others: one subresource, one action, or nothing."""
    for position in (0, 1):
        values = {place[position] for place in places}
        if len(values) == 1 and (only := values.pop()):
            return only
    return ""


def _subresource(path: str) -> str:
    """``pods/log`` of the path of a subresource; empty for other paths."""
    before, found, after = path.partition("/{name}/")
    return f"{before.rpartition('/')[2]}/{after.split('/')[0]}" if found else ""
