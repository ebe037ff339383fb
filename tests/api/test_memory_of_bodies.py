"""What a request holds, at its worst, in proportion to the weight of its body.

Each body is made of the smallest values that a path takes; what is counted is what Python
allocates, the client and its answer included.
"""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import pytest
import trio
import trio.testing

from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess, open_api
from kubetrio.wire import weights

Json = dict[str, Any]

SIZE = 10_000
LONG = 30_000
"""Of bodies whose answers name some of what is wrong, however many there are."""
REST = 500_000
"""Of a request, whatever its body."""
JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
APPLY = "application/apply-patch+yaml"
MERGE, PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


def array(items: Json, **more: Any) -> Json:
    """The schema of a list."""
    return {"type": "array", "items": items, **more}


ATOMIC: Json = {
    "type": "object",
    "x-kubernetes-map-type": "atomic",
    "x-kubernetes-preserve-unknown-fields": True,
}
KEYED: Json = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
ONE: Json = {"type": "integer", "default": 1}
SPECS: dict[str, Json] = {
    "anys": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "bares": {"type": "object"},
    "sets": array(ATOMIC, **{"x-kubernetes-list-type": "set"}),
    "texts": array({"type": "string"}, **{"x-kubernetes-list-type": "set"}),
    "keyeds": array(
        {"type": "object", "required": ["k"], "properties": {"k": {"type": "integer"}}}, **KEYED
    ),
    "filleds": array(
        {"type": "object", "properties": {"a": {**ATOMIC, "default": {"b": 1, "c": 2}}}}
    ),
    "keyfilleds": array({"type": "object", "properties": {"k": ONE, "l": ONE}}, **KEYED),
    "numbers": array({"type": "integer"}),
    "requireds": array({"type": "object", "required": ["a", "b", "c"]}),
    "embeddeds": array(
        {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        }
    ),
}


def definition(plural: str, spec: Json) -> Json:
    """A CustomResourceDefinition."""
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.m.example.com"},
        "spec": {
            "group": "m.example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": plural.capitalize()},
            "versions": [version],
        },
    }


def many(item: str, size: int = SIZE) -> str:
    """A list of equal items."""
    return f"[{','.join([item] * (size // (len(item) + 1)))}]"


def different(form: str, start: int = 1000, size: int = SIZE) -> str:
    """A list of different items."""
    return f"[{','.join(form % n for n in range(start, start + size // (len(form) + 3)))}]"


def members(form: str, size: int = SIZE) -> str:
    """An object of different members."""
    return f"{{{different(form, size=size)[1:-1]}}}"


class Case(NamedTuple):
    """A request.

    Args:
        path: the collection.
        body: its body; ``NAME`` stands for the name.
        media: its media type.
        method: of HTTP.
        before: what is there before, in JSON.
    """

    path: str
    body: bytes
    media: str = JSON
    method: str = "POST"
    before: str = ""


def custom(plural: str, spec: str) -> str:
    """A custom resource."""
    kind = plural.capitalize()
    meta = '"metadata":{"name":"NAME"}'
    return f'{{"apiVersion":"m.example.com/v1","kind":"{kind}",{meta},"spec":{spec}}}'


def create_custom(plural: str, spec: str) -> Case:
    """Create one."""
    return Case(paths(plural), custom(plural, spec).encode())


def paths(plural: str) -> str:
    """Where they are."""
    return f"/apis/m.example.com/v1/namespaces/default/{plural}"


def config_map(rest: str = "", meta: str = "") -> str:
    """A ConfigMap."""
    return f'{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"NAME"{meta}}}{rest}}}'


def pod(spec: str) -> str:
    """A Pod."""
    return f'{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"NAME"}},"spec":{{{spec}}}}}'


def create(body: str, path: str = MAPS) -> Case:
    """Create an object of JSON."""
    return Case(path, body.encode())


def at(text: str, part: str) -> str:
    """A text with a part where it says ``@``."""
    return text.replace("@", part)


def define(schema: str) -> Case:
    """Create a definition whose ``spec`` has this schema."""
    made = json.dumps(definition("NAME", {"at": 0}))
    return create(made.replace('{"at": 0}', schema), DEFINITIONS)


def change(path: str, before: str, patch: str, media: str) -> Case:
    """Patch an object."""
    return Case(path, patch.encode(), media, "PATCH", before)


CONTAINER = '"containers":[{"name":"a","image":"b"%s}]'
SERVICE = '{"apiVersion":"v1","kind":"Service","metadata":{"name":"NAME"},"spec":{"ports":%s}}'
ANY = custom("anys", '{"a":0}')
MAP = config_map(',"data":{"a":"b"}')
FIELDS = (
    '{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":%s}'
)


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


