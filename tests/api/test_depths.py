"""How deep what strangers send may be nested: each decoder refuses it, and none is a bug of ours.

What a decoder makes is walked by others, and some of them recurse; so a value is refused where it
is read, or where its request ends in Python's own limit it is told so.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
import trio.testing

from kubetrio.aggregation import documents
from kubetrio.auth import claims as own_claims
from kubetrio.auth import signed
from kubetrio.crd.webhookconversion import BadAnswer, converted_in
from kubetrio.machinery import fieldpath
from kubetrio.plugins.dynamic import patches
from kubetrio.plugins.webhooks import answers
from kubetrio.testing.server import InProcess, open_api

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
APPLY = "application/apply-patch+yaml"
MERGE, PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses?dryRun=All"
DEPTHS = (170, 300, 985, 3000, 9990, 20_000)
LEVELS = (600, 985, 3000, 20_000)


class Sent(NamedTuple):
    """A request.

    Args:
        method: of HTTP.
        path: and query.
        body: its body.
        media: its media type.
    """

    method: str
    path: str
    body: str | bytes
    media: str = JSON


def lists(depth: int) -> str:
    """Lists in lists."""
    return "[" * depth + "1" + "]" * depth


def objects(depth: int, key: str = "a") -> str:
    """Objects in objects."""
    return f'{{"{key}":' * depth + "1" + "}" * depth


def config_map(rest: str, meta: str = "") -> str:
    """A ConfigMap."""
    return f'{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m"{meta}}}{rest}}}'


def fields(said: str) -> str:
    """A ConfigMap with managed fields."""
    entry = '{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1"'
    return config_map("", f',"managedFields":[{entry},"fieldsV1":{said}}}]')


def definition(schema: str) -> str:
    """A CustomResourceDefinition with a schema."""
    return (
        '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",'
        '"metadata":{"name":"deeps.example.com"},"spec":{"group":"example.com",'
        '"scope":"Namespaced","names":{"plural":"deeps","kind":"Deep"},"versions":[{"name":"v1",'
        '"served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":'
        f'{{"spec":{schema}}}}}}}}}]}}}}'
    )


def ruled(rule: str) -> str:
    """The same with a rule."""
    return definition(json.dumps({"type": "object", "x-kubernetes-validations": [{"rule": rule}]}))


def policy(expression: str) -> str:
    """A policy."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    spec = {
        "matchConstraints": {"resourceRules": [{**rule, "resources": ["pods"]}]},
        "validations": [{"expression": expression}],
    }
    return json.dumps({"metadata": {"name": "v"}, "spec": spec})


def device_class(expression: str) -> str:
    """A class of devices."""
    selectors = [{"cel": {"expression": expression}}]
    return json.dumps({"metadata": {"name": "v"}, "spec": {"selectors": selectors}})


def review(kind: str, api: str, member: str, value: str) -> str:
    """A review."""
    return f'{{"apiVersion":"{api}","kind":"{kind}","{member}":{value}}}'


AUTHORIZATION, AUTHENTICATION = "authorization.k8s.io/v1", "authentication.k8s.io/v1"
BODIES: dict[str, Callable[[str], Sent]] = {
    "JSON": lambda deep: Sent("POST", MAPS, config_map(f',"x":{deep}')),
    "YAML": lambda deep: Sent(
        "POST", MAPS, f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m}}\nx: {deep}", YAML
    ),
    "options of a deletion": lambda deep: Sent("DELETE", f"{MAPS}/no", f'{{"x":{deep}}}'),
    "options of a collection": lambda deep: Sent("DELETE", f"{MAPS}?limit=1", f'{{"x":{deep}}}'),
    "a review": lambda deep: Sent(
        "POST",
        f"/apis/{AUTHORIZATION}/subjectaccessreviews",
        review("SubjectAccessReview", AUTHORIZATION, "spec", deep),
    ),
    "a review of a token": lambda deep: Sent(
        "POST",
        f"/apis/{AUTHENTICATION}/tokenreviews",
        review("TokenReview", AUTHENTICATION, "spec", deep),
    ),
    "a merge patch": lambda deep: Sent("PATCH", f"{MAPS}/m", f'{{"data":{deep}}}', MERGE),
    "a JSON patch": lambda deep: Sent(
        "PATCH", f"{MAPS}/m", f'[{{"op":"add","path":"/data","value":{deep}}}]', PATCH
    ),
    "operations": lambda deep: Sent("PATCH", f"{MAPS}/m", deep, PATCH),
    "a test": lambda deep: Sent(
        "PATCH", f"{MAPS}/m", f'[{{"op":"test","path":"/data","value":{deep}}}]', PATCH
    ),
    "a strategic merge patch": lambda deep: Sent(
        "PATCH", f"{MAPS}/m", f'{{"data":{deep}}}', STRATEGIC
    ),
    "an apply": lambda deep: Sent(
        "PATCH", f"{MAPS}/m?fieldManager=m", config_map(f',"data":{deep}'), APPLY
    ),
    "managed fields": lambda deep: Sent("PUT", f"{MAPS}/m", fields(deep)),
    "keys of managed fields": lambda deep: Sent(
        "PUT", f"{MAPS}/m", fields(json.dumps({"f:data": {f'k:{{"a":{deep}}}': {}}}))
    ),
    "values of managed fields": lambda deep: Sent(
        "PUT", f"{MAPS}/m", fields(json.dumps({"f:data": {f"v:{deep}": {}}}))
    ),
    "a default of a definition": lambda deep: Sent(
        "POST",
        DEFINITIONS,
        definition(
            '{"type":"object","x-kubernetes-preserve-unknown-fields":true,'
            f'"default":{{"a":{deep}}}}}'
        ),
    ),
    "an enumeration of a definition": lambda deep: Sent(
        "POST", DEFINITIONS, definition(f'{{"type":"object","enum":[{deep}]}}')
    ),
    "annotations that are JSON": lambda deep: Sent(
        "POST",
        "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers?dryRun=All",
        json.dumps(
            {
                "metadata": {
                    "name": "h",
                    "annotations": {
                        "autoscaling.alpha.kubernetes.io/metrics": f'[{{"type":{deep}}}]',
                        "autoscaling.alpha.kubernetes.io/behavior": f'{{"scaleUp":{deep}}}',
                        "kubectl.kubernetes.io/last-applied-configuration": deep,
                    },
                },
                "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "a", "name": "b"}},
            }
        ),
    ),
    "a token of a list": lambda deep: Sent(
        "GET", f"{MAPS}?continue={urlsafe_b64encode(deep[:6000].encode()).decode()}", b""
    ),
}


