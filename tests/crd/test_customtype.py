"""Large definitions: what is made of them is made in parts, and beside the event loop."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.client import Client
from kubetrio.config import Config, Serving
from kubetrio.crd.customtype import Shared, Version
from kubetrio.env import Env
from kubetrio.kinds.apiextensions.conditions import is_true
from kubetrio.machinery.names import GroupResource
from kubetrio.runtime.effort import Looking
from kubetrio.server import open_server
from kubetrio.structural import schemaparts
from kubetrio.structural.causes import Out
from kubetrio.structural.listtypes import check_lists
from kubetrio.structural.schemaparts import LazyParts, Marks, marks_of
from kubetrio.structural.structure import Node, drop_nulls, fill_in, prune
from kubetrio.structural.values import Checker

Json = dict[str, Any]
T = TypeVar("T")
Args = TypeVarTuple("Args")
TEXT: Json = {"type": "string", "maxLength": 3}


class _Elsewhere(Exception):
    """Work is to be done somewhere else."""


def leave() -> None:
    raise _Elsewhere


def wide(count: int, part: Json | None = None) -> Json:
    """A schema with so many properties."""
    return {"type": "object", "properties": {f"p{at}": part or TEXT for at in range(count)}}


def version(schema: Json) -> Version:
    return Version(schema, Shared(resource=GroupResource("g", "beasts")))


leaves = st.sampled_from([
    TEXT,
    {"type": "string", "default": "d"},
    {"type": "integer", "anyOf": [{"minimum": 3}, {"maximum": 1}]},
    {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    {"type": "string", "nullable": True, "default": None},
    {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
])  # fmt: skip
schemas = st.recursive(
    leaves,
    lambda inner: (
        st.dictionaries(st.sampled_from("abcd"), inner).map(
            lambda properties: {"type": "object", "properties": properties, "required": ["a"]}
        )
        | inner.map(lambda items: {"type": "array", "items": items})
        | inner.map(lambda others: {"type": "object", "additionalProperties": others})
    ),
    max_leaves=8,
)
values = st.recursive(
    st.sampled_from(["x", "long text", 1, 2, 5, None, True]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcdz"), inner),
    max_leaves=8,
)


@given(schemas, st.dictionaries(st.sampled_from("abcdz"), values))
def test_parts_made_when_needed_are_as_those_made_at_once(part: Json, obj: Json) -> None:
    schema = {"type": "object", "properties": dict.fromkeys("abc", part)}
    whole = marks_of({"type": "object", "properties": {"x": schema, **wide(300)["properties"]}})
    assert whole is not None
    results = []
    for marks in (None, whole):
        node, checker = Node(schema, marks=marks), Checker(schema, marks=marks)
        value, out = json.loads(json.dumps(obj)), Out()
        pruned = prune(node, value)
        drop_nulls(node, value)
        fill_in(node, value)
        checker.check(value, "", None, out)
        check_lists(checker, value, "", out)
        results.append((pruned, value, list(out), node.defaults, node.embeds, checker.lists))
    assert results[0] == results[1]


def test_small_schemas_have_no_marks() -> None:
    assert marks_of(wide(10)) is None


def test_an_object_has_what_is_made_for_it_made() -> None:
    made = version(wide(1000))
    made.checker.check({"p1": "x", "p7": "y"}, "", None, Out())
    assert set(made.checker.properties) == {"p1", "p7"}


def test_the_pass_over_a_large_schema_leaves_the_loop() -> None:
    made = version(wide(5000))
    with Looking(leave), pytest.raises(_Elsewhere):
        _ = made.node
    assert made.node.child("p1") is not None


def test_many_parts_at_once_leave_the_loop() -> None:
    marks = Marks({})
    parts = LazyParts(wide(1000)["properties"], partial(Checker, marks=marks), marks)
    names = iter(range(1000))
    with Looking(leave), pytest.raises(_Elsewhere):
        all(parts.get(f"p{at}") for at in names)
    assert len(parts) < schemaparts.AT_ONCE


@pytest.mark.parametrize(
    "part",
    [
        {"type": "string", "enum": [f"v{at}" for at in range(100_000)]},
        {"type": "string", "anyOf": [{"pattern": f"^a{at}$"} for at in range(3_000)]},
        {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'x'"}]},
    ],
    ids=["enum", "anyOf", "rules"],
)
def test_what_takes_long_to_make_leaves_the_loop(part: Json) -> None:
    made = version(wide(1, part))

    def first() -> None:
        made.checker.check({"p0": "v1"}, "", None, Out())
        _ = made.rules

    with Looking(leave), pytest.raises(_Elsewhere):
        first()
    made.checker.check({"p0": "v1"}, "", None, Out())


class Beside:
    """Runs work at once, and remembers what it was."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.judged = trio.Event()

    async def __call__(self, fn: Callable[[*Args], T], *args: *Args) -> T:
        self.names.append(getattr(fn, "__qualname__", repr(fn)))
        await trio.lowlevel.checkpoint()
        if self.names[-1] == "non_structural":
            self.judged.set()
        return fn(*args)


