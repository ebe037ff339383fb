"""A kind that is not built in is a value: added to a running server, it is served like any other.

Nothing here touches a module: the kind is made by hand (`kubetrio.testing.widgets`) as a
CustomResourceDefinition would make it, added to the registry of a server that runs, and taken
out again.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_up import (
    APPLY,
    JSON_PATCH,
    MERGE,
    OLDER,
    STRATEGIC,
    V1,
    WIDGETS,
    apply,
    owned,
    post,
    warnings,
)

from kubetrio.testing.client import Client
from kubetrio.testing.widgets import DEPRECATED, widget

# ---------------------------------------------------------------- reading and writing


async def test_created_and_read(made: Client) -> None:
    """As it was sent, with the metadata that every object has."""
    new = await post(made, "a", size=3)
    got = (await made.request("GET", f"{WIDGETS}/a")).json()
    assert got == new
    assert (got["kind"], got["apiVersion"]) == ("Widget", "example.com/v1")
    assert got["spec"] == {"size": 3}
    assert got["metadata"]["generation"] == 1


async def test_fields_that_nobody_declared_stay(made: Client) -> None:
    """Also fractions as they were written; members of metadata that there are not go."""
    body = b"""{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a","nope":1},
        "spec":{"f":1.50},"garbage":[{"x":null}]}"""
    answer = await made.request("POST", WIDGETS, {"Content-Type": "application/json"}, body)
    assert answer.status == 201
    assert b'"f":1.50' in answer.body
    assert answer.json()["garbage"] == [{"x": None}]
    assert "nope" not in answer.json()["metadata"]
    assert warnings(answer) == ['299 - "unknown field \\"metadata.nope\\""']


async def test_strict_field_validation(made: Client) -> None:
    """Refuses unknown members of metadata and repeated keys in one message."""
    body = b"""{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a","nope":1},
        "spec":{"size":1,"size":2}}"""
    answer = await made.request(
        "POST", f"{WIDGETS}?fieldValidation=Strict", {"Content-Type": "application/json"}, body
    )
    assert answer.status == 400
    assert answer.json()["message"] == (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: '
        'duplicate field "spec.size", unknown field "metadata.nope"'
    )


UNKNOWN = "the object provided is unrecognized (must be of type Widget): "
VERSION = "the API version in the data ({}) does not match the expected API version ({})"
NO_KIND = b'{"apiVersion":"example.com/v1"}'
NO_VERSION = b'{"kind":"Widget","metadata":{"name":"a"}}'
OTHER_VERSION = b'{"kind":"Widget","apiVersion":"example.com/v1beta1"}'
OTHER_KIND = b'{"kind":"Gadget","apiVersion":"example.com/v1","metadata":{"name":"a"}}'
BAD_LABELS = b'{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"labels":{"a":1}}}'
BAD_NAME = b'{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"A_b"}}'
GO_LABELS = "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
NO_NAME = 'metadata.name: Invalid value: "A_b": a lowercase'


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"[1]", 400, f"{UNKNOWN}couldn't get version/kind; json parse error: json: cannot"),
        (b"null", 400, f"{UNKNOWN}Object 'Kind' is missing in 'null' (6e756c6c)"),
        (NO_KIND, 400, f"{UNKNOWN}Object 'Kind' is missing in '{NO_KIND.decode()}'"),
        (NO_VERSION, 400, VERSION.format("", "example.com/v1")),
        (OTHER_VERSION, 400, VERSION.format("example.com/v1beta1", "example.com/v1")),
        (OTHER_KIND, 422, 'Gadget.example.com "a" is invalid: kind: Invalid value: "Gadget": must'),
        (BAD_LABELS, 400, f'Widget in version "v1" cannot be handled as a Widget: {GO_LABELS}'),
        (BAD_NAME, 422, f'Widget.example.com "A_b" is invalid: {NO_NAME}'),
    ],
)
async def test_bodies_that_are_no_widgets(
    made: Client, body: bytes, status: int, words: str
) -> None:
    """Refused in the words that kube-apiserver has for custom resources."""
    answer = await made.request("POST", WIDGETS, {"Content-Type": "application/json"}, body)
    assert answer.status == status
    assert answer.json()["message"].startswith(words)


async def test_listed_and_paged(made: Client) -> None:
    """A list has its kind, and goes on where a page ended."""
    for name in "abc":
        await post(made, name)
    first = (await made.request("GET", f"{WIDGETS}?limit=2")).json()
    assert (first["kind"], len(first["items"])) == ("WidgetList", 2)
    token = first["metadata"]["continue"]
    rest = (await made.request("GET", f"{WIDGETS}?limit=2&continue={token}")).json()
    assert [item["metadata"]["name"] for item in rest["items"]] == ["c"]


async def test_listed_in_all_namespaces(made: Client) -> None:
    """By the path without one."""
    await post(made, "a")
    found = (await made.request("GET", f"{V1}/widgets")).json()["items"]
    assert [item["metadata"]["name"] for item in found] == ["a"]


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (f"{WIDGETS}?fieldSelector=spec.color%3Dred", ["a"]),
        (f"{WIDGETS}?fieldSelector=spec.size%3D2", ["b"]),
        (f"{OLDER}?fieldSelector=spec.extent%3D2", ["b"]),
        (f"{WIDGETS}?fieldSelector=metadata.name%3Db", ["b"]),
        (f"{WIDGETS}?labelSelector=small%3Dyes", ["a"]),
    ],
)
async def test_selected(made: Client, path: str, names: list[str]) -> None:
    """By labels, and by the fields that its version names."""
    first = widget("a", size=1, color="red")
    first["metadata"]["labels"] = {"small": "yes"}
    await made.request("POST", WIDGETS, json=first)
    await post(made, "b", size=2, color="blue")
    found = (await made.request("GET", path)).json()["items"]
    assert [item["metadata"]["name"] for item in found] == names


async def test_fields_it_is_not_selected_by(made: Client) -> None:
    """400 in kube-apiserver's words."""
    answer = await made.request("GET", f"{WIDGETS}?fieldSelector=spec.weight%3D1")
    assert answer.status == 400
    assert answer.json()["message"] == "field label not supported: spec.weight"