def varint(number: int) -> bytes:
    """A number of protobuf."""
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number: int, content: bytes) -> bytes:
    """A field of protobuf."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def proto_definition(depth: int) -> bytes:
    """A definition in protobuf whose schemas say ``not``."""
    schema = b""
    for _ in range(depth):
        schema = field(28, schema)
    version = field(1, b"v1") + field(4, field(1, schema))
    names = field(1, b"deeps") + field(4, b"Deep")
    spec = field(1, b"example.com") + field(3, names) + field(4, b"Namespaced")
    raw = field(1, field(1, b"deeps.example.com")) + field(2, spec + field(7, version))
    meta = field(1, b"apiextensions.k8s.io/v1") + field(2, b"CustomResourceDefinition")
    return b"k8s\0" + field(1, meta) + field(2, raw)


def groups(depth: int) -> bytes:
    """Groups of protobuf, which nobody has written for long."""
    meta = field(1, b"v1") + field(2, b"ConfigMap")
    return b"k8s\0" + field(1, meta) + field(2, b"\x0b" * depth + b"\x0c" * depth)


SCHEMAS: dict[str, Callable[[int], str]] = {
    "properties": lambda n: '{"type":"object","properties":{"a":' * n + "{}" + "}}" * n,
    "items": lambda n: '{"type":"array","items":' * n + "{}" + "}" * n,
    "alternatives": lambda n: '{"type":"object","anyOf":[' * n + "{}" + "]}" * n,
    "negations": lambda n: '{"not":' * n + "{}" + "}" * n,
    "a pattern": lambda n: json.dumps({"type": "string", "pattern": "(" * n + "a" + ")" * n}),
}
EXPRESSIONS: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "(" * n + "1" + ")" * n + " == 1",
    "lists": lambda n: "[" * n + "]" * n + " == []",
    "negations": lambda n: "!" * n + "true",
    "signs": lambda n: "-" * n + "1 == 1",
    "members": lambda n: "self" + ".a" * n + " == 1",
    "sums": lambda n: " + ".join("1" * n) + " == 1",
    "conditions": lambda n: "true ? 1 : " * n + "1 == 1",
    "disjunctions": lambda n: " || ".join(["true"] * n),
    "macros": lambda n: "[1].all(x, " * min(n, 300) + "true" + ")" * min(n, 300),
    "indexes": lambda n: "self" + "[0]" * n + " == 1",
    "maps": lambda n: "{1: " * n + "1" + "}" * n + " == {}",
    "calls": lambda n: '"a"' + ".trim()" * n + ' == ""',
}


@pytest.fixture
async def server(autojump_clock: trio.testing.MockClock) -> AsyncIterator[InProcess]:
    """A server with an object to change."""
    del autojump_clock
    async with open_api() as running, running.connect() as client:
        answer = await client.request("POST", MAPS, json={"metadata": {"name": "m"}})
        assert answer.status == 201
        yield running


async def bugs(server: InProcess, sent: list[tuple[str, Sent]]) -> list[tuple[str, bytes]]:
    """The requests that ended in an internal error."""
    found = []
    for what, one in sent:
        body = one.body.encode() if isinstance(one.body, str) else one.body
        async with server.connect() as client:
            headers = {"Content-Type": one.media}
            answer = await client.request(one.method, one.path, headers=headers, body=body)
        if b"Internal error occurred" in answer.body:
            found.append((what, answer.body[:300]))
    return found


@pytest.mark.parametrize("what", BODIES)
async def test_bodies(server: InProcess, what: str) -> None:
    """Of every kind of request that has one."""
    sent = [
        (f"{nest.__name__} {depth}", BODIES[what](nest(depth)))
        for depth in DEPTHS
        for nest in (lists, objects)
    ]
    assert await bugs(server, sent) == []


async def test_protobuf(server: InProcess) -> None:
    """Messages and groups."""
    sent = []
    for depth in (90, 110, *LEVELS):
        path = DEFINITIONS
        sent.append((f"messages {depth}", Sent("POST", path, proto_definition(depth), PROTOBUF)))
        sent.append((f"groups {depth}", Sent("POST", MAPS, groups(depth), PROTOBUF)))
    assert await bugs(server, sent) == []


@pytest.mark.parametrize("what", SCHEMAS)
async def test_schemas(server: InProcess, what: str) -> None:
    """Of definitions."""
    sent = [
        (str(depth), Sent("POST", DEFINITIONS, definition(SCHEMAS[what](depth))))
        for depth in (40, 90, 170, *LEVELS)
    ]
    assert await bugs(server, sent) == []


@pytest.mark.parametrize("what", EXPRESSIONS)
async def test_expressions(server: InProcess, what: str) -> None:
    """In rules of definitions, in policies and in selectors of devices."""
    sent = []
    for depth in LEVELS:
        text = EXPRESSIONS[what](depth)
        sent.append((f"rule {depth}", Sent("POST", DEFINITIONS, ruled(text))))
        sent.append((f"policy {depth}", Sent("POST", POLICIES, policy(text))))
        sent.append((f"device {depth}", Sent("POST", CLASSES, device_class(text))))
    assert await bugs(server, sent) == []


# --- who else is fed ---


@pytest.mark.parametrize("depth", [101, 900, 20_000])
def test_tokens(depth: int) -> None:
    """Claims and headers of issuers' tokens, and of our own."""
    deep = urlsafe_b64encode(f'{{"a":{lists(depth)}}}'.encode()).rstrip(b"=")
    with pytest.raises(signed.Malformed):
        signed.claims_of(b"e30." + deep + b".x")
    with pytest.raises(signed.Malformed):
        signed.parse(deep + b".e30.x")
    with pytest.raises(ValueError, match="nested too deep"):
        own_claims._strict(f'{{"a":{lists(depth)}}}'.encode())


