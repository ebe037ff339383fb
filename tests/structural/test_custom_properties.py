"""Random structural schemas and objects: against another implementation, and against themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
import trio
from examples import shortened
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.crd.customtype import Settling, Shared, Version
from kubetrio.kinds.apiextensions.validation.structuralschemas import structural
from kubetrio.machinery.names import GroupResource, GroupVersionKind
from kubetrio.machinery.status import Cause
from kubetrio.schema.kind import Kind
from kubetrio.structural import structure
from kubetrio.structural.causes import Out
from kubetrio.structural.structure import Node
from kubetrio.structural.values import Checker, Old

Object = dict[str, Any]
NAMES = "abc"
GROUP = "example.com"
PATTERNS = ["^a", "b$", "^[ab]*$", "a.b", "^(a|b)c?$"]

# --- schemas ---


def some(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    """Any choice of members."""
    return st.fixed_dictionaries({}, optional=members)


TEXTS = st.text("abc", max_size=4)
NUMBERS = st.integers(-4, 8) | st.sampled_from([0.5, 1.5, -2.25])
TEXT_CHECKS = some(
    maxLength=st.integers(0, 4),
    minLength=st.integers(0, 3),
    pattern=st.sampled_from(PATTERNS),
    enum=st.lists(TEXTS, min_size=1, max_size=4, unique=True),
)
WHOLE_CHECKS = some(
    minimum=st.integers(-4, 4),
    maximum=st.integers(-4, 8),
    multipleOf=st.integers(1, 3),
    enum=st.lists(st.integers(-4, 8), min_size=1, max_size=4, unique=True),
)
EXCLUSIVE = some(exclusiveMinimum=st.booleans(), exclusiveMaximum=st.booleans())
NUMBER_CHECKS = some(
    minimum=NUMBERS, maximum=NUMBERS, enum=st.lists(NUMBERS, min_size=1, max_size=4, unique=True)
)
LIST_CHECKS = some(maxItems=st.integers(0, 3), minItems=st.integers(0, 2))
OBJECT_CHECKS = some(
    maxProperties=st.integers(0, 3),
    minProperties=st.integers(0, 2),
    required=st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True),
)


def merged(*parts: Object) -> Object:
    """One schema of several."""
    whole: Object = {}
    for part in parts:
        whole.update(part)
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if bound not in whole:  # JSON Schema has no such thing
            whole.pop(exclusive, None)
    return whole


def junctors(inner: st.SearchStrategy[Object]) -> st.SearchStrategy[Object]:
    """Value validations, combined; they name no types."""
    many = st.lists(inner, min_size=1, max_size=3)
    members = {"anyOf": many, "oneOf": many, "allOf": many, "not": inner}
    return some(**members)


CHECKS = st.recursive(
    st.builds(merged, st.one_of(WHOLE_CHECKS, TEXT_CHECKS, LIST_CHECKS, OBJECT_CHECKS), EXCLUSIVE),
    junctors,
    max_leaves=5,
)
LEAVES = st.one_of(
    st.builds(merged, st.just({"type": "string"}), TEXT_CHECKS),
    st.builds(merged, st.just({"type": "integer"}), WHOLE_CHECKS, EXCLUSIVE),
    st.builds(merged, st.just({"type": "number"}), NUMBER_CHECKS, EXCLUSIVE),
    st.just({"type": "boolean"}),
    st.just({"x-kubernetes-int-or-string": True}),
    st.just({"x-kubernetes-preserve-unknown-fields": True}),
)


def containers(inner: st.SearchStrategy[Object]) -> st.SearchStrategy[Object]:
    """Lists, objects and maps of other schemas."""
    properties = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    listed = st.builds(lambda it: {"type": "array", "items": it}, inner)
    made = st.builds(lambda it: {"type": "object", "properties": it}, properties)
    mapped = st.builds(lambda it: {"type": "object", "additionalProperties": it}, inner)
    return st.one_of(
        st.builds(merged, listed, LIST_CHECKS),
        st.builds(merged, made, OBJECT_CHECKS),
        st.builds(merged, mapped, OBJECT_CHECKS),
        st.builds(merged, inner, junctors(CHECKS)),
        inner.map(lambda it: {**it, "nullable": True} if "type" in it else it),
    )


SCHEMAS = st.recursive(LEAVES, containers, max_leaves=8)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(f"{NAMES}d"), inner, max_size=3)
    ),
    max_leaves=8,
)


@st.composite
def fitting(draw: st.DrawFn, schema: Object) -> Any:
    """A value that is of the types of a schema, more or less."""
    kind = schema.get("type")
    if draw(st.integers(0, 15)) == 0:
        return draw(VALUES)
    if kind == "object":
        inner = {**schema.get("properties", {})}
        if others := schema.get("additionalProperties"):
            inner = dict.fromkeys(NAMES, others)
        names = draw(st.lists(st.sampled_from(f"{NAMES}d"), unique=True))
        return {name: draw(fitting(inner.get(name, {}))) for name in names}
    if kind == "array":
        return [draw(fitting(schema["items"])) for _ in range(draw(st.integers(0, 3)))]
    of_type = {"string": TEXTS, "integer": st.integers(-4, 8), "number": NUMBERS}
    return draw(of_type.get(kind or "", VALUES))


WITH_VALUES = SCHEMAS.flatmap(lambda schema: st.tuples(st.just(schema), fitting(schema)))


def as_draft4(schema: Object) -> Object:
    """The same in JSON Schema, draft 4, from which OpenAPI 3.0 takes its words.

    Type errors aside, nothing is checked of null; alternatives are asked about it as about any
    value.
    """
    made = {
        name: value
        for name, value in schema.items()
        if name not in ("nullable", "properties", "items", "additionalProperties")
        and not name.startswith("x-")
    }
    for name in ("anyOf", "oneOf", "allOf"):
        if name in schema:
            made[name] = [as_draft4(one) for one in schema[name]]
    for name in ("not", "items", "additionalProperties"):
        if name in schema:
            made[name] = as_draft4(schema[name])
    if "properties" in schema:
        made["properties"] = {key: as_draft4(one) for key, one in schema["properties"].items()}
    if schema.get("x-kubernetes-int-or-string"):
        made["type"] = ["integer", "string"]
    if schema.get("nullable"):
        kinds = {"type": schema["type"]}
        enum = {"enum": schema["enum"]} if "enum" in schema else {}
        return {"anyOf": [{**made, **kinds}, {"type": "null", **enum}]}
    if "type" not in made:
        return {"anyOf": [{"enum": [None], **({"allOf": [{"enum": made["enum"]}]} if "enum" in made
                else {})}, made]}  # fmt: skip
    return made


def causes(checker: Checker, value: Any, old: Old | None = None) -> list[Cause]:
    """What is wrong with a value."""
    out = Out()
    checker.check(value, "x", old, out)
    return out


@shortened(400)
@given(WITH_VALUES)
def test_another_implementation_agrees(drawn: tuple[Object, Any]) -> None:
    """Of what OpenAPI and JSON Schema mean alike, the same values are good."""
    jsonschema = pytest.importorskip("jsonschema")
    schema, value = drawn
    theirs = jsonschema.Draft4Validator(as_draft4(schema)).is_valid(value)
    assert (not causes(Checker(schema), value)) == theirs


def declared(schema: Object, value: Any) -> bool:
    """Whether a schema knows all members of a value: others cannot be compared, and so changed."""
    if isinstance(value, list):
        return all(declared(schema.get("items", {}), item) for item in value)
    if not isinstance(value, dict):
        return True
    known, others = schema.get("properties", {}), schema.get("additionalProperties")
    inner = {key: known.get(key, others) for key in value}
    return all(part is not None and declared(part, value[key]) for key, part in inner.items())


@given(WITH_VALUES)
def test_what_did_not_change_is_never_refused_for_it(drawn: tuple[Object, Any]) -> None:
    """An update without a change passes, whatever was stored under an older schema."""
    schema, value = drawn
    checker = Checker({"type": "object", "properties": {"a": schema}})
    if declared(schema, value):
        new = {"a": value}
        old = Old(checker, orjson.loads(orjson.dumps(new)))
        assert causes(checker, new, old) == []


@given(WITH_VALUES)
def test_pruning_does_not_make_what_is_good_bad(drawn: tuple[Object, Any]) -> None:
    """Where members are neither counted nor looked at as a whole."""
    schema, value = drawn
    if structural_words(schema) & {"minProperties", "required", "anyOf", "oneOf", "not", "allOf"}:
        return
    whole = Node({"type": "object", "properties": {"a": schema}}, root=True)
    checker = Checker(schema)
    if not causes(checker, value):
        kept = {"a": value}
        structure.prune(whole, kept)
        assert causes(checker, kept["a"]) == []


def structural_words(schema: Any) -> set[str]:
    """Names of members anywhere in a schema."""
    if isinstance(schema, dict):
        return set(schema).union(*map(structural_words, schema.values()))
    return set().union(*map(structural_words, schema)) if isinstance(schema, list) else set()


@given(WITH_VALUES, st.integers(0, 3), VALUES)
def test_defaults_and_pruning_settle_at_once(
    drawn: tuple[Object, Any], at: int, default: Any
) -> None:
    """What was read is as it is read again, of one version; defaults may be anything."""
    schema, value = drawn
    spec = {"type": "object", "properties": {"a": schema, "b": schema}}
    if default is not None:
        spec["properties"]["abcd"[at]] = {**schema, "default": default}  # type: ignore[index]
    version = versions(spec, spec).versions["v1"]
    obj = {"apiVersion": f"{GROUP}/v1", "kind": "K", "metadata": {"name": "x"},
           "spec": {"a": value, "z": 1}}  # fmt: skip
    once = version.settled(obj)
    if default is None or not causes(Checker(schema), default):
        assert version.settled(once) == once
    assert "z" not in once["spec"]


# --- versions ---


def versions(one: Object, two: Object) -> Shared:
    """Two versions of a kind, by the schemas of their specs."""
    shared = Shared(resource=GroupResource(GROUP, "ks"))
    for name, spec in (("v1", one), ("v2", two)):
        schema = {"type": "object", "properties": {"spec": spec}}
        shared.versions[name] = Version(schema, shared)
    return shared


@given(WITH_VALUES)
def test_versions_of_the_strategy_none(drawn: tuple[Object, Any]) -> None:
    """There and back again is as it was, of all that both versions know."""
    schema, value = drawn
    narrow = {"type": "object", "properties": {"a": schema}}
    wide = {"type": "object", "properties": {"a": schema, "more": {"type": "string"}}}
    shared = versions(narrow, wide)
    obj = {"apiVersion": f"{GROUP}/v1", "kind": "K", "metadata": {"name": "x"},
           "spec": {"a": value}}  # fmt: skip
    stored = shared.versions["v1"].settled(obj)
    there = shared.versions["v2"].turned(stored, f"{GROUP}/v2")
    assert there["apiVersion"] == f"{GROUP}/v2"
    assert there["spec"] == stored["spec"]
    assert shared.versions["v1"].turned(there, f"{GROUP}/v1") == stored
    richer = {**there, "spec": {**there["spec"], "more": "x"}}
    assert shared.versions["v1"].turned(richer, f"{GROUP}/v1") == stored


@shortened(100)
@given(st.lists(WITH_VALUES.map(lambda drawn: drawn[1]), max_size=4), st.data())
def test_versions_that_a_webhook_converts(values: list[Any], data: st.DataObject) -> None:
    """A batch of any versions comes out in the one asked for, in its order, each converted once."""
    spec: Object = {"type": "object", "properties": {"a": ANY, "b": ANY}}
    members = {"v1": "a", "v2": "b"}
    asked: list[str] = []

    async def convert(objects: Sequence[Object], to: Kind) -> Sequence[Object]:
        made = []
        for obj in objects:
            asked.append(obj["metadata"]["name"])
            assert obj["apiVersion"] != to.api_version
            [value] = obj["spec"].values()
            new = {members[to.version]: value}
            made.append({**obj, "apiVersion": to.api_version, "spec": new})
        return made

    kinds = [data.draw(st.sampled_from(["v1", "v2"])) for _ in values]
    objects = [
        {
            "apiVersion": f"{GROUP}/{version}",
            "kind": "K",
            "metadata": {"name": f"n{at}"},
            "spec": {members[version]: value},
        }
        for at, (version, value) in enumerate(zip(kinds, values, strict=True))
        if value is not None
    ]
    wanted = data.draw(st.sampled_from(["v1", "v2"]))
    settling = Settling(versions(spec, spec), convert)
    found = trio.run(settling, objects, kind_of(wanted))
    assert [obj["metadata"]["name"] for obj in found] == [
        obj["metadata"]["name"] for obj in objects
    ]
    for before, after in zip(objects, found, strict=True):
        assert after["apiVersion"] == f"{GROUP}/{wanted}"
        assert list(after["spec"].values()) == list(before["spec"].values())
    others = [obj for obj in objects if obj["apiVersion"] != f"{GROUP}/{wanted}"]
    assert asked == [obj["metadata"]["name"] for obj in others]


ANY = {"x-kubernetes-preserve-unknown-fields": True}


def kind_of(version: str) -> Kind:
    """The kind in a version."""
    gvk = GroupVersionKind(GROUP, version, "K")
    return Kind(
        group=gvk.group, version=version, resource="ks", kind="K", singular="k",
        namespaced=False, verbs=frozenset(), storage_prefix="/registry/example.com/ks/",
    )  # fmt: skip


# --- what is structural ---


@given(SCHEMAS)
def test_schemas_made_here_are_structural(schema: Object) -> None:
    """So what is shown of them is shown of schemas that definitions may have."""
    found: list[Cause] = []
    structural({"type": "object", "properties": {"spec": schema}}, "", found)
    assert found == []