async def test_put(made: Client) -> None:
    """Replaces; the generation counts changes of all but metadata."""
    new = await post(made, "a", size=1)
    new["spec"]["size"] = 2
    changed = (await made.request("PUT", f"{WIDGETS}/a", json=new)).json()
    assert (changed["spec"], changed["metadata"]["generation"]) == ({"size": 2}, 2)
    changed["metadata"]["labels"] = {"a": "b"}
    again = (await made.request("PUT", f"{WIDGETS}/a", json=changed)).json()
    assert again["metadata"]["generation"] == 2


async def test_put_insists_on_the_version(made: Client) -> None:
    """An update that names no resourceVersion is refused, and an old one is a conflict."""
    new = await post(made, "a", size=1)
    answer = await made.request("PUT", f"{WIDGETS}/a", json=widget("a", size=2))
    assert answer.status == 422
    assert "metadata.resourceVersion: Invalid value: 0: must be specified" in answer.body.decode()
    new["spec"]["size"] = 2
    assert (await made.request("PUT", f"{WIDGETS}/a", json=new)).status == 200
    new["spec"]["size"] = 3
    assert (await made.request("PUT", f"{WIDGETS}/a", json=new)).status == 409


@pytest.mark.parametrize(
    ("headers", "patch"),
    [
        (JSON_PATCH, [{"op": "replace", "path": "/spec/size", "value": 5}]),
        (MERGE, {"spec": {"size": 5}}),
    ],
)
async def test_patched(made: Client, headers: dict[str, str], patch: Any) -> None:
    """By the two patches that know nothing of types."""
    await post(made, "a", size=1, color="red")
    body = json.dumps(patch).encode()
    answer = await made.request("PATCH", f"{WIDGETS}/a", headers, body)
    assert answer.status == 200
    assert answer.json()["spec"] == {"size": 5, "color": "red"}


async def test_no_strategic_merge_patch(made: Client) -> None:
    """415, with the patches that there are."""
    await post(made, "a")
    answer = await made.request("PATCH", f"{WIDGETS}/a", STRATEGIC, b"{}")
    assert answer.status == 415
    assert answer.json()["message"] == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


async def test_a_patch_that_makes_something_else_of_it(made: Client) -> None:
    """422: kind and version stay."""
    await post(made, "a")
    answer = await made.request("PATCH", f"{WIDGETS}/a", MERGE, b'{"kind":"Gadget"}')
    assert answer.status == 422
    assert 'kind: Invalid value: "Gadget": must be Widget' in answer.json()["message"]


async def test_deleted(made: Client) -> None:
    """With a Status; then it is not found."""
    await post(made, "a")
    gone = await made.request("DELETE", f"{WIDGETS}/a")
    details = gone.json()["details"]
    assert (details["group"], details["kind"]) == ("example.com", "widgets")
    missing = await made.request("GET", f"{WIDGETS}/a")
    assert missing.status == 404
    assert missing.json()["message"] == 'widgets.example.com "a" not found'


