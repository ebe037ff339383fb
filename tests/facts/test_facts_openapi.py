"""Types, operations and parameters of OpenAPI documents."""

from typing import Any

from facts.openapi import bare, operations, shared_parameters, types

POD = "io.k8s.api.core.v1.Pod"
KIND = "x-kubernetes-group-version-kind"


def document(schemas: dict[str, Any]) -> dict[str, Any]:
    return {"components": {"schemas": schemas}}


def test_no_words_are_kept() -> None:
    """A description is dropped; a field that is called so is not."""
    schema = {"description": "Words.", "properties": {"description": {"type": "string"}}}
    assert bare(schema) == {"properties": {"description": {"type": "string"}}}


def test_references_are_names() -> None:
    """Also those that are wrapped to carry a default, in items and in values of maps."""
    reference = {"$ref": f"#/components/schemas/{POD}"}
    assert bare({"default": {}, "allOf": [reference]}) == {"$ref": POD, "default": {}}
    assert bare({"items": reference, "additionalProperties": reference}) == {
        "items": {"$ref": POD},
        "additionalProperties": {"$ref": POD},
    }


def test_patch_keys_and_list_types_stay() -> None:
    """They are what merging goes by."""
    field = {
        "type": "array",
        "x-kubernetes-patch-merge-key": "name",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    assert types([document({POD: {"properties": {"containers": field}}})])[POD] == {
        "properties": {"containers": field}
    }


def test_a_type_of_many_groups_has_all_its_kinds() -> None:
    """Each document shows DeleteOptions with its own group."""
    kinds = [{"group": group, "version": "v1", "kind": "DeleteOptions"} for group in ("b", "", "a")]
    found = types(
        [document({"DeleteOptions": {KIND: [kinds[1], kind]}}) for kind in (kinds[0], kinds[2])]
    )
    assert found["DeleteOptions"][KIND] == [kinds[1], kinds[2], kinds[0]]


def test_an_operation_is_a_row() -> None:
    """Parameters of the path count; names, codes and media types are sorted."""
    item = {
        "parameters": [{"name": "pretty", "in": "query"}],
        "patch": {
            "operationId": "patchPod",
            "x-kubernetes-action": "patch",
            KIND: {"group": "", "version": "v1", "kind": "Pod"},
            "parameters": [{"name": "dryRun", "in": "query"}],
            "requestBody": {"content": {"b/c": {}, "a/b": {}}},
            "responses": {"401": {}, "200": {}},
        },
    }
    assert operations([{"paths": {"/x": item}}]) == {
        "/x": {
            "patch": {
                "id": "patchPod",
                "action": "patch",
                "gvk": "/v1/Pod",
                "codes": ["200", "401"],
                "params": ["dryRun", "pretty"],
                "accepts": ["a/b", "b/c"],
            }
        }
    }


def test_an_operation_about_no_kind() -> None:
    """Discovery has no action, parameters or body."""
    get = {"operationId": "getAPIVersions", "responses": {"200": {}}}
    assert operations([{"paths": {"/apis/": {"get": get}}}])["/apis/"]["get"] == {
        "id": "getAPIVersions",
        "gvk": "//",
        "codes": ["200"],
    }


def v2(parameters: dict[str, Any], uses: dict[str, Any]) -> dict[str, Any]:
    paths = {
        path: {"get": {"parameters": [{"$ref": f"#/parameters/{name}"} for name in names]}}
        for path, names in uses.items()
    }
    return {"parameters": parameters, "paths": paths}


def test_a_shared_parameter_is_named_by_where_it_is() -> None:
    """And the body, which is not a parameter in OpenAPI v3, is left out."""
    limit, body = {"name": "limit", "in": "query"}, {"name": "body", "in": "body"}
    assert shared_parameters(v2({"limit-1": limit, "body-1": body}, {})) == {
        "limit query": "limit-1"
    }


def test_parameters_of_the_same_name_are_told_apart() -> None:
    """By the subresource that uses them, or by the action; the common one has the plain name."""
    container = {"name": "container", "in": "query"}
    made = v2(
        {"container-1": container, "container-2": container},
        {"/pods/{name}/log": ["container-1"], "/pods/{name}/exec": ["container-2"]},
    )
    assert shared_parameters(made) == {
        "container query pods/exec": "container-2",
        "container query pods/log": "container-1",
    }
    manager = {"name": "fieldManager", "in": "query"}
    made = v2({"m-1": manager, "m-2": manager}, {"/pods": ["m-1"], "/pods/{name}": ["m-2"]})
    made["paths"]["/pods"]["get"]["x-kubernetes-action"] = "patch"
    made["paths"]["/nodes"] = {"post": made["paths"]["/pods/{name}"]["get"] | {}}
    made["paths"]["/nodes"]["post"]["x-kubernetes-action"] = "post"
    made["paths"]["/secrets"] = {
        "put": {"x-kubernetes-action": "put", "parameters": [{"$ref": "#/parameters/m-2"}]}
    }
    assert shared_parameters(made) == {
        "fieldManager query": "m-2",
        "fieldManager query patch": "m-1",
    }
