"""Types of custom resources: what a type checker knows of them."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest

from kubetrio.cli.typegen import SchemaError, module_of

Object = dict[str, Any]
STRING = {"type": "string"}
SCHEMA: Object = {
    "type": "object",
    "description": 'A "widget". It does things.',
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer"},
                "ratio": {"type": "number", "nullable": True},
                "mode": {"type": "string", "enum": ["on", "off"]},
                "port": {"x-kubernetes-int-or-string": True},
                "labels": {"type": "object", "additionalProperties": STRING},
                "parts": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"in": STRING, "a-b": STRING}},
                },
                "typed": {"type": "object", "properties": {"int": {"type": "integer"}}},
                "raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "any": {},
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}


def definition(**versions: Object) -> Object:
    return {
        "kind": "CustomResourceDefinition",
        "spec": {
            "group": "example.com",
            "names": {"kind": "Widget"},
            "versions": [
                {"name": name, "schema": {"openAPIV3Schema": schema}}
                for name, schema in versions.items()
            ],
        },
    }


def loaded(text: str) -> Object:
    """The module, run."""
    space: Object = {"__name__": "made"}
    exec(compile(text, "made", "exec", dont_inherit=True), space)
    return space


def test_members_have_their_types() -> None:
    """Those that are required have to be given, names that Python reserves are members too."""
    text = module_of([definition(v1=SCHEMA)])
    space = loaded(text)
    whole, spec = space["WidgetV1"], space["WidgetV1Spec"]
    assert whole.__required_keys__ == {"apiVersion", "kind", "metadata", "spec"}
    assert whole.__doc__ == "A 'widget'."
    assert spec.__required_keys__ == {"size"}
    shown = {key: str(hint) for key, hint in get_type_hints(spec, space).items()}
    assert shown == {
        "size": "<class 'int'>",
        "ratio": "float | None",
        "mode": "typing.Literal['on', 'off']",
        "port": "int | str",
        "labels": "dict[str, str]",
        "parts": "list[made.WidgetV1SpecPartsItem]",
        "typed": "<class 'made.WidgetV1SpecTyped'>",
        "raw": "dict[str, typing.Any]",
        "any": "typing.Any",
    }
    assert "class WidgetV1SpecTyped(" not in text  # its member would hide the type "int"
    assert space["ObjectMeta"].__required_keys__ == {"name"}
    assert set(space["WidgetV1SpecPartsItem"].__annotations__) == {"in", "a-b"}


def test_versions_and_names_do_not_collide() -> None:
    """Each class has a name of its own."""
    nested = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {}}}}}
    text = module_of([definition(v1=nested, v1beta1=nested), definition(v1=nested)])
    space = loaded(text)
    assert {"WidgetV1", "WidgetV1beta1", "WidgetV12", "WidgetV1A", "WidgetV1beta1A"} <= set(space)
    assert text.count("class WidgetV1(") == 1


def test_a_version_without_a_schema_is_an_object() -> None:
    """With the members that each has."""
    space = loaded(module_of([definition(v1={})]))
    assert space["WidgetV1"].__required_keys__ == {"apiVersion", "kind", "metadata"}


def test_what_is_no_definition_is_told() -> None:
    """With what is missing."""
    with pytest.raises(SchemaError, match="'names' is missing"):
        module_of([{"spec": {"group": "g"}}])
