"""Empty lists and maps that a client gives, where kube-apiserver tells them from none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubetrio.testing.client import Answer, Client

Object = dict[str, Any]
MERGE = {"Content-Type": "application/merge-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
PATCH = {"Content-Type": "application/json-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}
JSON = {"Content-Type": "application/json"}
NAMESPACED = "/apis/{}/namespaces/default/{}"
POLICIES = NAMESPACED.format("networking.k8s.io/v1", "networkpolicies")
SLICES = NAMESPACED.format("discovery.k8s.io/v1", "endpointslices")
TEMPLATES = NAMESPACED.format("resource.k8s.io/v1", "resourceclaimtemplates")
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
CONFIGS = "/api/v1/namespaces/default/configmaps"


async def send(
    client: Client, method: str, path: str, body: Any, media: dict[str, str] = JSON
) -> Answer:
    return await client.request(method, path, media, json.dumps(body).encode())


def owners(answer: Answer) -> dict[str, Any]:
    entries = answer.json()["metadata"].get("managedFields", ())
    return {entry["manager"]: entry["fieldsV1"] for entry in entries}


POLICY: Object = {"metadata": {"name": "np"}, "spec": {"podSelector": {}}}


@pytest.mark.parametrize("media", [MERGE, STRATEGIC])
@pytest.mark.parametrize(
    "spec", [{"egress": []}, {"podSelector": {"matchLabels": {}}}, {"podSelector": {}}]
)
async def test_an_empty_list_counts_in_a_generation_that_is_exact(
    client: Client, media: dict[str, str], spec: Object
) -> None:
    """A NetworkPolicy is compared as values of Go; what is stored is the same."""
    made = (await send(client, "POST", POLICIES, POLICY)).json()
    answer = await send(client, "PATCH", f"{POLICIES}/np", {"spec": spec}, media)
    assert answer.json()["spec"] == made["spec"]
    assert answer.json()["metadata"]["generation"] == 1 + (spec != {"podSelector": {}})


async def test_a_replaced_object_counts_too(client: Client) -> None:
    """PUT, and webhooks inside of a configuration."""
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    hook = {
        "name": "a.example.com",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://example.com"},
    }
    made = (
        await send(client, "POST", path, {"metadata": {"name": "w"}, "webhooks": [hook]})
    ).json()
    again = await send(client, "PUT", f"{path}/w", made)
    assert again.json()["metadata"]["generation"] == 1
    made["webhooks"][0]["namespaceSelector"] = {"matchLabels": {}}
    changed = await send(client, "PUT", f"{path}/w", made)
    assert changed.json()["metadata"]["generation"] == 2


async def test_an_empty_map_in_a_list_that_is_owned_as_a_whole_takes_it(client: Client) -> None:
    """The list is another value of Go, so it is owned by the writer."""
    slice_: Object = {
        "metadata": {"name": "es"},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["1.1.1.1"]}],
    }
    await send(client, "POST", f"{SLICES}?fieldManager=init", slice_)
    same = {"endpoints": slice_["endpoints"]}
    answer = await send(client, "PATCH", f"{SLICES}/es?fieldManager=two", same, MERGE)
    assert owners(answer) == {"init": {"f:addressType": {}, "f:endpoints": {}}}
    empty = {"endpoints": [{"addresses": ["1.1.1.1"], "deprecatedTopology": {}}]}
    answer = await send(client, "PATCH", f"{SLICES}/es?fieldManager=two", empty, MERGE)
    assert owners(answer) == {"init": {"f:addressType": {}}, "two": {"f:endpoints": {}}}
    assert answer.json()["endpoints"] == [{"addresses": ["1.1.1.1"], "conditions": {}}]


async def test_messages_show_what_is_empty(client: Client) -> None:
    """``{}`` where a map was given, null where none was."""
    made: Object = {"metadata": {"name": "sc"}, "provisioner": "p", "parameters": {"a": "b"}}
    await send(client, "POST", CLASSES, made)
    for value, shown in (({}, "{}"), (None, "null")):
        answer = await send(client, "PUT", f"{CLASSES}/sc", {**made, "parameters": value})
        expected = f"parameters: Invalid value: {shown}: field is immutable"
        assert expected in answer.json()["message"]


async def test_some_members_may_not_be_given_even_if_empty(client: Client) -> None:
    """Metadata of templates; on update as on create."""
    made: Object = {"metadata": {"name": "t"}, "spec": {"spec": {}}}
    assert (await send(client, "POST", TEMPLATES, made)).status == 201
    made["spec"]["metadata"] = {"finalizers": []}
    for method, path in (("POST", TEMPLATES), ("PUT", f"{TEMPLATES}/t")):
        answer = await send(client, method, path, made)
        assert "spec.metadata.finalizers: Forbidden: cannot be set" in answer.json()["message"]


async def test_an_empty_list_is_no_change_to_what_is_immutable(client: Client) -> None:
    """A selector that says no expressions is the selector that says nothing of them."""
    path = NAMESPACED.format("apps/v1", "deployments")
    labels = {"a": "b"}
    container = {"name": "c", "image": "i"}
    made: Object = {
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    await send(client, "POST", path, made)
    made["spec"]["selector"]["matchExpressions"] = []
    assert (await send(client, "PUT", f"{path}/d", made)).status == 200


@pytest.mark.parametrize(
    ("media", "body"),
    [
        (MERGE, {"metadata": {"managedFields": []}}),
        (MERGE, {"metadata": {"managedFields": [{}]}}),
        (STRATEGIC, {"metadata": {"managedFields": []}}),
        (PATCH, [{"op": "replace", "path": "/metadata/managedFields", "value": []}]),
    ],
)
async def test_no_entries_end_the_tracking_of_owners(
    client: Client, media: dict[str, str], body: Any
) -> None:
    """An empty list is as good as one empty entry; leaving the list out is not."""
    made = await send(client, "POST", CONFIGS, {"metadata": {"name": "c"}, "data": {"a": "1"}})
    left = await send(client, "PATCH", f"{CONFIGS}/c", {"metadata": {"managedFields": None}}, MERGE)
    assert owners(left) == owners(made)
    answer = await send(client, "PATCH", f"{CONFIGS}/c", body, media)
    assert answer.status == 200
    assert owners(answer) == {}


@pytest.mark.parametrize(
    ("member", "value", "cause"),
    [
        ("manager", "m" * 129, "Too long: may not be more than 128 bytes"),
        ("manager", "a\u0007", "invalid character U+0007 (at position 1)"),
        ("subresource", "s" * 257, "Too long: may not be more than 256 bytes"),
    ],
)
async def test_entries_of_a_client_are_checked(
    client: Client, member: str, value: str, cause: str
) -> None:
    """On create and on update."""
    entry = {
        "manager": "m",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:zz": {}}},
        member: value,
    }
    obj: Object = {"metadata": {"name": "c"}, "data": {"a": "1"}}
    await send(client, "POST", CONFIGS, obj)
    obj["metadata"]["managedFields"] = [entry]
    for method, path in (("POST", CONFIGS), ("PUT", f"{CONFIGS}/c")):
        answer = await send(client, method, path, obj)
        assert answer.status == 422
        assert f"metadata.managedFields[0].{member}: " in answer.json()["message"]
        assert cause in answer.json()["message"]


async def test_a_quantity_in_another_form_takes_a_list_that_is_owned_as_a_whole(
    client: Client,
) -> None:
    """To Go it is another value, though it is stored as the same."""
    path = "/api/v1/namespaces/default/limitranges"
    for name, text, owner in (("a", "1Gi", "init"), ("b", "1024Mi", "two")):
        limit = {"type": "Pod", "max": {"memory": text}}
        obj: Object = {"metadata": {"name": name}, "spec": {"limits": [limit]}}
        await send(client, "POST", f"{path}?fieldManager=init", obj)
        answer = await send(client, "PUT", f"{path}/{name}?fieldManager=two", obj)
        assert owners(answer) == {owner: {"f:spec": {"f:limits": {}}}}