def test_tokens_that_are_not_too_deep() -> None:
    """As deep as they may be."""
    deep = urlsafe_b64encode(f'{{"a":{lists(signed.MOST_DEPTH - 1)}}}'.encode()).rstrip(b"=")
    assert list(signed.claims_of(b"e30." + deep + b".x")) == ["a"]


@pytest.mark.parametrize("depth", [300, 985, 20_000])
def test_steps_of_managed_fields(depth: int) -> None:
    """Which are JSON in a text."""
    for step in (f'k:{{"a":{lists(depth)}}}', f"v:{objects(depth)}"):
        with pytest.raises(ValueError, match=r"depth limit|max depth"):
            fieldpath.parse(step)


@pytest.mark.parametrize("depth", [201, 900, 20_000])
def test_documents_of_aggregated_servers(depth: int) -> None:
    """OpenAPI and discovery."""
    body = f'{{"paths":{objects(depth)}}}'.encode()
    with pytest.raises(ValueError, match=r"nested too deeply|depth limit"):
        documents._part(body, "/apis/a/v1")


def test_answers_of_conversion_webhooks() -> None:
    """An object that goes deeper than stored ones do."""
    answer: dict[str, Any] = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "response": {
            "uid": "u",
            "result": {"status": "Success"},
            "convertedObjects": [{}, {"spec": json.loads(lists(500))}],
        },
    }
    with pytest.raises(BadAnswer, match=r"convertedObjects\[1\] exceeded max depth"):
        converted_in(answer, "u", "v1")


@pytest.mark.parametrize("depth", DEPTHS)
def test_answers_of_admission_webhooks(depth: int) -> None:
    """Whatever member it is in, it is one of its errors, or left out."""
    for member in ("status", "patch", "auditAnnotations", "warnings", "unknown"):
        body = (
            '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":'
            f'{{"uid":"u","allowed":true,"{member}":{objects(depth)}}}}}'
        )
        with suppress(ValueError):
            answers._decoded(body.encode(), "v1", answers.ADMISSION)


@pytest.mark.parametrize("depth", DEPTHS)
def test_patches_of_admission_webhooks(depth: int) -> None:
    """Are made, and the object is refused behind them as any other."""
    patch = f'[{{"op":"add","path":"/data","value":{lists(depth)}}}]'.encode()
    try:
        made = patches.applied({"data": {}}, patches.operations_in(patch))
    except patches.UndecodablePatch:
        assert depth > 9000
    else:
        assert isinstance(made["data"], list)
