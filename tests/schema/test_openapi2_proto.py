"""The Swagger document as protobuf says what the JSON says."""

import struct
from collections.abc import Generator
from typing import Any

import pytest
import yaml

from kubetrio.kinds.builtin import registry
from kubetrio.schema import openapi
from kubetrio.schema.openapi2_proto import MESSAGES

DOCUMENT = openapi.swagger_v2(registry(), version="v1.36.0")
ENCODED = MESSAGES.encode(DOCUMENT)
Wire = dict[int, list[Any]]

# Field numbers, again, of the messages that are looked into by hand.
PATHS, DEFINITIONS, SHARED, SECURITY, SECURITY_DEFINITIONS = 8, 9, 10, 12, 13
REF, DESCRIPTION, REQUIRED, TYPE, ITEMS, PROPERTIES, EXTENSIONS = 1, 4, 19, 22, 23, 25, 31


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data: bytes) -> Wire:
    """What is on the wire: values by number."""
    found: Wire = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value: Any
        match key & 7:
            case 0:
                value, at = varint(data, at)
            case 1:
                (value,) = struct.unpack_from("<d", data, at)
                at += 8
            case 2:
                size, at = varint(data, at)
                value, at = data[at : at + size], at + size
                assert len(value) == size
            case other:
                pytest.fail(f"wire type {other}")
        found.setdefault(key >> 3, []).append(value)
    return found


def pairs(items: list[bytes]) -> dict[str, bytes]:
    """Names and values of a map, the values still encoded."""
    both = [fields(item) for item in items]
    assert all(set(one) == {1, 2} for one in both)
    result = {one[1][0].decode(): one[2][0] for one in both}
    assert len(result) == len(items)
    return result


def anything(data: bytes) -> Any:
    """A value of any type, of its YAML text."""
    found = fields(data)
    assert set(found) == {2}
    return yaml.safe_load(found[2][0])


TOP = fields(ENCODED)
SCHEMAS = {name: fields(data) for name, data in pairs(fields(TOP[DEFINITIONS][0])[1]).items()}
ITEMS_OF_PATHS = pairs(fields(TOP[PATHS][0])[2])


def read(kind: str, value: Any) -> Any:
    """JSON of a value, by the tables."""
    if kind in ("string", "int", "double"):
        return value.decode() if kind == "string" else value
    if kind in ("bool", "present bool"):
        return bool(value)
    if kind == "Any":
        return anything(value)
    found = fields(value)
    if kind in MESSAGES.lists:
        listed = [read(MESSAGES.lists[kind], item) for item in found.get(1, [])]
        return listed if kind == "StringArray" else listed[0]
    if kind in MESSAGES.maps:
        number, values, extensions = MESSAGES.maps[kind]
        result = {name: read(values, item) for name, item in pairs(found.get(number, [])).items()}
        more = pairs(found.get(extensions, []))
        return {**result, **{name: anything(item) for name, item in more.items()}}
    if kind in MESSAGES.choices:
        ((number, (inner,)),) = found.items()
        return read(CHOSEN[kind, number], inner)
    known = {number: (member, of) for member, (number, of) in MESSAGES.members[kind].items()}
    result = {}
    for number, items in found.items():
        member, of = known[number]
        if member == "x-":
            result |= {name: anything(item) for name, item in pairs(items).items()}
        elif of.startswith("["):
            result[member] = [read(of[1:-1], item) for item in items]
        else:
            (one,) = items
            result[member] = read(of, one)
    return result


CHOSEN = {
    ("ParametersItem", 1): "Parameter",
    ("ParametersItem", 2): "JsonReference",
    ("Parameter", 1): "BodyParameter",
    ("Parameter", 2): "NonBodyParameter",
    ("NonBodyParameter", 1): "HeaderParameterSubSchema",
    ("NonBodyParameter", 2): "FormDataParameterSubSchema",
    ("NonBodyParameter", 3): "QueryParameterSubSchema",
    ("NonBodyParameter", 4): "PathParameterSubSchema",
    ("ResponseValue", 1): "Response",
    ("ResponseValue", 2): "JsonReference",
    ("SchemaItem", 1): "Schema",
    ("SchemaItem", 2): "FileSchema",
    ("AdditionalPropertiesItem", 1): "Schema",
    ("AdditionalPropertiesItem", 2): "present bool",
    ("SecurityDefinitionsItem", 2): "ApiKeySecurity",
}


def test_nothing_is_lost() -> None:
    """Read back, it is the very document."""
    assert read("Document", ENCODED) == DOCUMENT


@pytest.mark.parametrize(
    ("message", "member", "number"),
    [
        ("Document", "x-", 16),
        ("Operation", "x-", 13),
        ("PathItem", "x-", 10),
        ("PathParameterSubSchema", "uniqueItems", 19),
        ("PathParameterSubSchema", "x-", 22),
        ("HeaderParameterSubSchema", "enum", 20),
        ("QueryParameterSubSchema", "uniqueItems", 20),
        ("FormDataParameterSubSchema", "x-", 23),
        ("PrimitivesItems", "x-", 18),
        ("Header", "x-", 19),
        ("Schema", "additionalProperties", 21),
        ("Schema", "x-", 31),
        ("FileSchema", "x-", 10),
        ("Oauth2AccessCodeSecurity", "x-", 7),
    ],
)
def test_numbers_are_gnostics(message: str, member: str, number: int) -> None:
    """Those at the end of a message: any one left out before shifts them."""
    assert MESSAGES.members[message][member][0] == number