async def test_a_collection_deleted(made: Client) -> None:
    """What the selectors choose, shown as a list."""
    await post(made, "a", color="red")
    await post(made, "b", color="blue")
    answer = await made.request("DELETE", f"{WIDGETS}?fieldSelector=spec.color%3Dred")
    assert [item["metadata"]["name"] for item in answer.json()["items"]] == ["a"]
    left = (await made.request("GET", WIDGETS)).json()["items"]
    assert [item["metadata"]["name"] for item in left] == ["b"]


async def test_dry_run(made: Client) -> None:
    """Answers as if it were stored, and stores nothing."""
    answer = await made.request("POST", f"{WIDGETS}?dryRun=All", json=widget("a"))
    assert answer.status == 201
    assert (await made.request("GET", f"{WIDGETS}/a")).status == 404


# ---------------------------------------------------------------- versions


async def test_each_version_has_its_names(made: Client) -> None:
    """What is written in one is read in the other."""
    new = widget("a", "v1beta1", extent=3)
    answer = await made.request("POST", OLDER, json=new)
    assert (answer.status, answer.json()["spec"]) == (201, {"extent": 3})
    assert (await made.request("GET", f"{WIDGETS}/a")).json()["spec"] == {"size": 3}
    listed = (await made.request("GET", OLDER)).json()
    assert listed["apiVersion"] == "example.com/v1beta1"
    assert [item["spec"] for item in listed["items"]] == [{"extent": 3}]


async def test_a_version_that_is_deprecated(made: Client) -> None:
    """Warns whoever asks for it."""
    answer = await made.request("GET", OLDER)
    assert warnings(answer) == [f'299 - "{DEPRECATED}"']
    assert warnings(await made.request("GET", WIDGETS)) == []


async def test_finalizers_without_a_domain(made: Client) -> None:
    """Are taken, with advice."""
    new = widget("a")
    new["metadata"]["finalizers"] = ["mine"]
    answer = await made.request("POST", WIDGETS, json=new)
    assert answer.status == 201
    assert "prefer a domain-qualified finalizer name to avoid" in warnings(answer)[0]


# ---------------------------------------------------------------- ownership


async def test_applied_by_two(made: Client) -> None:
    """Who wants another value of what somebody owns has a conflict, or forces it."""
    one = await apply(made, "a", "one", {"size": 1, "tags": ["x"]})
    assert one.status == 201
    refused = await apply(made, "a", "two", {"size": 2})
    assert refused.status == 409
    assert refused.json()["message"] == (
        'Apply failed with 1 conflict: conflict with "one": .spec.size'
    )
    forced = (await apply(made, "a", "two", {"size": 2, "tags": ["y"]}, "&force=true")).json()
    assert forced["spec"] == {"size": 2, "tags": ["x", "y"]}
    owners = {entry["manager"]: entry["fieldsV1"]["f:spec"] for entry in owned(forced)}
    assert owners["one"] == {"f:tags": {'v:"x"': {}}}
    assert owners["two"] == {"f:size": {}, "f:tags": {'v:"y"': {}}}


async def test_what_is_applied_no_more_goes(made: Client) -> None:
    """When nobody else owns it."""
    await apply(made, "a", "one", {"size": 1, "color": "red"})
    left = (await apply(made, "a", "one", {"size": 1})).json()
    assert left["spec"] == {"size": 1}


async def test_applied_in_the_other_version(made: Client) -> None:
    """Ownership follows the field to its other name; a conflict says the owner's."""
    await apply(made, "a", "one", {"size": 1})
    config = widget("a", "v1beta1", extent=2)
    answer = await made.request(
        "PATCH", f"{OLDER}/a?fieldManager=two", APPLY, json.dumps(config).encode()
    )
    assert answer.status == 409
    assert 'conflict with "one": .spec.size' in answer.json()["message"]


async def test_fields_of_a_write_are_owned(made: Client) -> None:
    """By the manager that is named, in the version of the request."""
    await made.request("POST", f"{OLDER}?fieldManager=me", json=widget("a", "v1beta1", extent=1))
    entry = owned((await made.request("GET", f"{WIDGETS}/a")).json())[0]
    assert (entry["manager"], entry["apiVersion"]) == ("me", "example.com/v1beta1")
    assert entry["fieldsV1"] == {"f:spec": {".": {}, "f:extent": {}}}
