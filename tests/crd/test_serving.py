"""Custom resources whose versions have schemas of their own: each request follows its version.

What a kube-apiserver 1.36 answers: it has a storage for each version, and converts and prunes an
object for what is stored when nothing can refuse it any more.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kubetrio.client.client import Client
from kubetrio.config import Config, Serving
from kubetrio.machinery.status import ApiError
from kubetrio.server import open_server

Object = dict[str, Any]
GROUP = "boats.example.com"
TEXT: Object = {"type": "string"}
NUMBER: Object = {"type": "integer"}


def members(**properties: Object) -> Object:
    """A schema of an object."""
    return {"type": "object", "properties": properties}


SCHEMAS: dict[str, Object] = {
    "v1": members(
        name={**TEXT, "maxLength": 5},
        flag={**TEXT, "default": "red"},
        crew=NUMBER,
        cargo={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    ),
    "v2": {
        **members(
            name=TEXT,
            masts={**NUMBER, "default": 1},
            sails=NUMBER,
            crew=TEXT,
            cargo={
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
                "x-kubernetes-embedded-resource": True,
            },
        ),
        "required": ["sails"],
        "x-kubernetes-validations": [
            {"rule": "self.sails >= self.masts", "message": "a mast needs a sail"}
        ],
    },
}
SCHEMAS["v3"] = SCHEMAS["v1"]
SCHEMAS["v4"] = members(name=TEXT, keel={**TEXT, "default": "deep"})


def version(name: str, *, storage: bool = False, **more: Any) -> Object:
    """A version of the definition."""
    status = members(place=TEXT)
    schema = members(spec=SCHEMAS[name], status=status)
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        **more,
    }


def boat(api: str, name: str, spec: Object, **more: Any) -> Object:
    """An object in a version."""
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": f"{GROUP}/{api}", "kind": "Boat", "metadata": meta, "spec": spec, **more}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server with boats: v1 is stored and alone has a status subresource."""
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=0))
    async with open_server(config) as server:
        client = server.client()
        await client.create(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": f"boats.{GROUP}"},
                "spec": {
                    "group": GROUP,
                    "scope": "Namespaced",
                    "names": {"plural": "boats", "kind": "Boat"},
                    "versions": [
                        version("v1", storage=True, subresources={"status": {}}),
                        version("v2"),
                        version("v3"),
                        version("v4"),
                    ],
                },
            }
        )
        await server.settled()
        yield client


async def get(client: Client, api: str, name: str = "a") -> Object:
    """A boat in a version."""
    return await client.get(client.kind(f"{GROUP}/{api}", "Boat"), name, namespace="default")


async def patch(client: Client, api: str, body: Object, **more: Any) -> Object:
    """The boat "a", patched in a version."""
    kind = client.kind(f"{GROUP}/{api}", "Boat")
    return await client.patch(kind, "a", body, namespace="default", **more)


async def test_a_field_that_the_stored_version_lacks_may_be_required(client: Client) -> None:
    """It is checked and defaulted by the version of the request; what is stored lacks it."""
    made = await client.create(boat("v2", "a", {"name": "x", "sails": 2}))
    assert made["spec"] == {"name": "x"}
    assert (await get(client, "v1"))["spec"] == {"name": "x", "flag": "red"}
    with pytest.raises(ApiError, match=r"spec\.sails: Required value"):
        await client.create(boat("v2", "b", {"name": "x"}))


async def test_limits_are_those_of_the_request(client: Client) -> None:
    """A text that is too long for the stored version is stored by another one."""
    made = await client.create(boat("v2", "a", {"name": "long enough", "sails": 2}))
    assert made["spec"]["name"] == "long enough"
    with pytest.raises(ApiError, match="Too long"):
        await client.create(boat("v1", "b", {"name": "long enough"}))
    # What is too long stays as long as it is not touched.
    assert (await patch(client, "v1", {"spec": {"flag": "blue"}}))["spec"]["flag"] == "blue"
    with pytest.raises(ApiError, match="Too long"):
        await patch(client, "v1", {"spec": {"name": "another long one"}})