def test_the_head() -> None:
    """Swagger version, title and how to log in, by the numbers of the message."""
    assert TOP[1] == [b"2.0"]
    assert fields(TOP[2][0]) == {1: [b"Kubernetes"], 2: [b"v1.36.0"]}
    assert pairs(fields(TOP[SECURITY][0])[1]) == {"BearerToken": b""}
    (login,) = pairs(fields(TOP[SECURITY_DEFINITIONS][0])[1]).values()
    assert fields(fields(login)[2][0]) == {
        1: [b"apiKey"],
        2: [b"authorization"],
        3: [b"header"],
        4: [b"Bearer Token authentication"],
    }


@pytest.mark.parametrize(
    "name",
    [
        "io.k8s.api.core.v1.Pod",
        "io.k8s.api.core.v1.PodSpec",
        "io.k8s.api.core.v1.Container",
        "io.k8s.api.apps.v1.Deployment",
        "io.k8s.api.core.v1.ConfigMapList",
    ],
)
def test_definitions(name: str) -> None:
    """Type, properties, what is required, and what a property refers to."""
    schema, wire = DOCUMENT["definitions"][name], SCHEMAS[name]
    assert fields(wire[TYPE][0]) == {1: [schema["type"].encode()]}
    assert [item.decode() for item in wire.get(REQUIRED, [])] == schema.get("required", [])
    properties = pairs(fields(wire[PROPERTIES][0])[1])
    assert list(properties) == list(schema["properties"])
    for key, value in schema["properties"].items():
        inner = fields(properties[key])
        assert inner.get(REF) == ([value["$ref"].encode()] if "$ref" in value else None), key
        if "items" in value:
            assert list(fields(inner[ITEMS][0])) == [1]


def test_extensions() -> None:
    """What kubectl finds a kind by, and how it merges lists."""
    kinds = pairs(SCHEMAS["io.k8s.api.core.v1.Pod"][EXTENSIONS])
    assert anything(kinds["x-kubernetes-group-version-kind"]) == [
        {"group": "", "kind": "Pod", "version": "v1"}
    ]
    spec = pairs(fields(SCHEMAS["io.k8s.api.core.v1.PodSpec"][PROPERTIES][0])[1])
    containers = pairs(fields(spec["containers"])[EXTENSIONS])
    assert {key: anything(value) for key, value in containers.items()} == {
        key: value
        for key, value in DOCUMENT["definitions"]["io.k8s.api.core.v1.PodSpec"]["properties"][
            "containers"
        ].items()
        if key.startswith("x-")
    }


def test_a_path() -> None:
    """An operation, its body and the parameters it shares with others."""
    path = "/api/v1/namespaces/{namespace}/pods"
    item = fields(ITEMS_OF_PATHS[path])
    post = fields(item[4][0])
    expected = DOCUMENT["paths"][path]["post"]
    assert post[5] == [expected["operationId"].encode()]
    assert [media.decode() for media in post[6]] == expected["produces"]
    assert [media.decode() for media in post[7]] == expected["consumes"]
    body = fields(fields(fields(post[8][0])[1][0])[1][0])
    assert (body[2], body[3]) == ([b"body"], [b"body"])
    assert fields(body[5][0]) == {REF: [b"#/definitions/io.k8s.api.core.v1.Pod"]}
    codes = pairs(fields(post[9][0])[1])
    assert list(codes) == list(expected["responses"])
    shared = [fields(fields(one)[2][0])[1][0].decode() for one in item[9]]
    assert shared == [one["$ref"] for one in DOCUMENT["paths"][path]["parameters"]]
    known = pairs(fields(TOP[SHARED][0])[1])
    found = fields(fields(known[shared[0].rpartition("/")[2]])[2][0])
    namespace = fields(found[4][0])
    assert namespace == {1: [1], 2: [b"path"], 4: [b"namespace"], 5: [b"string"], 19: [1]}


def test_what_kubernetes_does_not_use() -> None:
    """Numbers, references and the other choices; unknown members are left out."""
    document = {
        "swagger": "2.0",
        "x-first": {"b": [1, None]},
        "x-another": "é: {",
        "paths": {
            "x-note": 1,
            "/a": {
                "parameters": [
                    {"$ref": "#/parameters/p"},
                    {"name": "h", "in": "header", "type": "number", "maximum": 1.5, "enum": [1, 2]},
                    {"name": "f", "in": "formData", "type": "string", "minLength": 300},
                ],
                "get": {"responses": {"200": {"$ref": "#/responses/r"}, "x-more": True}},
            },
        },
        "definitions": {
            "A": {"additionalProperties": False, "default": "", "minimum": -1},
            "B": {"additionalProperties": True, "enum": ["a", "b"], "allOf": [{"$ref": "C"}]},
            "": {},
        },
    }
    extra: dict[str, Any] = {**document, "unknown": 1}
    assert read("Document", MESSAGES.encode(extra)) == document


def test_it_can_be_made_in_steps() -> None:
    """None of which is the whole."""
    results = []

    def run() -> Generator[None]:
        results.append((yield from MESSAGES.steps(DOCUMENT)))

    assert len(list(run())) > 20
    assert results == [ENCODED]
