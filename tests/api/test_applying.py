"""Server-side apply over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio.config import Config, Serving, Storage
from kubetrio.testing.client import Answer, Client
from kubetrio.testing.server import InProcess, open_api
from kubetrio.wire import cborwire

ONE = "/api/v1/namespaces/default/configmaps/one"


async def apply(client: Client, body: str, query: str = "fieldManager=me") -> Answer:
    media = {"Content-Type": "application/apply-patch+yaml"}
    return await client.request("PATCH", f"{ONE}?{query}", media, body.encode())


CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: '1'}\n"


async def test_apply_creates(client: Client) -> None:
    """201 with the namespace of the path, and the manager as the owner."""
    answer = await apply(client, CONFIG)
    assert answer.status == 201
    meta = answer.json()["metadata"]
    assert (meta["name"], meta["namespace"]) == ("one", "default")
    (entry,) = meta["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Apply")
    assert entry["fieldsV1"] == {"f:data": {"f:a": {}}}


async def test_applying_again_writes_nothing(server: InProcess, client: Client) -> None:
    """The same object comes back."""
    made = await apply(client, CONFIG)
    revision = server.api.storage.store.revision
    again = await apply(client, CONFIG)
    assert (again.status, again.json()) == (200, made.json())
    assert server.api.storage.store.revision == revision


async def test_what_is_no_longer_applied_goes(client: Client) -> None:
    """As nobody else wants it."""
    await apply(client, CONFIG)
    answer = await apply(client, CONFIG.replace("{a", "{b"))
    assert answer.json()["data"] == {"b": "1"}


async def test_a_field_of_somebody_else_is_a_conflict(client: Client) -> None:
    """409 names the owner; force takes it over."""
    await apply(client, CONFIG)
    other = CONFIG.replace("'1'", "'2'")
    refused = await apply(client, other, "fieldManager=you")
    assert refused.status == 409
    assert 'conflict with "me"' in refused.json()["message"]
    forced = await apply(client, other, "fieldManager=you&force=true")
    assert forced.json()["data"] == {"a": "2"}
    managers = [entry["manager"] for entry in forced.json()["metadata"]["managedFields"]]
    assert managers == ["you"]


async def test_apply_needs_a_manager(client: Client) -> None:
    """422."""
    assert (await apply(client, CONFIG, "force=true")).status == 422


async def test_a_configuration_that_is_none(client: Client) -> None:
    """400 for what is not YAML, or not an object."""
    for body in ("{", "[]", "a: [", "text"):
        assert (await apply(client, body)).status == 400, body


async def test_repeated_keys(client: Client) -> None:
    """Refused when that is asked for; else the last one counts, and no header is broken."""
    twice = CONFIG + "data: {a: '2'}\n"
    strict = await apply(client, twice, "fieldManager=me&fieldValidation=Strict")
    assert strict.status == 400
    said = strict.json()["message"]
    assert said == (
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n"
        '  line 5: key "data" already set in map'
    )
    answer = await apply(client, twice)
    assert answer.json()["data"] == {"a": "2"}
    # The message has two lines; each key is a warning.
    assert answer.head.get(b"warning") == rb'299 - "line 5: key \"data\" already set in map"'


INTO_MAP = "into Go value of type map[string]interface {}"


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ("", 400, "invalid object type: /, Kind="),
        (
            "{",
            400,
            (
                "error decoding YAML: error converting YAML to JSON: "
                "yaml: line 1: did not find expected node content"
            ),
        ),
        (
            "7",
            400,
            (
                "error decoding YAML: error unmarshaling JSON: while decoding JSON: "
                f"json: cannot unmarshal number {INTO_MAP}"
            ),
        ),
        (
            "{apiVersion: v1, kind: ConfigMap}",
            400,
            "the name of the object (one based on URL) was undeterminable: name must be provided",
        ),
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, bogus: 1}",
            500,
            (
                "failed to create typed patch object (/one; /v1, Kind=ConfigMap): "
                ".bogus: field not declared in schema"
            ),
        ),
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, creationTimestamp: x}}",
            500,
            (
                "failed to convert new object (/one; /v1, Kind=ConfigMap) to proper version: "
                "unable to convert unstructured object to /v1, Kind=ConfigMap: "
                'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'
            ),
        ),
    ],
)
async def test_what_cannot_be_applied(client: Client, body: str, code: int, words: str) -> None:
    """In kube-apiserver's words, with what the configuration says of name and namespace."""
    answer = await apply(client, body)
    assert (answer.status, answer.json()["message"]) == (code, words)