async def test_types_are_those_of_the_request(client: Client) -> None:
    """The same member may be a number in one version and a text in another."""
    await client.create(boat("v1", "a", {"crew": 4}))
    with pytest.raises(ApiError, match=r"spec\.crew in body must be of type integer"):
        await patch(client, "v1", {"spec": {"crew": "four"}})
    changed = await patch(client, "v2", {"spec": {"crew": "four", "sails": 2}})
    assert changed["spec"]["crew"] == "four"


async def test_rules_are_those_of_the_request(client: Client) -> None:
    """Defaults of the version are filled in before they are looked at."""
    with pytest.raises(ApiError, match="a mast needs a sail"):
        await client.create(boat("v2", "a", {"sails": 0}))
    await client.create(boat("v1", "a", {}))
    with pytest.raises(ApiError, match="a mast needs a sail"):
        await patch(client, "v2", {"spec": {"sails": 1, "masts": 3}})


async def test_subresources_are_those_of_the_request(client: Client) -> None:
    """In v2 a status is a part of the object; in v1 it is written by its subresource alone."""
    made = await client.create(boat("v2", "a", {"sails": 2}, status={"place": "port"}))
    assert (made["status"], made["metadata"]["generation"]) == ({"place": "port"}, 1)
    put = await patch(client, "v2", {"spec": {"sails": 2}, "status": {"place": "sea"}})
    assert (put["status"], put["metadata"]["generation"]) == ({"place": "sea"}, 2)
    put = await patch(client, "v1", {"status": {"place": "port"}})
    assert (put["status"], put["metadata"]["generation"]) == ({"place": "sea"}, 2)
    below = await patch(client, "v1", {"status": {"place": "port"}}, subresource="status")
    assert (below["status"], below["metadata"]["generation"]) == ({"place": "port"}, 2)
    with pytest.raises(ApiError) as caught:
        await patch(client, "v2", {"status": {"place": "sea"}}, subresource="status")
    assert caught.value.code == 404
    made = await client.create(boat("v1", "b", {}, status={"place": "port"}))
    assert "status" not in made


async def test_an_owner_in_a_version_without_status_loses_what_is_sent_in_another(
    client: Client,
) -> None:
    """Fields that a version may not set are known of that version alone."""
    body = boat("v3", "a", {"crew": 2}, status={"place": "port"})
    made = await client.create(body, field_manager="one")
    [entry] = made["metadata"]["managedFields"]
    assert entry["fieldsV1"]["f:status"] == {".": {}, "f:place": {}}
    put = await patch(client, "v1", {"status": {"place": "sea"}}, field_manager="one")
    assert put["status"] == {"place": "port"}
    [entry] = put["metadata"]["managedFields"]
    assert entry["fieldsV1"]["f:status"] == {}
    assert put["metadata"]["resourceVersion"] > made["metadata"]["resourceVersion"]


async def test_what_only_the_request_has_counts_as_a_change_of_generation(client: Client) -> None:
    """Though nothing of it is stored."""
    await client.create(boat("v2", "a", {"sails": 2}))
    assert (await patch(client, "v2", {"spec": {"sails": 3}}))["metadata"]["generation"] == 2


