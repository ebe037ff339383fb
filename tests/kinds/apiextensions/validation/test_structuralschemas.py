"""Warnings about formats in the schemas of a definition."""

from __future__ import annotations

from copy import deepcopy

import pytest
from checks.helpers import Json, made, resource, warned

from kubetrio.resources.validation import warnings

DEFINITIONS = resource("customresourcedefinitions", "apiextensions.k8s.io")


def definition(properties: Json | None = None, **spec: object) -> Json:
    schema: Json = {"type": "object"}
    if properties:
        schema["properties"] = properties
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "metadata": {"name": "as.b.c"},
        "spec": {
            "group": "b.c",
            "scope": "Namespaced",
            "names": {"plural": "as", "kind": "A"},
            "versions": [version],
            **spec,
        },
    }


@pytest.mark.parametrize(
    ("kind", "name", "known"),
    [
        ("string", "date-time", True),
        ("string", "datetime", True),
        ("string", "k8s-short-name", True),
        ("string", "int32", False),
        ("integer", "int32", True),
        ("integer", "int-32", False),
        ("integer", "uint32", False),
        ("number", "double", True),
        ("number", "int64", False),
        ("boolean", "uuid", False),
        ("object", "date", False),
    ],
)
def test_formats_belong_to_types(kind: str, name: str, known: bool) -> None:
    """A format counts where the server looks at it."""
    body = definition({"spec": {"type": kind, "format": name}})
    assert warned(DEFINITIONS, body) == ([] if known else [f'unrecognized format "{name}"'])


def test_formats_are_found_everywhere_and_told_once() -> None:
    """Schemas have many places for schemas."""
    odd = {"type": "string", "format": "odd"}
    body = definition(
        {
            "a": {"type": "array", "items": {"type": "array", "items": odd}},
            "b": {"type": "object", "additionalProperties": {"type": "string", "format": "x"}},
            "c": {"anyOf": [{"not": {"format": "y"}}], "x-kubernetes-int-or-string": True},
        }
    )
    assert warned(DEFINITIONS, body) == [
        'unrecognized format "odd"',
        'unrecognized format "x"',
        'unrecognized format "y"',
    ]


def test_stored_formats_are_not_told_again() -> None:
    """Only what a change brings is worth a warning."""
    old = made(DEFINITIONS, definition({"a": {"type": "string", "format": "odd"}}))
    new = deepcopy(old)
    schema = new["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["b"] = {"type": "string", "format": "odd"}
    schema["properties"]["c"] = {"type": "string", "format": "new"}
    assert warnings(DEFINITIONS, new, old) == ['unrecognized format "new"']
