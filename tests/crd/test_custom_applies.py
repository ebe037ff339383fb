"""Applying custom resources: nulls, what gets empty, members that no schema declares."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from kubetrio.client.client import Client
from kubetrio.config import Config, Serving
from kubetrio.machinery.status import ApiError
from kubetrio.server import open_server

Object = dict[str, Any]
GROUP = "applies.example.com"
SPEC: Object = {
    "type": "object",
    "properties": {
        "plain": {"type": "object"},
        "nullable": {"type": "string", "nullable": True},
        "health": {"type": "object", "properties": {"heal": {"type": "boolean"}}},
        "sort": {"type": "object", "properties": {"q": {"type": "string", "default": "w"}}},
        "when": {"type": "string", "format": "date-time"},
        "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "keeps": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"q": {"type": "object", "properties": {"a": {"type": "string"}}}},
        },
        "inside": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
}
DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"beasts.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "beasts", "kind": "Beast"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC}}},
            }
        ],
    },
}


def beast(spec: Object | None) -> Object:
    meta = {"name": "b", "namespace": "default"}
    obj: Object = {"apiVersion": f"{GROUP}/v1", "kind": "Beast", "metadata": meta}
    return obj if spec is None else {**obj, "spec": spec}


def owned(obj: Object) -> Object:
    """What each manager owns of the spec."""
    entries = obj["metadata"].get("managedFields", ())
    return {entry["manager"]: entry["fieldsV1"].get("f:spec") for entry in entries}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server that serves the definition."""
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=0))
    async with open_server(config) as server:
        client = server.client()
        await client.create(DEFINITION)
        with trio.fail_after(10):
            while True:
                try:
                    await client.list(client.kind(f"{GROUP}/v1", "Beast"))
                    break
                except (ApiError, LookupError):
                    await trio.sleep(0.01)
        yield client


async def test_null_is_refused_where_it_is_not_allowed(client: Client) -> None:
    """An apply is checked as it is merged; a create drops such nulls as it is decoded."""
    with pytest.raises(ApiError) as caught:
        await client.apply(beast({"plain": None}), field_manager="m")
    assert caught.value.code == 422
    assert 'spec.plain in body must be of type object: "null"' in caught.value.message
    assert (await client.create(beast({"plain": None})))["spec"] == {}


async def test_null_is_kept_where_it_is_allowed(client: Client) -> None:
    """And owned."""
    made = await client.apply(beast({"nullable": None}), field_manager="m")
    assert made["spec"] == {"nullable": None}
    assert owned(made) == {"m": {"f:nullable": {}}}


@pytest.mark.parametrize(
    ("first", "second", "spec"),
    [
        ({"health": {"heal": True}}, {"health": {}}, {"health": {}}),
        ({"health": {"heal": True}}, {}, {}),
        ({"sort": {"q": "e"}}, {"sort": {}}, {"sort": {"q": "w"}}),
    ],
)
async def test_what_gets_empty_stays(
    client: Client, first: Object, second: Object, spec: Object
) -> None:
    """And is filled with its defaults."""
    await client.apply(beast(first), field_manager="m")
    assert (await client.apply(beast(second), field_manager="m"))["spec"] == spec


async def test_a_part_of_empty_lists_is_nobodys(client: Client) -> None:
    """So an apply of nothing else leaves no entry."""
    made = await client.apply(beast({"set": []}), field_manager="m")
    assert made["spec"] == {"set": []}
    assert owned(made) == {}


async def test_unknown_members_below_what_keeps_them_are_owned_and_dropped(client: Client) -> None:
    """They are declared nowhere, and yet may be applied; what is stored is what pruning leaves."""
    made = await client.apply(beast({"keeps": {"q": {"unknown": 1}}}), field_manager="m")
    assert made["spec"] == {"keeps": {"q": {}}}
    assert owned(made) == {"m": {"f:keeps": {"f:q": {"f:unknown": {}}}}}
    assert (await client.get(client.kind(f"{GROUP}/v1", "Beast"), "b", "default")) == made


async def test_other_unknown_members_are_refused(client: Client) -> None:
    """As before."""
    with pytest.raises(ApiError, match=r"\.spec\.zz: field not declared in schema"):
        await client.apply(beast({"zz": 1}), field_manager="m")


async def test_owners_of_objects_inside_are_checked(client: Client) -> None:
    """As those of any object."""
    entry = {"operation": "x", "fieldsType": "y", "manager": "m" * 129}
    inside = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x", "managedFields": [entry]}}
    with pytest.raises(ApiError) as caught:
        await client.create(beast({"inside": inside}))
    where = "spec.inside.metadata.managedFields[0]"
    for text in (
        f'{where}.operation: Invalid value: "x": must be `Apply` or `Update`',
        f'{where}.fieldsType: Invalid value: "y": must be `FieldsV1`',
        f"{where}.manager: Too long: may not be more than 128 bytes",
    ):
        assert text in caught.value.message


async def test_a_value_that_does_not_fit_its_type_has_no_owners(client: Client) -> None:
    """A list passes for a text with a format; nobody can apply to such an object."""
    made = await client.create(beast({"when": []}))
    assert made["spec"] == {"when": []}
    assert owned(made) == {}
    with pytest.raises(ApiError) as caught:
        await client.apply(beast({"sort": {}}), field_manager="m")
    assert caught.value.code == 500
    assert caught.value.message == (
        "failed to create manager for existing fields: failed to convert new object "
        f"(default/b; {GROUP}/v1, Kind=Beast) to smd typed: "
        ".spec.when: expected any scalar, got &{[]}"
    )


async def test_a_schema_that_changed_under_objects(client: Client) -> None:
    """What it does not know any more is lost; a changed type ends ownership, and applies."""
    spec = {"sort": {"q": "1"}, "health": {"heal": True}, "set": ["a"]}
    await client.create(beast(spec), field_manager="m")
    kind = client.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    definition = await client.get(kind, DEFINITION["metadata"]["name"])
    properties = {"sort": {"type": "object", "properties": {"q": {"type": "integer"}}}}
    properties["set"] = SPEC["properties"]["set"]
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"] = properties
    await client.update(definition)
    with trio.fail_after(10):
        while True:
            found = await client.get(client.kind(f"{GROUP}/v1", "Beast"), "b", "default")
            if "health" not in found["spec"]:
                break
            await trio.sleep(0.01)
    with pytest.raises(ApiError) as caught:
        await client.apply(beast({"set": ["a"]}), field_manager="m")
    assert caught.value.message == (
        f"failed to create typed live object (default/b; {GROUP}/v1, Kind=Beast): "
        ".spec.sort.q: expected numeric (int or float), got string"
    )
    found["spec"]["set"] = ["b"]
    found["spec"]["sort"]["q"] = 1
    changed = await client.update(found)
    assert changed["spec"] == {"sort": {"q": 1}, "set": ["b"]}
    assert owned(changed) == {}
