"""Structural schemas: pruning, defaults, resources inside."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.crd.webhookconversion import BadAnswer, converted_in
from kubetrio.machinery.status import Cause
from kubetrio.structural import structure
from kubetrio.structural.listtypes import check_embedded
from kubetrio.structural.structure import Malformed, Node

Object = dict[str, Any]


def texts(found: list[Cause]) -> list[str]:
    """Causes as messages show them."""
    return [f"{cause.field}: {cause.message}" for cause in found]


def inside(spec: Object) -> Object:
    """A schema of an object with a member ``a``."""
    return {"type": "object", "properties": {"a": spec}}


@pytest.mark.parametrize(
    ("schema", "value", "left", "gone"),
    [
        (inside({"type": "integer"}), {"a": 1, "b": 2}, {"a": 1}, ["b"]),
        (
            inside({"type": "array", "items": inside({"type": "string"})}),
            {"a": [{"a": "x", "c": 1}]},
            {"a": [{"a": "x"}]},
            ["a[0].c"],
        ),
        (
            inside({"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
            {"a": {"z": {"y": 1}}},
            {"a": {"z": {"y": 1}}},
            [],
        ),
        (
            inside({
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
                "properties": {"k": inside({"type": "string"})},
            }),
            {"a": {"z": 1, "k": {"a": "", "q": 1}}},
            {"a": {"z": 1, "k": {"a": ""}}},
            ["a.k.q"],
        ),
        (
            inside({"type": "object", "additionalProperties": inside({"type": "string"})}),
            {"a": {"any": {"a": "x", "b": 1}}},
            {"a": {"any": {"a": "x"}}},
            ["a.any.b"],
        ),
    ],
)  # fmt: skip
def test_pruned(schema: Object, value: Object, left: Object, gone: list[str]) -> None:
    """What the schema does not know goes, and is told by its path."""
    value = {**value, "metadata": {"name": "x"}, "kind": "K", "apiVersion": "v"}
    assert structure.prune(Node(schema, root=True), value) == gone
    assert {key: value[key] for key in value if key not in structure.META_FIELDS} == left
    assert value["metadata"] == {"name": "x"}


def test_nulls() -> None:
    """A null stays where it may, is filled in where there is a default, and goes otherwise."""
    node = Node({
        "type": "object",
        "properties": {
            "may": {"type": "string", "nullable": True, "default": "x"},
            "filled": {"type": "string", "default": "y"},
            "goes": {"type": "string"},
        },
    }, root=True)  # fmt: skip
    value = {"may": None, "filled": None, "goes": None}
    structure.drop_nulls(node, value)
    structure.fill_in(node, value)
    assert value == {"may": None, "filled": "y"}


def test_defaults_inside_defaults() -> None:
    """A default object gets the defaults of its own members; lists and maps too."""
    inner = {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}}
    schema = {
        "type": "object",
        "properties": {
            "made": {**inner, "default": {}},
            "absent": inner,
            "list": {"type": "array", "items": inner},
            "map": {"type": "object", "additionalProperties": inner},
        },
    }
    value: Object = {"list": [{}, {"n": 2}], "map": {"k": {}}}
    structure.fill_in(Node(schema, root=True), value)
    assert value == {
        "list": [{"n": 1}, {"n": 2}], "map": {"k": {"n": 1}}, "made": {"n": 1},
    }  # fmt: skip


def test_defaults_are_not_shared() -> None:
    """Two objects that were filled in by one default are changed apart."""
    node = Node(inside({"type": "object", "default": {"b": []}}), root=True)
    one: Object = {}
    two: Object = {}
    structure.fill_in(node, one)
    structure.fill_in(node, two)
    one["a"]["b"].append(1)
    assert two == {"a": {"b": []}}


SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {"type": "integer", "default": 3},
            {"type": "string"},
            {"type": "string", "nullable": True, "default": "d"},
            {"x-kubernetes-int-or-string": True},
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        ]
    ),
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from("abc"), inner).map(
            lambda found: {"type": "object", "properties": found}
        ),
        inner.map(lambda found: {"type": "array", "items": found}),
        inner.map(lambda found: {"type": "object", "additionalProperties": found}),
    ),
    max_leaves=8,
)
VALUES = st.recursive(
    st.none() | st.integers(-5, 5) | st.text("ab", max_size=2) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner),
    max_leaves=10,
)


@given(SCHEMAS, st.dictionaries(st.sampled_from("abcd"), VALUES))
def test_twice_is_as_once(schema: Object, value: Object) -> None:
    """Pruning and defaulting what was pruned and defaulted changes nothing."""
    node = Node({"type": "object", "properties": {"a": schema, "b": schema}}, root=True)

    def pass_over(obj: Object) -> Object:
        structure.prune(node, obj)
        structure.drop_nulls(node, obj)
        structure.fill_in(node, obj)
        return obj

    once = pass_over(orjson.loads(orjson.dumps(value)))
    assert pass_over(orjson.loads(orjson.dumps(once))) == once


EMBEDDED = inside({
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
})  # fmt: skip


def test_resources_inside() -> None:
    """They say what they are, and their metadata are read as those of any object."""
    node = Node(EMBEDDED, root=True)
    out: list[Cause] = []
    check_embedded(node, {"a": {"kind": "B_d"}}, "", out)
    assert texts(out)[0] == "a.apiVersion: Required value"
    assert out[1].field == "a.kind"
    value: Object = {"a": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "no": 1}}}
    assert structure.coerce(node, value) == ["a.metadata.no"]
    assert value["a"]["metadata"] == {"name": "x"}
    with pytest.raises(Malformed):
        structure.coerce(node, {"a": {"metadata": {"labels": 1}}})


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"kind": "Other"}, "expected webhook response of apiextensions.k8s.io/v1, Kind=Conv"),
        ({}, "no response provided"),
        ({"response": {"uid": "no"}}, 'expected response.uid="u", got "no"'),
        ({"response": {"uid": "u", "result": {"status": "Failure", "message": "why"}}}, "why"),
        ({"response": {"uid": "u"}}, "response.result.status was '', not 'Success'"),
    ],
)  # fmt: skip
def test_answers_of_webhooks_that_cannot_be_used(answer: Object, why: str) -> None:
    """In kube-apiserver's words."""
    said = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", **answer}
    with pytest.raises(BadAnswer) as caught:
        converted_in(said, "u", "v1")
    assert str(caught.value).startswith(why)