def proto(kind: str, raw: bytes) -> bytes:
    """An object in protobuf."""
    meta = field(1, field(1, b"v1") + field(2, kind.encode()))
    return b"k8s\0" + meta + field(2, raw)


LINES = (
    "apiVersion: m.example.com/v1\nkind: Anys\nmetadata: {name: NAME}\nspec:\n a:\n"
    + " - {}\n" * (SIZE // 6)
)
NAMED = field(1, b"NAME")

CASES: dict[str, Callable[[], Case]] = {
    "objects": lambda: create_custom("anys", at('{"a":@}', many("{}"))),
    "lists": lambda: create_custom("anys", at('{"a":@}', many("[]"))),
    "nested objects": lambda: create_custom("anys", at('{"a":@}', many("{:{}}"))),
    "members": lambda: create_custom("anys", members('"%d":1')),
    "members that are objects": lambda: create_custom("anys", members('"%d":{}')),
    "fractions": lambda: create_custom("anys", at('{"a":@}', many("1.5"))),
    "texts": lambda: create_custom("anys", at('{"a":@}', different('"%d"'))),
    "what is pruned": lambda: create_custom("bares", members('"%d":{}')),
    "a set of equal objects": lambda: create_custom("sets", many("{}")),
    "a set of objects": lambda: create_custom("sets", different('{"a":%d}')),
    "a set of texts": lambda: create_custom("texts", different('"%d"')),
    "a list with keys": lambda: create_custom("keyeds", different('{"k":%d}')),
    "a list with equal keys": lambda: create_custom("keyeds", many('{"k":1}')),
    "defaults": lambda: create_custom("filleds", many("{}")),
    "defaults of keys": lambda: create_custom("keyfilleds", many("{}")),
    "wrong types": lambda: create_custom("numbers", many('""')),
    "missing members": lambda: create_custom("requireds", many("{}")),
    "embedded resources": lambda: create_custom("embeddeds", many("{}")),
    "data": lambda: create(config_map(at(',"data":@', members('"%d":""')))),
    "bad keys": lambda: create(config_map(at(',"data":@', members('"/%d":""', LONG)))),
    "unknown fields": lambda: create(config_map("," + members('"%d":{}')[1:-1])),
    "bad finalizers": lambda: create(
        config_map("", at(',"finalizers":@', different('"%d"', size=LONG)))
    ),
    "bad labels": lambda: create(config_map("", at(',"labels":@', members('"/%d":""', LONG)))),
    "bad owners": lambda: create(config_map("", at(',"ownerReferences":@', many("{}")))),
    "managed fields": lambda: create(
        config_map("", at(',"managedFields":[@]', FIELDS % members('"f:%d":{}')))
    ),
    "entries of managed fields": lambda: create(
        config_map("", at(',"managedFields":@', many(FIELDS % '{"f:a":{}}')))
    ),
    "containers": lambda: create(pod(at('"containers":@', many("{}"))), PODS),
    "gates": lambda: create(pod(f'{CONTAINER % ""},"schedulingGates":{many("{}", LONG)}'), PODS),
    "ports": lambda: create(SERVICE % many("{}"), "/api/v1/namespaces/default/services"),
    "versions of a definition": lambda: create(
        json.dumps(definition("NAME", {})).replace("[{", many("{}")[:-1] + ",{"), DEFINITIONS
    ),
    "alternatives": lambda: define(at('{"type":"object","anyOf":@}', many("{}"))),
    "an enumeration": lambda: define(at('{"type":"string","enum":@}', different('"%d"'))),
    "rules": lambda: define(at('{"type":"object","x-kubernetes-validations":@}', many("{}"))),
    "properties": lambda: define(at('{"type":"object","properties":@}', members('"%d":{}', LONG))),
    "a default": lambda: define(at(f'{json.dumps(ATOMIC)[:-1]},"default":{{"a":@}}}}', many("{}"))),
    "YAML of objects": lambda: Case(MAPS, config_map(at(',"x":@', many("{}"))).encode(), YAML),
    "YAML of lines": lambda: Case(paths("anys"), LINES.encode(), YAML),
    "protobuf of containers": lambda: Case(
        PODS, proto("Pod", field(1, NAMED) + field(2, field(2, b"") * (SIZE // 2))), PROTOBUF
    ),
    "protobuf of owners": lambda: Case(
        MAPS, proto("ConfigMap", field(1, NAMED + field(13, b"") * (SIZE // 2))), PROTOBUF
    ),
    "an applied map": lambda: change(
        MAPS, "", config_map(at(',"data":@', members('"%d":""'))), APPLY
    ),
    "an applied list": lambda: change(
        PODS, "", pod(CONTAINER % at(',"env":@', different('{"name":"a%d"}'))), APPLY
    ),
    "an applied list with keys": lambda: change(
        paths("keyeds"), "", custom("keyeds", different('{"k":%d}')), APPLY
    ),
    "an applied set": lambda: change(paths("texts"), "", custom("texts", different('"%d"')), APPLY),
    "a merge patch": lambda: change(paths("anys"), ANY, at('{"spec":@}', members('"%d":1')), MERGE),
    "a merge patch of objects": lambda: change(
        paths("anys"), ANY, at('{"spec":{"a":@}}', many("{}")), MERGE
    ),
    "a merge patch that does not fit": lambda: change(
        MAPS, MAP, at('{"data":@}', many("{}")), MERGE
    ),
    "a JSON patch": lambda: change(
        paths("anys"), ANY, at('[{"op":"add","path":"/spec/b","value":@}]', many("{}")), PATCH
    ),
    "operations": lambda: change(paths("anys"), ANY, many("{}"), PATCH),
    "a strategic merge patch": lambda: change(
        MAPS, MAP, at('{"data":@}', members('"%d":""')), STRATEGIC
    ),
    "a strategic merge patch that does not fit": lambda: change(
        MAPS, MAP, at('{"data":@}', many("{}")), STRATEGIC
    ),
    "a strategic merge patch of finalizers": lambda: change(
        MAPS, MAP, at('{"metadata":{"finalizers":@}}', different('"e.com/%d"')), STRATEGIC
    ),
    "another set": lambda: Case(
        paths("texts"),
        custom("texts", different('"%d"')).encode(),
        method="PUT",
        before=custom("texts", different('"%d"', 1001)),
    ),
    "another list with keys": lambda: Case(
        paths("keyeds"),
        custom("keyeds", different('{"k":%d}')).encode(),
        method="PUT",
        before=custom("keyeds", different('{"k":%d}', 1001)),
    ),
    "options of a deletion": lambda: Case(
        MAPS, at('{"x":@}', many("{}")).encode(), method="DELETE", before=MAP
    ),
}


async def served(client: Client, path: str) -> None:
    """Wait until a kind is served."""
    with trio.fail_after(60):
        while True:
            if (await client.request("GET", path)).status == 200:
                return
            await trio.sleep(0.05)


@pytest.fixture
async def server(autojump_clock: trio.testing.MockClock) -> AsyncIterator[InProcess]:
    """A server with all the kinds."""
    del autojump_clock
    async with open_api(kept=True) as running, running.connect() as client:
        for plural, spec in SPECS.items():
            answer = await client.request("POST", DEFINITIONS, json=definition(plural, spec))
            assert answer.status == 201, answer.body
        for plural in SPECS:
            await served(client, paths(plural))
        yield running


async def peak(server: InProcess, case: Case, name: str) -> tuple[int, int]:
    """Bytes allocated at the worst moment of a request, and its status."""
    async with server.connect() as client:
        if case.before:
            before = case.before.replace("NAME", name).encode()
            answer = await client.request(
                "POST", case.path, headers={"Content-Type": JSON}, body=before
            )
            assert answer.status == 201, answer.body[:1000]
        target = case.path if case.method == "POST" else f"{case.path}/{name}"
        if case.path == DEFINITIONS:
            target += "?dryRun=All"  # what follows of it is not this request's
        if case.media == APPLY:
            target += "?fieldManager=m"
        body = case.body.replace(b"NAME", name.encode())
        gc.collect()
        tracemalloc.start()
        try:
            answer = await client.request(
                case.method, target, headers={"Content-Type": case.media}, body=body
            )
            return tracemalloc.get_traced_memory()[1], answer.status
        finally:
            tracemalloc.stop()


async def test_memory_is_bounded_by_the_weight_of_a_body(server: InProcess) -> None:
    """Thirty times, whatever the path that a body takes."""
    over = {}
    for number, (what, make) in enumerate(CASES.items()):
        case = make()
        weight = weights.weight(case.body, case.media, change=case.method in ("PUT", "PATCH"))
        used, status = await peak(server, case, f"n{number:03}")
        assert status < 500, what
        if used > weights.TIMES * weight + REST:
            over[what] = (used / weight, status)
    assert not over