async def test_a_write_that_changes_nothing_stored_is_none(client: Client) -> None:
    """The resourceVersion stays, whichever version wrote it."""
    made = await client.create(boat("v1", "a", {"name": "x"}), field_manager="one")
    got = await get(client, "v1")
    put = await client.update(got, field_manager="one")
    assert put["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_metadata_inside_that_cannot_be_read_in_a_version(client: Client) -> None:
    """Reads of that version fail before they answer, those of the other do not."""
    inside = {"apiVersion": "v1", "kind": "Box", "metadata": {"labels": {"a": 1}}}
    await client.create(boat("v1", "a", {"cargo": inside}))
    assert (await get(client, "v1"))["spec"]["cargo"] == inside
    why = (
        'spec.cargo.metadata: Invalid value: {"labels":{"a":1}}: json: cannot unmarshal number '
        "into Go struct field ObjectMeta.labels of type string"
    )
    with pytest.raises(ApiError) as caught:
        await get(client, "v2")
    assert (caught.value.code, caught.value.message) == (500, why)
    with pytest.raises(ApiError) as caught:
        await client.list(client.kind(f"{GROUP}/v2", "Boat"))
    assert (caught.value.code, caught.value.message) == (500, why)


async def test_an_apply_needs_the_object_in_the_versions_of_its_owners(client: Client) -> None:
    """A default of one version that another does not know ends it."""
    await client.apply(boat("v2", "a", {"sails": 2}), field_manager="one")
    with pytest.raises(ApiError) as caught:
        await client.apply(boat("v1", "a", {"name": "x"}), field_manager="two")
    assert (caught.value.code, caught.value.message) == (
        500,
        ".spec.flag: field not declared in schema",
    )


async def test_policies_see_the_version_of_the_request(client: Client) -> None:
    """With what only that has."""
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "few-sails"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [GROUP],
                        "apiVersions": ["v2"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["boats"],
                    }
                ]
            },
            "validations": [
                {"expression": "!has(object.spec.sails) || object.spec.sails < 9"},
            ],
        },
    }
    await client.create(policy)
    await client.create(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "few-sails"},
            "spec": {"policyName": "few-sails", "validationActions": ["Deny"]},
        }
    )
    await client.create(boat("v2", "a", {"sails": 8}))
    with pytest.raises(ApiError, match="few-sails"):
        await client.create(boat("v2", "b", {"sails": 10}))
    await client.create(boat("v1", "c", {}))


async def test_an_apply_that_changes_nothing_fills_in_nothing(client: Client) -> None:
    """A default that the stored version lacks is none of the object as it is read."""
    await client.create(boat("v4", "b", {"name": "x"}))
    applied = await client.apply(boat("v4", "b", {"name": "x"}), field_manager="one")
    assert (applied["spec"], applied["metadata"]["generation"]) == ({"name": "x"}, 1)


async def test_a_status_is_written_whatever_a_patch_makes_of_the_kind(client: Client) -> None:
    """Of a status write only the status counts; all else is that of the stored object."""
    await client.create(boat("v1", "a", {"crew": 1}))
    body = {"apiVersion": f"{GROUP}/v2", "status": {"place": "x"}}
    made = await patch(client, "v1", body, subresource="status")
    assert (made["apiVersion"], made["status"]) == (f"{GROUP}/v1", {"place": "x"})


async def test_what_an_object_says_it_is_is_checked_with_its_rules(client: Client) -> None:
    """Its schema and defaults do not count then, but its rules do, by the version of the path."""
    await client.create(boat("v2", "a", {"sails": 3}))
    with pytest.raises(ApiError) as caught:
        await patch(client, "v2", {"kind": "Ship", "spec": {"sails": 0, "masts": 1}})
    assert caught.value.message == (
        f'Ship.{GROUP} "a" is invalid: [kind: Invalid value: "Ship": must be Boat, '
        "spec: Invalid value: a mast needs a sail]"
    )
    with pytest.raises(ApiError, match=r"apiVersion: Invalid value: .*: must be .*/v1"):
        await patch(client, "v1", {"apiVersion": f"{GROUP}/v3"})


@pytest.mark.parametrize(
    ("meta", "code", "message"),
    [
        ({"resourceVersion": "1"}, 409, "the object has been modified"),
        ({}, 422, "metadata.resourceVersion: Invalid value: 0: must be specified"),
    ],
)
async def test_other_faults_come_before_a_wrong_kind(
    client: Client, meta: Object, code: int, message: str
) -> None:
    """The kind is validated as the rest is, after the resourceVersion."""
    await client.create(boat("v1", "a", {"crew": 1}))
    wrong = boat("v1", "a", {}) | {"kind": "Ship"}
    wrong["metadata"] |= meta
    with pytest.raises(ApiError) as caught:
        await client.update(wrong, kind=client.kind(f"{GROUP}/v1", "Boat"))
    assert caught.value.code == code
    assert message in caught.value.message
