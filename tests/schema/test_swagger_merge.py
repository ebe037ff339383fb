"""Swagger documents of several servers as one."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.schema.steps import finish
from kubetrio.schema.swagger_merge import DEFINITIONS, merged_steps, part_of, references, same

Json = dict[str, Any]
NAMES = st.sampled_from(["A", "B", "C", "A_v2"])
SCHEMAS = st.recursive(
    st.one_of(
        st.builds(lambda name: {"$ref": DEFINITIONS + name}, NAMES),
        st.builds(lambda kind: {"type": kind}, st.sampled_from(["string", "integer"])),
    ),
    lambda inner: st.builds(lambda one: {"type": "object", "properties": {"p": one}}, inner),
    max_leaves=3,
)
PARTS = st.builds(
    lambda definitions, used: {
        "paths": {"/apis/x/v1/things": {"get": {"schema": {"$ref": DEFINITIONS + used}}}},
        "definitions": definitions,
    },
    st.dictionaries(NAMES, SCHEMAS, max_size=4),
    NAMES,
)


def resolved(document: Json, value: Any, depth: int = 4) -> Any:
    """A value with what it refers to in its place, some levels deep."""
    if isinstance(value, dict):
        found = value.get("$ref")
        if found is not None:
            name = found.removeprefix(DEFINITIONS)
            there = document["definitions"].get(name)
            return None if there is None or not depth else resolved(document, there, depth - 1)
        return {key: resolved(document, item, depth) for key, item in value.items()}
    return value


@given(PARTS, st.dictionaries(NAMES, SCHEMAS, max_size=4))
def test_nothing_changes_its_meaning(other: Json, ours: Json) -> None:
    """Neither what was there before, nor what comes: references mean the same as they did."""
    names = {DEFINITIONS + name for name in other["definitions"]}
    known = set(references(other)) <= names
    part = part_of(other, "/apis/x/v1/")
    document: Json = {"paths": {}, "definitions": copy.deepcopy(ours)}
    before = {name: resolved(document, one) for name, one in document["definitions"].items()}
    kept = copy.deepcopy(part)
    finish(merged_steps(document, part))
    assert part == kept
    if all(ref.removeprefix(DEFINITIONS) in ours for ref in references(ours)):
        after = {name: resolved(document, document["definitions"][name]) for name in ours}
        assert after == before
    if known and not part["definitions"].keys() & ours.keys():
        path = "/apis/x/v1/things"
        assert resolved(document, document["paths"][path]) == resolved(other, other["paths"][path])


def test_a_path_that_is_there_stays() -> None:
    """Nobody takes another server's paths over."""
    document: Json = {"paths": {"/a/b": {"get": {}}}, "definitions": {}}
    finish(merged_steps(document, part_of({"paths": {"/a/b": {"put": {}}}}, "/a/")))
    assert document["paths"] == {"/a/b": {"get": {}}}


def test_kinds_are_joined() -> None:
    """A definition that two servers have is of the kinds that either says."""
    gvk = "x-kubernetes-group-version-kind"
    one = {"group": "a", "version": "v1", "kind": "K"}
    two = {"group": "b", "version": "v1", "kind": "K"}
    document: Json = {"paths": {}, "definitions": {"D": {"type": "object", gvk: [two]}}}
    other = {
        "paths": {"/a/x": {"schema": {"$ref": DEFINITIONS + "D"}}},
        "definitions": {"D": {"type": "object", "description": "other words", gvk: [one]}},
    }
    finish(merged_steps(document, part_of(other, "/a/")))
    assert document["definitions"] == {"D": {"type": "object", gvk: [one, two]}}


def test_names_that_are_taken() -> None:
    """The next number that nobody has."""
    document: Json = {"paths": {}, "definitions": {"D": {"type": "a"}, "D_v2": {"type": "b"}}}
    other = {
        "paths": {"/a/x": {"schema": {"$ref": DEFINITIONS + "D"}}},
        "definitions": {"D": {"type": "c"}},
    }
    finish(merged_steps(document, part_of(other, "/a/")))
    assert document["definitions"]["D_v3"] == {"type": "c"}
    assert document["paths"]["/a/x"] == {"schema": {"$ref": DEFINITIONS + "D_v3"}}


def test_a_property_called_description() -> None:
    """It is no prose."""
    one = {"properties": {"description": {"type": "string"}}}
    other = {"properties": {"description": {"type": "integer"}}}
    assert not same(one, other)
    assert same({"description": "a"}, {"description": "b"})


@pytest.mark.parametrize(
    "lie", [None, [], {"paths": [1]}, {"paths": {"/a": 1}}, {"definitions": 1}]
)
def test_lies(lie: Any) -> None:
    """What is no Swagger document is refused."""
    with pytest.raises(ValueError, match=r"."):
        part_of(lie, "/a/")


def test_deep_documents() -> None:
    """They cost no more than others."""
    deep: Json = {}
    for _ in range(100_000):
        deep = {"p": deep}
    assert list(references(deep)) == []
    assert same(deep, deep)