def definition(plural: str, schema: Json) -> Json:
    """A CustomResourceDefinition whose objects have a spec."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.zoo.example.com"},
        "spec": {
            "group": "zoo.example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": plural.title()[:-1]},
            "versions": [{
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}},
            }],
        },
    }  # fmt: skip


def animal(plural: str, name: str, **spec: object) -> Json:
    """An object of a definition."""
    return {
        "apiVersion": "zoo.example.com/v1",
        "kind": plural.title()[:-1],
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


async def establish(client: Client, body: Json) -> None:
    """Make a definition, and wait until its objects are served."""
    made = await client.create(body)
    resource = client.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    with trio.fail_after(10):
        while not is_true(made, "Established"):
            await trio.sleep(0.01)
            made = await client.get(resource, made["metadata"]["name"])


async def test_a_large_definition_is_read_and_judged_beside_the_loop(tmp_path: Path) -> None:
    beside = Beside()
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=0))
    async with open_server(config, env=replace(Env(), bodies=beside)) as server:
        client = server.client()
        for plural, count in (("smalls", 3), ("larges", 2000)):
            beside.names.clear()
            beside.judged = trio.Event()
            await establish(client, definition(plural, wide(count)))
            with trio.fail_after(10):
                await beside.judged.wait()
            parsed = [name for name in beside.names if "_parsed" in name]
            assert bool(parsed) is (plural == "larges")
            with trio.fail_after(10):
                stored = await client.create(animal(plural, "a", p1="x", unknown=1))
            assert stored["spec"] == {"p1": "x"}


async def test_large_definitions_that_are_stored_are_read_beside_the_loop(tmp_path: Path) -> None:
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=0))
    async with open_server(config) as server:
        await establish(server.client(), definition("larges", wide(2000)))
    beside = Beside()
    async with open_server(config, env=replace(Env(), bodies=beside)) as server:
        assert "_parsed" in beside.names[0]
        await server.client().create(animal("larges", "a", p1="x"))


async def test_small_objects_that_get_many_defaults_leave_the_loop(tmp_path: Path) -> None:
    beside = Beside()
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=0))
    async with open_server(config, env=replace(Env(), bodies=beside)) as server:
        client = server.client()
        await establish(client, definition("sheep", wide(5000, {"type": "string", "default": "d"})))
        for name in ("first", "second"):
            beside.names.clear()
            stored = await client.create(animal("sheep", name, p1="x"))
            assert len(stored["spec"]) == 5000
            # Each first in place; the first object has the parts of the schema made as well.
            assert ("decode_value" in beside.names) is (name == "first")
            assert {"_take", "_stamp_new"} <= set(beside.names)
