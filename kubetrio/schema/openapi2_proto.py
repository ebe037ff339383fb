"""The Swagger 2.0 document as protobuf, the form in which kubectl asks for it.

Messages are those of gnostic's ``openapi.v2.Document``.
Source: https://github.com/google/gnostic/blob/main/openapiv2/OpenAPIv2.proto
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from kubetrio.schema.openapi_proto import EXTENSION, Fields, Messages, numbered, shared

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

_fields = partial(numbered, _COMMON)

_LIMITS = [
    *("default", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength"),
    *("minLength", "pattern", "maxItems", "minItems", "uniqueItems", "enum", "multipleOf"),
]
_PRIMITIVE = ["type", "format", "items", "collectionFormat", *_LIMITS]
_PLACE = ["required", "in", "description", "name"]
_OF_PRIMITIVES = {"items": "PrimitivesItems"}

_MEMBERS: Final[Mapping[str, Fields]] = {
    **shared(_COMMON),
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

_MAPS: Final[Mapping[str, tuple[int, str, int]]] = {
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

_LISTS: Final[Mapping[str, str]] = {
    "TypeItem": "string",
    "StringArray": "string",
    "ItemsItem": "Schema",
}

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

_CHOICES: Final[Mapping[str, Callable[[Any], tuple[int, str]]]] = {
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

MESSAGES: Final = Messages(
    members=_MEMBERS,
    maps=_MAPS,
    lists=_LISTS,
    choices=_CHOICES,
    large=frozenset({"Document", "Definitions", "Paths"}),
)
"""The messages of Swagger 2.0."""
