"""PATCH over HTTP: media types, results that are no objects, races."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.testing.client import Answer, Client
from kubetrio.testing.server import InProcess

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
JSON, MERGE, STRATEGIC = "json-patch", "merge-patch", "strategic-merge-patch"


@pytest.fixture
async def one(client: Client) -> Any:
    """A ConfigMap named one."""
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "1"}}
    return (await client.request("POST", CONFIGMAPS, json=obj)).json()


async def patch(client: Client, kind: str, body: Any, query: str = "") -> Answer:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    media = {"Content-Type": f"application/{kind}+json"}
    return await client.request("PATCH", f"{CONFIGMAPS}/one{query}", media, raw)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (JSON, [{"op": "add", "path": "/data/b", "value": "2"}]),
        (MERGE, {"data": {"b": "2"}}),
        (STRATEGIC, {"data": {"b": "2"}}),
    ],
)
async def test_each_kind_of_patch(client: Client, one: Any, kind: str, body: Any) -> None:
    """Changes what it names."""
    answer = await patch(client, kind, body)
    assert answer.status == 200
    assert answer.json()["data"] == {"a": "1", "b": "2"}


@pytest.mark.parametrize(("kind", "body"), [(JSON, []), (MERGE, {}), (STRATEGIC, {})])
async def test_an_empty_patch_writes_nothing(
    server: InProcess, client: Client, one: Any, kind: str, body: Any
) -> None:
    """The same version comes back."""
    revision = server.api.storage.store.revision
    assert (await patch(client, kind, body)).json() == one
    assert server.api.storage.store.revision == revision


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        (JSON, {}, 400),
        (MERGE, [], 400),
        (MERGE, b"{", 400),
        (JSON, [{"op": "test", "path": "/data/a", "value": "9"}], 422),
        (MERGE, {"data": {"a": {"b": 1}}}, 422),
        (MERGE, {"metadata": {"name": "two"}}, 400),
        ("unknown-patch", {}, 415),
    ],
)
async def test_patches_that_are_refused(
    server: InProcess, client: Client, one: Any, kind: str, body: Any, code: int
) -> None:
    """And nothing is written."""
    revision = server.api.storage.store.revision
    assert (await patch(client, kind, body)).status == code
    assert server.api.storage.store.revision == revision


PODS = "/api/v1/namespaces/default/pods"


async def test_a_merge_patch_leaves_what_it_does_not_name(client: Client) -> None:
    """A status that changes leaves the spec and the metadata, beside their version and owners."""
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "0.5"}}}]}
    meta = {"name": "p", "labels": {"b": "1", "a": "2"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    before = (await client.request("POST", PODS, json=pod)).json()
    media = {"Content-Type": "application/merge-patch+json"}
    body = orjson.dumps({"status": {"message": "m", "startTime": "2024-01-31T01:00:00+01:00"}})
    after = (await client.request("PATCH", f"{PODS}/p/status", media, body)).json()
    assert after["spec"] == before["spec"]
    assert after["status"] == {**before["status"], "message": "m", "startTime": START}
    for name in ("managedFields", "resourceVersion"):
        assert after["metadata"].pop(name) != before["metadata"].pop(name)
    assert list(after) == list(before)
    assert orjson.dumps(after["metadata"]) == orjson.dumps(before["metadata"])


START = "2024-01-31T00:00:00Z"


async def test_a_version_in_a_patch_is_a_precondition(client: Client, one: Any) -> None:
    """409 when it is old."""
    version = one["metadata"]["resourceVersion"]
    body = {"metadata": {"resourceVersion": version}, "data": {"b": "2"}}
    assert (await patch(client, MERGE, body)).status == 200
    assert (await patch(client, MERGE, {**body, "data": {"b": "3"}})).status == 409


async def test_a_dry_patch_writes_nothing(server: InProcess, client: Client, one: Any) -> None:
    """It shows what would be."""
    revision = server.api.storage.store.revision
    answer = await patch(client, MERGE, {"data": {"b": "2"}}, "?dryRun=All")
    assert answer.json()["data"] == {"a": "1", "b": "2"}
    assert server.api.storage.store.revision == revision


async def test_unknown_fields_of_a_patch(client: Client, one: Any) -> None:
    """Warned of, refused when that is asked for."""
    warned = await patch(client, MERGE, {"nonsense": 1})
    assert b'unknown field \\"nonsense\\"' in warned.head.get(b"warning")
    strict = await patch(client, MERGE, {"nonsense": 1}, "?fieldValidation=Strict")
    assert strict.status == 422


@pytest.mark.parametrize(
    "body", [{"apiVersion": []}, {"apiVersion": 0}, {"apiVersion": "", "kind": []}, {"kind": {}}]
)
async def test_a_version_and_a_kind_are_texts(client: Client, one: Any, body: Any) -> None:
    """What is neither absent nor a text cannot be read; without a version there is no name."""
    assert (await patch(client, MERGE, body)).status == 422
    assert (await patch(client, MERGE, {"apiVersion": None})).status == 400


async def test_a_patch_of_nothing_is_404(client: Client) -> None:
    """Only apply creates."""
    assert (await patch(client, MERGE, {})).status == 404


async def test_whether_there_is_something_comes_first(client: Client) -> None:
    """A patch that cannot be read is not looked at when there is nothing to patch."""
    for kind in (JSON, MERGE, STRATEGIC):
        assert (await patch(client, kind, b"{")).status == 404


UNDETERMINABLE = (
    "the name of the object (one based on URL) was undeterminable: name must be provided"
)
NOT_A_MAP = "into Go value of type map[string]interface {}"


@pytest.mark.parametrize(
    ("kind", "body", "query", "words"),
    [
        (JSON, b"[{", "", "error decoding patch: unexpected end of JSON input"),
        (MERGE, b"{", "", "error decoding patch: unexpected end of JSON input"),
        (STRATEGIC, b"{", "", "unexpected end of JSON input"),
        (MERGE, None, "", "Invalid JSON Patch"),
        (MERGE, 1, "", f"error decoding patch: json: cannot unmarshal number {NOT_A_MAP}"),
        (STRATEGIC, 1, "", f"json: cannot unmarshal number {NOT_A_MAP}"),
        (MERGE, {"metadata": {"name": None}}, "", UNDETERMINABLE),
        (STRATEGIC, {"$patch": "delete"}, "", UNDETERMINABLE),
        (JSON, [{"op": "remove", "path": "/apiVersion"}], "", UNDETERMINABLE),
        # Unknown fields are ignored: only the libraries look at the patch.
        (JSON, b"[{", "?fieldValidation=Ignore", "unexpected end of JSON input"),
        (
            JSON,
            {},
            "?fieldValidation=Ignore",
            "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
        ),
        (
            JSON,
            [1],
            "?fieldValidation=Ignore",
            "json: cannot unmarshal number into Go value of type jsonpatch.Operation",
        ),
        (MERGE, b"{", "?fieldValidation=Ignore", "Invalid JSON Patch"),
        (MERGE, 1, "?fieldValidation=Ignore", "Invalid JSON Patch"),
    ],
)
async def test_words_about_patches(
    client: Client, one: Any, kind: str, body: Any, query: str, words: str
) -> None:
    """400, each kind in the words of what reads it."""
    answer = await patch(client, kind, body, query)
    assert (answer.status, answer.json()["message"]) == (400, words)


async def test_a_json_patch_of_null_changes_nothing(client: Client, one: Any) -> None:
    """It is read as a patch without operations."""
    answer = await patch(client, JSON, None)
    assert (answer.status, answer.json()) == (200, one)


async def test_a_strategic_patch_does_not_make_another_kind(client: Client, one: Any) -> None:
    """What it says of kind and apiVersion is ignored; the others are decoded again."""
    answer = await patch(client, STRATEGIC, {"kind": "Secret", "apiVersion": "v9"})
    assert (answer.status, answer.json()) == (200, one)
    merged = await patch(client, MERGE, {"kind": "LimitRange"})
    assert merged.status == 422
    assert "converting (v1.LimitRange) to (core.ConfigMap)" in merged.json()["message"]


async def test_a_document_without_a_version_has_no_known_fields(client: Client, one: Any) -> None:
    """It is read as the internal version."""
    answer = await patch(client, MERGE, {"apiVersion": None})
    warnings = answer.head.get(b"warning")
    assert b'unknown field \\"data\\"' in warnings
    assert b'unknown field \\"metadata\\"' in warnings


async def test_what_a_strategic_patch_cannot_make(client: Client, one: Any) -> None:
    """422 in the words of the converter, with the patch."""
    answer = await patch(client, STRATEGIC, {"data": {"a": 1}})
    assert answer.status == 422
    assert answer.json()["message"] == (
        ' "" is invalid: patch: Invalid value: "map[data:map[a:1]]": cannot convert int64 to string'
    )


def daemons(generation: str) -> dict[str, Any]:
    """A DaemonSet, or a patch of one, that says a generation of its template."""
    return {"metadata": {"annotations": {"deprecated.daemonset.template.generation": generation}}}


@pytest.mark.parametrize(("kind", "status"), [(MERGE, 422), (STRATEGIC, 500)])
async def test_annotations_that_are_no_numbers(client: Client, kind: str, status: int) -> None:
    """They were members once: what cannot be read is refused, by each kind of patch as it does."""
    path = "/apis/apps/v1/namespaces/default/daemonsets"
    container = {"name": "c", "image": "i"}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    body = daemons("+3") | {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    body["metadata"]["name"] = "one"
    made = await client.request("POST", path, json=body)
    assert (made.status, made.json()["metadata"]["annotations"]) == (
        201,
        daemons("3")["metadata"]["annotations"],
    )
    words = 'strconv.ParseInt: parsing "x": invalid syntax'
    body["metadata"] |= daemons("x")["metadata"]
    answer = await client.request("PUT", f"{path}/one", json=body)
    assert (answer.status, answer.json()["message"]) == (
        400,
        f'DaemonSet in version "v1" cannot be handled as a DaemonSet: {words}',
    )
    media = {"Content-Type": f"application/{kind}+json"}
    answer = await client.request("PATCH", f"{path}/one", media, orjson.dumps(daemons("x")))
    assert answer.status == status
    assert answer.json()["message"].endswith(words)


async def test_a_list_for_a_document(client: Client, one: Any) -> None:
    """A lenient merge takes a list for the new document, which then does not decode."""
    answer = await patch(client, MERGE, [1], "?fieldValidation=Ignore")
    assert answer.status == 422
    words = answer.json()["message"]
    assert words.startswith(' "" is invalid: patch: Invalid value: "[1]": couldn\'t get version')
    assert "(5b315d)" not in words


async def test_repeated_members_of_operations(client: Client, one: Any) -> None:
    """Strict decoding errors too."""
    body = b'[{"op":"test","op":"test","path":"/data/a","value":"1"}]'
    answer = await patch(client, JSON, body, "?fieldValidation=Strict")
    assert 'json patch duplicate field "[0].op"' in answer.json()["message"]


def nested(depth: int, leaf: bytes = b"1") -> bytes:
    """Objects in each other."""
    return b'{"a":' * depth + leaf + b"}" * depth


@pytest.mark.parametrize("depth", [900, 5000])
@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        (JSON, b'[{"op":"add","path":"/x","value":', b"}]"),
        (MERGE, b'{"x":', b"}"),
        (STRATEGIC, b'{"x":', b"}"),
    ],
)
async def test_a_deep_patch(
    client: Client, one: Any, kind: str, before: bytes, after: bytes, depth: int
) -> None:
    """It is what a flat one is, as long as the JSON decoder takes it."""
    answer = await patch(client, kind, before + nested(depth) + after)
    assert (answer.status, answer.json()) == (200, one)
    assert b'unknown field \\"x\\"' in answer.head.get(b"warning")
    beyond = await patch(client, kind, before + nested(10_001) + after)
    assert beyond.status == 400
    assert "exceeded max depth" in beyond.json()["message"]


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC])
async def test_a_deep_value_that_does_not_fit(client: Client, one: Any, kind: str) -> None:
    """422 with all of it."""
    answer = await patch(client, kind, b'{"data":{"b":' + nested(3000) + b"}}")
    words = answer.json()["message"]
    assert (answer.status, words.count("a\\" if kind == MERGE else "a:map") >= 2999) == (422, True)


async def test_the_first_hundred_complaints_about_a_patch(client: Client, one: Any) -> None:
    """A decoder stops there, and counts unknown and repeated members together."""
    unknown = b"".join(b'"x%d":1,' % number for number in range(99))
    body = b'[{%b"op":"test","op":"test","path":"","path":"/data/a","value":"1"}]' % unknown
    words = (await patch(client, JSON, body, "?fieldValidation=Strict")).json()["message"]
    assert words.count("json patch unknown field") == 99
    assert words.count("json patch duplicate field") == 1


REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
REVISION = b'{"metadata":{"name":"r"},"revision":1,"data":{"b":1.50,"a":1e3,"l":[1.0,null]}}'
SENT = b'"data":{"b":1.50,"a":1e3,"l":[1.0,null]}'
BY_JSON = {"Content-Type": "application/json"}


async def test_numbers_of_opaque_data_stay_as_they_were_sent(client: Client) -> None:
    """A RawExtension is bytes to kube-apiserver: created, read, patched, listed."""
    made = await client.request("POST", REVISIONS, BY_JSON, REVISION)
    assert SENT in made.body
    media = {"Content-Type": "application/merge-patch+json"}
    patched = await client.request(
        "PATCH", f"{REVISIONS}/r", media, b'{"metadata":{"labels":{"a":"b"}}}'
    )
    assert SENT in patched.body
    for target in (f"{REVISIONS}/r", REVISIONS):
        assert SENT in (await client.request("GET", target)).body
    pretty = await client.request("GET", f"{REVISIONS}/r?pretty=true")
    assert b'"b": 1.50,' in pretty.body
    proto = {"Accept": "application/vnd.kubernetes.protobuf"}
    assert (
        SENT.removeprefix(b'"data":') in (await client.request("GET", f"{REVISIONS}/r", proto)).body
    )


async def test_opaque_data_is_compared_as_text(client: Client) -> None:
    """Another spelling of a number is another value of what may not change."""
    await client.request("POST", REVISIONS, BY_JSON, REVISION)
    answer = await client.request(
        "PUT", f"{REVISIONS}/r", BY_JSON, REVISION.replace(b"1.50", b"1.500")
    )
    assert answer.status == 422
    assert answer.json()["message"] == (
        'ControllerRevision.apps "r" is invalid: data: Invalid value: '
        '{"b":1.500,"a":1e3,"l":[1.0,null]}: field is immutable'
    )


@pytest.mark.parametrize(
    ("media", "target", "body"),
    [
        ("strategic-merge-patch+json", "r", b'{"metadata":{"labels":{"a":"b"}}}'),
        ("apply-patch+yaml", "r?fieldManager=m&force=true", None),
    ],
)
async def test_numbers_that_go_reads_are_printed_anew(
    client: Client, media: str, target: str, body: bytes | None
) -> None:
    """A strategic patch and an apply read the whole object: keys sorted, numbers as Go's."""
    await client.request("POST", REVISIONS, BY_JSON, REVISION)
    sent = body or REVISION.replace(
        b"{", b'{"apiVersion":"apps/v1","kind":"ControllerRevision",', 1
    )
    sent = sent.replace(b"1.0", b"2.0")
    media = f"application/{media}"
    answer = await client.request("PATCH", f"{REVISIONS}/{target}", {"Content-Type": media}, sent)
    one = 2 if body is None else 1
    printed = f'{{"a":1000,"b":1.5,"l":[{one},null]}}: field is immutable'
    assert printed in answer.json()["message"]


async def test_numbers_that_no_float_holds_are_refused(client: Client) -> None:
    """Nobody could read them again; kube-apiserver panics over them."""
    body = REVISION.replace(b"1e3", b"1E400")
    answer = await client.request("POST", REVISIONS, BY_JSON, body)
    assert answer.status == 400
    assert (
        "cannot unmarshal number 1E400 into Go struct field ControllerRevision.data of type float64"
        in answer.json()["message"]
    )


async def test_an_apply_that_changes_nothing_prints_nothing_anew(client: Client) -> None:
    """Its manager owns the fields, and what others sent stays as it is."""
    await client.request("POST", REVISIONS, BY_JSON, REVISION)
    config = REVISION.replace(b"{", b'{"apiVersion":"apps/v1","kind":"ControllerRevision",', 1)
    media = {"Content-Type": "application/apply-patch+yaml"}
    answer = await client.request("PATCH", f"{REVISIONS}/r?fieldManager=m", media, config)
    assert answer.status == 200
    assert SENT in answer.body
    managers = [each["manager"] for each in answer.json()["metadata"]["managedFields"]]
    assert managers == ["m", "unknown"]
