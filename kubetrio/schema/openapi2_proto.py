"""The Swagger 2.0 document as protobuf, the form in which kubectl asks for it.

Messages are those of gnostic's ``openapi.v2.Document``: a member of a JSON object is a field, a map
is a message of name and value pairs, a value of any type is YAML text (here JSON, which is YAML).
Source: https://github.com/google/gnostic/blob/main/openapiv2/OpenAPIv2.proto
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, Final

import orjson

from kubetrio.schema.steps import Steps, finish
from kubetrio.wire.protovalues import varint
from kubetrio.wire.protowire import delimited

Json = dict[str, Any]
Fields = Mapping[str, tuple[int, str]]
"""Number and kind by member. A kind is a scalar or a message; in brackets it is repeated."""

MEDIA_TYPE: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""What the document is sent as."""
ASKED_FOR: Final = (MEDIA_TYPE, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
"""What clients ask for it as; the second is no valid media type, and kubectl's."""

EXTENSION: Final = "x-"
"""Every member that begins so is an extension, under this name in the tables."""
STEP: Final = 2
"""Entries of a large map that are encoded at a time."""

_VARINT, _FIXED64 = 0, 1


def _fields(*members: str, **kinds: str) -> dict[str, tuple[int, str]]:
    """Members in order of their numbers, from 1; strings unless a kind is given."""
    return {
        member: (number, kinds.get(member, _COMMON.get(member, "string")))
        for number, member in enumerate(members, 1)
    }


_COMMON: Final = {
    **dict.fromkeys(("default", "example"), "Any"),
    **dict.fromkeys(("multipleOf", "maximum", "minimum"), "double"),
    **dict.fromkeys(
        ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), "int"
    ),
    **dict.fromkeys(
        ("exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "readOnly", "deprecated"), "bool"
    ),
    **dict.fromkeys(("required", "allowEmptyValue", "attribute", "wrapped"), "bool"),
    **dict.fromkeys(("schemes", "consumes", "produces"), "[string]"),
    "enum": "[Any]",
    "externalDocs": "ExternalDocs",
    "parameters": "[ParametersItem]",
    "security": "[SecurityRequirement]",
    EXTENSION: "[NamedAny]",
}

_LIMITS = [
    *("default", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength"),
    *("minLength", "pattern", "maxItems", "minItems", "uniqueItems", "enum", "multipleOf"),
]
_PRIMITIVE = ["type", "format", "items", "collectionFormat", *_LIMITS]
_PLACE = ["required", "in", "description", "name"]
_OF_PRIMITIVES = {"items": "PrimitivesItems"}

MESSAGES: Final[Mapping[str, Fields]] = {
    "Document": _fields(
        *("swagger", "info", "host", "basePath", "schemes", "consumes", "produces", "paths"),
        *("definitions", "parameters", "responses", "security", "securityDefinitions", "tags"),
        *("externalDocs", EXTENSION),
        info="Info",
        paths="Paths",
        definitions="Definitions",
        parameters="ParameterDefinitions",
        responses="ResponseDefinitions",
        securityDefinitions="SecurityDefinitions",
        tags="[Tag]",
    ),
    "Info": _fields(
        *("title", "version", "description", "termsOfService", "contact", "license", EXTENSION),
        contact="Contact",
        license="License",
    ),
    "Contact": _fields("name", "url", "email", EXTENSION),
    "License": _fields("name", "url", EXTENSION),
    "Tag": _fields("name", "description", "externalDocs", EXTENSION),
    "ExternalDocs": _fields("description", "url", EXTENSION),
    "JsonReference": _fields("$ref", "description"),
    "PathItem": _fields(
        *("$ref", "get", "put", "post", "delete", "options", "head", "patch", "parameters"),
        EXTENSION,
        **dict.fromkeys(("get", "put", "post", "delete", "options", "head", "patch"), "Operation"),
    ),
    "Operation": _fields(
        *("tags", "summary", "description", "externalDocs", "operationId", "produces", "consumes"),
        *("parameters", "responses", "schemes", "deprecated", "security", EXTENSION),
        tags="[string]",
        responses="Responses",
    ),
    "BodyParameter": _fields(
        "description", "name", "in", "required", "schema", EXTENSION, schema="Schema"
    ),
    "HeaderParameterSubSchema": _fields(*_PLACE, *_PRIMITIVE, EXTENSION, **_OF_PRIMITIVES),
    "PathParameterSubSchema": _fields(*_PLACE, *_PRIMITIVE, EXTENSION, **_OF_PRIMITIVES),
    "QueryParameterSubSchema": _fields(
        *_PLACE, "allowEmptyValue", *_PRIMITIVE, EXTENSION, **_OF_PRIMITIVES
    ),
    "FormDataParameterSubSchema": _fields(
        *_PLACE, "allowEmptyValue", *_PRIMITIVE, EXTENSION, **_OF_PRIMITIVES
    ),
    "PrimitivesItems": _fields(*_PRIMITIVE, EXTENSION, **_OF_PRIMITIVES),
    "Header": _fields(*_PRIMITIVE, "description", EXTENSION, **_OF_PRIMITIVES),
    "Response": _fields(
        *("description", "schema", "headers", "examples", EXTENSION),
        schema="SchemaItem",
        headers="Headers",
        examples="Examples",
    ),
    "Schema": _fields(
        *("$ref", "format", "title", "description", "default", "multipleOf", "maximum"),
        *("exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern"),
        *("maxItems", "minItems", "uniqueItems", "maxProperties", "minProperties", "required"),
        *("enum", "additionalProperties", "type", "items", "allOf", "properties"),
        *("discriminator", "readOnly", "xml", "externalDocs", "example", EXTENSION),
        required="[string]",
        additionalProperties="AdditionalPropertiesItem",
        type="TypeItem",
        items="ItemsItem",
        allOf="[Schema]",
        properties="Properties",
        xml="Xml",
    ),
    "FileSchema": _fields(
        *("format", "title", "description", "default", "required", "type", "readOnly"),
        *("externalDocs", "example", EXTENSION),
        required="[string]",
    ),
    "Xml": _fields("name", "namespace", "prefix", "attribute", "wrapped", EXTENSION),
    "BasicAuthenticationSecurity": _fields("type", "description", EXTENSION),
    "ApiKeySecurity": _fields("type", "name", "in", "description", EXTENSION),
    "Oauth2ImplicitSecurity": _fields(
        *("type", "flow", "scopes", "authorizationUrl", "description", EXTENSION),
        scopes="Oauth2Scopes",
    ),
    "Oauth2PasswordSecurity": _fields(
        "type", "flow", "scopes", "tokenUrl", "description", EXTENSION, scopes="Oauth2Scopes"
    ),
    "Oauth2ApplicationSecurity": _fields(
        "type", "flow", "scopes", "tokenUrl", "description", EXTENSION, scopes="Oauth2Scopes"
    ),
    "Oauth2AccessCodeSecurity": _fields(
        *("type", "flow", "scopes", "authorizationUrl", "tokenUrl", "description", EXTENSION),
        scopes="Oauth2Scopes",
    ),
}
"""Messages that are JSON objects with members of their own."""

MAPS: Final[Mapping[str, tuple[int, str, int]]] = {
    "Paths": (2, "PathItem", 1),
    "Responses": (1, "ResponseValue", 2),
    "Definitions": (1, "Schema", 0),
    "Properties": (1, "Schema", 0),
    "ParameterDefinitions": (1, "Parameter", 0),
    "ResponseDefinitions": (1, "Response", 0),
    "SecurityDefinitions": (1, "SecurityDefinitionsItem", 0),
    "SecurityRequirement": (1, "StringArray", 0),
    "Headers": (1, "Header", 0),
    "Examples": (1, "Any", 0),
    "Oauth2Scopes": (1, "string", 0),
}
"""Messages that are JSON objects of any names: numbers of the pairs and of extensions (0: none that
are apart), and between them the kind of the values."""

LISTS: Final[Mapping[str, str]] = {
    "TypeItem": "string",
    "StringArray": "string",
    "ItemsItem": "Schema",
}
"""Messages that are a JSON array, or one item of it: its kind; the number is 1."""

_PARAMETERS: Final = {
    "header": (1, "HeaderParameterSubSchema"),
    "formData": (2, "FormDataParameterSubSchema"),
    "query": (3, "QueryParameterSubSchema"),
    "path": (4, "PathParameterSubSchema"),
}
_SECURITY: Final = {
    "basic": (1, "BasicAuthenticationSecurity"),
    "apiKey": (2, "ApiKeySecurity"),
    "implicit": (3, "Oauth2ImplicitSecurity"),
    "password": (4, "Oauth2PasswordSecurity"),
    "application": (5, "Oauth2ApplicationSecurity"),
    "accessCode": (6, "Oauth2AccessCodeSecurity"),
}

CHOICES: Final[Mapping[str, Callable[[Any], tuple[int, str]]]] = {
    "ParametersItem": lambda value: (2, "JsonReference") if "$ref" in value else (1, "Parameter"),
    "ResponseValue": lambda value: (2, "JsonReference") if "$ref" in value else (1, "Response"),
    "Parameter": lambda value: (
        (1, "BodyParameter") if value["in"] == "body" else (2, "NonBodyParameter")
    ),
    "NonBodyParameter": lambda value: _PARAMETERS[value["in"]],
    "SchemaItem": lambda value: (2, "FileSchema") if value.get("type") == "file" else (1, "Schema"),
    "AdditionalPropertiesItem": lambda value: (
        (2, "present bool") if isinstance(value, bool) else (1, "Schema")
    ),
    "SecurityDefinitionsItem": lambda value: _SECURITY[value.get("flow") or value["type"]],
}
"""Messages that are one of several: the field a value goes to."""


def encode(document: Json) -> bytes:
    """The bytes of a document; members that Swagger 2.0 does not have are left out.

    Args:
        document: a Swagger 2.0 document as JSON.
    """
    return finish(steps(document))


def steps(document: Json) -> Steps[bytes]:
    """``encode`` a little at a time, for whoever has something else to do in between.

    Args:
        document: a Swagger 2.0 document as JSON.
    """
    large: list[tuple[int, bytes]] = []
    for member in ("paths", "definitions"):
        number, kind = MESSAGES["Document"][member]
        parts: list[bytes] = []
        entries = list(document.get(member, {}).items())
        for start in range(0, len(entries), STEP):
            parts.append(_map(kind, dict(entries[start : start + STEP])))
            yield
        large.append((number, delimited(number, b"".join(parts))))
    small = {key: value for key, value in document.items() if key not in ("paths", "definitions")}
    return _ordered([*_members("Document", small), *large])


def _members(name: str, value: Json) -> Iterable[tuple[int, bytes]]:
    """Fields of a message that has members, each with its number."""
    known = MESSAGES[name]
    for member, content in value.items():
        if member in known:
            number, kind = known[member]
            yield number, _field(number, kind, content)
        elif member.startswith(EXTENSION) and EXTENSION in known:
            number = known[EXTENSION][0]
            yield number, _pair(number, member, "Any", content)


def _ordered(fields: Iterable[tuple[int, bytes]]) -> bytes:
    """Fields in order of their numbers, those of one number as they come."""
    return b"".join(part for _, part in sorted(fields, key=itemgetter(0)))


def _message(name: str, value: Any) -> bytes:
    """The bytes of a message, without key and length."""
    if name in MESSAGES:
        return _ordered(_members(name, value))
    if name in CHOICES:
        number, kind = CHOICES[name](value)
        return _field(number, kind, value)
    if name in MAPS:
        return _map(name, value)
    if name in LISTS:
        items = value if isinstance(value, list) else [value]
        return _field(1, f"[{LISTS[name]}]", items)
    return delimited(2, orjson.dumps(value))  # Any


def _map(name: str, value: Json) -> bytes:
    pairs, kind, extensions = MAPS[name]
    return b"".join(
        _pair(extensions, key, "Any", item)
        if extensions and key.startswith(EXTENSION)
        else _pair(pairs, key, kind, item)
        for key, item in value.items()
    )


def _pair(number: int, name: str, kind: str, value: Any) -> bytes:
    """A field that is a message of a name and a value."""
    return delimited(number, delimited(1, name.encode()) + _field(2, kind, value))


def _field(number: int, kind: str, value: Any) -> bytes:
    """A field with its key; nothing for a scalar that is zero."""
    if kind[0] == "[":
        return b"".join(_item(number, kind[1:-1], item) for item in value)
    if not value and kind in ("string", "bool", "int", "double"):
        return b""
    return _item(number, kind, value)


def _item(number: int, kind: str, value: Any) -> bytes:
    if kind == "string":
        return delimited(number, value.encode())
    if kind in ("bool", "int", "present bool"):
        return varint(number << 3 | _VARINT) + varint(int(value))
    if kind == "double":
        return varint(number << 3 | _FIXED64) + struct.pack("<d", value)
    return delimited(number, _message(kind, value))
