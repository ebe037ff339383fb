"""OpenAPI v3 documents as protobuf, the form in which client-go asks for them.

Messages are those of gnostic's ``openapi.v3.Document``.
Source: https://github.com/google/gnostic/blob/main/openapiv3/OpenAPIv3.proto
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from kubetrio.schema.openapi_proto import EXTENSION, Fields, Messages, numbered, shared

_COMMON: Final = {
    **dict.fromkeys(("multipleOf", "maximum", "minimum"), "double"),
    **dict.fromkeys(
        ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), "int"
    ),
    **dict.fromkeys(
        ("exclusiveMaximum", "exclusiveMinimum", "nullable", "readOnly", "uniqueItems"), "bool"
    ),
    **dict.fromkeys(
        ("allowEmptyValue", "allowReserved", "attribute", "explode", "wrapped"), "bool"
    ),
    **dict.fromkeys(("deprecated", "required", "writeOnly"), "bool"),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), "[SchemaOrReference]"),
    "callbacks": "CallbacksOrReferences",
    "content": "MediaTypes",
    "example": "Any",
    "examples": "ExamplesOrReferences",
    "externalDocs": "ExternalDocs",
    "headers": "HeadersOrReferences",
    "links": "LinksOrReferences",
    "parameters": "[ParameterOrReference]",
    "schema": "SchemaOrReference",
    "security": "[SecurityRequirement]",
    "servers": "[Server]",
    EXTENSION: "[NamedAny]",
}
_fields = partial(numbered, _COMMON)
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_SERIALIZED = ("style", "explode", "allowReserved", "schema", "example", "examples", "content")

_MEMBERS: Final[Mapping[str, Fields]] = {
    **shared(_COMMON),
    "Document": _fields(
        *("openapi", "info", "servers", "paths", "components", "security", "tags", "externalDocs"),
        EXTENSION,
        info="Info",
        paths="Paths",
        components="Components",
        tags="[Tag]",
    ),
    "Info": _fields(
        *("title", "description", "termsOfService", "contact", "license", "version", EXTENSION),
        "summary",
        contact="Contact",
        license="License",
    ),
    "Server": _fields("url", "description", "variables", EXTENSION, variables="ServerVariables"),
    "ServerVariable": _fields("enum", "default", "description", EXTENSION, enum="[string]"),
    "Reference": _fields("$ref", "summary", "description"),
    "Components": _fields(
        *("schemas", "responses", "parameters", "examples", "requestBodies", "headers"),
        *("securitySchemes", "links", "callbacks", EXTENSION),
        schemas="SchemasOrReferences",
        responses="ResponsesOrReferences",
        parameters="ParametersOrReferences",
        requestBodies="RequestBodiesOrReferences",
        securitySchemes="SecuritySchemesOrReferences",
    ),
    "PathItem": _fields(
        *("$ref", "summary", "description", *_METHODS, "servers", "parameters", EXTENSION),
        **dict.fromkeys(_METHODS, "Operation"),
    ),
    "Operation": _fields(
        *("tags", "summary", "description", "externalDocs", "operationId", "parameters"),
        *("requestBody", "responses", "callbacks", "deprecated", "security", "servers", EXTENSION),
        tags="[string]",
        requestBody="RequestBodyOrReference",
        responses="Responses",
    ),
    "Parameter": _fields(
        *("name", "in", "description", "required", "deprecated", "allowEmptyValue", *_SERIALIZED),
        EXTENSION,
    ),
    "Header": _fields(
        *("description", "required", "deprecated", "allowEmptyValue", *_SERIALIZED, EXTENSION)
    ),
    "RequestBody": _fields("description", "content", "required", EXTENSION),
    "Response": _fields("description", "headers", "content", "links", EXTENSION),
    "MediaType": _fields(
        "schema", "example", "examples", "encoding", EXTENSION, encoding="Encodings"
    ),
    "Encoding": _fields("contentType", "headers", "style", "explode", "allowReserved", EXTENSION),
    "Example": _fields("summary", "description", "value", "externalValue", EXTENSION, value="Any"),
    "Link": _fields(
        *("operationRef", "operationId", "parameters", "requestBody", "description", "server"),
        EXTENSION,
        parameters="AnyOrExpression",
        requestBody="AnyOrExpression",
        server="Server",
    ),
    "Schema": _fields(
        *("nullable", "discriminator", "readOnly", "writeOnly", "xml", "externalDocs", "example"),
        *("deprecated", "title", "multipleOf", "maximum", "exclusiveMaximum", "minimum"),
        *("exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems"),
        *("uniqueItems", "maxProperties", "minProperties", "required", "enum", "type", "allOf"),
        *("oneOf", "anyOf", "not", "items", "properties", "additionalProperties", "default"),
        *("description", "format", EXTENSION),
        discriminator="Discriminator",
        xml="Xml",
        required="[string]",
        enum="[Any]",
        items="ItemsItem",
        properties="Properties",
        additionalProperties="AdditionalPropertiesItem",
        default="DefaultType",
        **{"not": "Schema"},
    ),
    "Discriminator": _fields("propertyName", "mapping", EXTENSION, mapping="Strings"),
    "SecurityScheme": _fields(
        *("type", "description", "name", "in", "scheme", "bearerFormat", "flows"),
        *("openIdConnectUrl", EXTENSION),
        flows="OauthFlows",
    ),
    "OauthFlows": _fields(
        *("implicit", "password", "clientCredentials", "authorizationCode", EXTENSION),
        **dict.fromkeys(
            ("implicit", "password", "clientCredentials", "authorizationCode"), "OauthFlow"
        ),
    ),
    "OauthFlow": _fields(
        "authorizationUrl", "tokenUrl", "refreshUrl", "scopes", EXTENSION, scopes="Strings"
    ),
}

_OR_REFERENCE: Final = {
    "Callback": "CallbacksOrReferences",
    "Example": "ExamplesOrReferences",
    "Header": "HeadersOrReferences",
    "Link": "LinksOrReferences",
    "Parameter": "ParametersOrReferences",
    "RequestBody": "RequestBodiesOrReferences",
    "Response": "ResponsesOrReferences",
    "Schema": "SchemasOrReferences",
    "SecurityScheme": "SecuritySchemesOrReferences",
}
"""Messages that a reference may stand for, and the maps of them."""

_MAPS: Final[Mapping[str, tuple[int, str, int]]] = {
    **{plural: (1, f"{one}OrReference", 0) for one, plural in _OR_REFERENCE.items()},
    "Callback": (1, "PathItem", 2),
    "Encodings": (1, "Encoding", 0),
    "MediaTypes": (1, "MediaType", 0),
    "Paths": (1, "PathItem", 2),
    "Properties": (1, "SchemaOrReference", 0),
    "Responses": (2, "ResponseOrReference", 3),
    "SecurityRequirement": (1, "StringArray", 0),
    "ServerVariables": (1, "ServerVariable", 0),
    "Strings": (1, "string", 0),
}
_LISTS: Final[Mapping[str, str]] = {"ItemsItem": "SchemaOrReference", "StringArray": "string"}


def _or_reference(one: str) -> Callable[[Any], tuple[int, str]]:
    return lambda value: (2, "Reference") if "$ref" in value else (1, one)


def _default(value: Any) -> tuple[int, str]:
    """Defaults that are objects or lists have no field: an empty message says that there is one."""
    match value:
        case bool():
            return 2, "present bool"
        case int() | float():
            return 1, "present double"
        case str():
            return 3, "present string"
        case _:
            return 0, ""


_CHOICES: Final[Mapping[str, Callable[[Any], tuple[int, str]]]] = {
    **{f"{one}OrReference": _or_reference(one) for one in _OR_REFERENCE},
    "AdditionalPropertiesItem": lambda value: (
        (2, "present bool") if isinstance(value, bool) else (1, "SchemaOrReference")
    ),
    "AnyOrExpression": lambda _: (1, "Any"),
    "DefaultType": _default,
}

MESSAGES: Final = Messages(
    members=_MEMBERS,
    maps=_MAPS,
    lists=_LISTS,
    choices=_CHOICES,
    large=frozenset({"Components", "Document", "Paths", "SchemasOrReferences"}),
)
"""The messages of OpenAPI v3."""