async def test_messages_name_the_configuration(client: Client) -> None:
    """Not the object that it is merged into, which has a namespace."""
    await apply(client, CONFIG)
    answer = await apply(client, CONFIG.replace("one}", "one, creationTimestamp: x}"))
    text = "failed to convert new object (/one; /v1, Kind=ConfigMap) to proper version: "
    assert answer.json()["message"].startswith(text)


async def test_an_annotation_that_is_no_number(client: Client) -> None:
    """It was a member once, and what cannot be read is refused."""
    body = (
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: one, annotations: "
        '{deprecated.deployment.rollback.to: "x"}}}'
    )
    answer = await client.request(
        "PATCH",
        "/apis/apps/v1/namespaces/default/deployments/one?fieldManager=me",
        {"Content-Type": "application/apply-patch+yaml"},
        body.encode(),
    )
    assert (answer.status, answer.json()["message"]) == (
        500,
        (
            "failed to convert to unversioned (/one; apps/v1, Kind=Deployment): failed to parse "
            "annotation[deprecated.deployment.rollback.to]=x as int64: "
            'strconv.ParseInt: parsing "x": invalid syntax'
        ),
    )


async def test_configurations_in_cbor(tmp_path: Path) -> None:
    """Behind the feature gate, and 415 without it."""
    pytest.importorskip("cbor2", reason="the extra cbor is not installed")
    config: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "one"},
        "data": {"a": "1"},
    }
    media = {"Content-Type": "application/apply-patch+cbor"}
    query = f"{ONE}?fieldManager=me"
    for gates, codes in (({"CBORServingAndStorage": True}, (201, 400, 400)), ({}, (415,) * 3)):
        directory = tmp_path / str(len(gates))
        chosen = Config(
            data_dir=directory,
            serving=Serving(secure_port=1),
            storage=Storage(durability="normal"),
            feature_gates=gates,
        )
        async with open_api(config=chosen) as server, server.connect() as client:
            bodies = (cborwire.encode(config), cborwire.encode([1]), b"\xff")
            answers = [await client.request("PATCH", query, media, body) for body in bodies]
            assert tuple(answer.status for answer in answers) == codes
            if gates:
                (entry,) = answers[0].json()["metadata"]["managedFields"]
                assert entry["operation"] == "Apply"
                assert all(
                    answer.json()["message"].startswith("error decoding CBOR: ")
                    for answer in answers[1:]
                )


SCALERS = "v1/namespaces/default/horizontalpodautoscalers"
SCALER = {
    "metadata": {"name": "s"},
    "spec": {
        "maxReplicas": 2,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
    },
}


@pytest.mark.parametrize("kind", ["Object", "Pods", "Resource", "External", "ContainerResource"])
async def test_an_unfinished_part_is_compared_in_other_versions_too(
    client: Client, kind: str
) -> None:
    """Somebody else owns fields in another version, and the configuration lacks members."""
    made = await client.request("POST", f"/apis/autoscaling/{SCALERS}", json=SCALER)
    assert made.status == 201
    metric = {"type": kind, f"{kind[0].lower()}{kind[1:]}": {}}
    config = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "s"},
        "spec": {"metrics": [metric]},
    }
    answer = await client.request(
        "PATCH",
        f"/apis/autoscaling/{SCALERS.replace('v1/', 'v2/', 1)}/s?fieldManager=m",
        {"Content-Type": "application/apply-patch+yaml"},
        json=config,
    )
    assert answer.status == 422
