"""What the check of one object may take, and what its defaults may add."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.crd import customtype
from kubetrio.crd.customtype import Settling, Shared, Version
from kubetrio.crd.customvalidation import ObjectChecks
from kubetrio.kinds.apiextensions.validation.schemadefaults import defaults
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, Cause
from kubetrio.resources.objects import MOST_BYTES
from kubetrio.runtime.effort import Effort, Exhausted
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import Validation
from kubetrio.structural.causes import Out
from kubetrio.structural.listtypes import check_lists
from kubetrio.structural.structure import MOST_PATHS, Node, Room, TooLarge, fill_in, prune
from kubetrio.structural.valueformats import FORMATS
from kubetrio.structural.values import Checker, Old
from kubetrio.wire.jsonwire import encode

Object = dict[str, Any]
PAD = {"type": "object", "properties": {"pad": {"type": "string", "default": "x" * 100_000}}}
MANY = {"type": "object", "properties": {"many": {"type": "array", "items": PAD}}}


def items(schema: Object) -> Object:
    """A list of what a schema describes."""
    return {"type": "array", "items": schema}


def nested(schema: Object, value: Any, levels: int) -> tuple[Object, Any]:
    """The same inside of some objects."""
    for _ in range(levels):
        schema, value = {"type": "object", "properties": {"a": schema}}, {"a": value}
    return schema, value


def spent(schema: Object, value: Any, old: Any = None) -> bool:
    """Whether the check of a value takes more than 100,000 steps."""
    effort = Effort(100_000)
    checker = Checker(schema)
    try:
        before = None if old is None else Old(checker, old, effort)
        checker.check(value, "", before, Out("", effort))
        check_lists(checker, value, "", [], effort)
    except Exhausted:
        return True
    return False


SET: Object = {"type": "array", "x-kubernetes-list-type": "set"}
HOSTILE = {
    "patterns": (
        items({"type": "string", "anyOf": [{"pattern": f"^(x|y){at}$"} for at in range(200)]}),
        ["a"] * 1000,
    ),
    "bounds": (items({"oneOf": [{"minimum": at} for at in range(1, 200)]}), [0] * 1000),
    "all": (items({"allOf": [{"minimum": -at} for at in range(200)]}), [0] * 1000),
    "not": (items({"allOf": [{"not": {"minimum": 1}}] * 200}), [0] * 1000),
    "enums": (
        {"anyOf": [{"enum": [{"n": at}]} for at in range(200)]},
        {"m": list(range(3000))},
    ),
    "required": (
        items({"type": "object", "required": [f"m{at}" for at in range(2000)]}),
        [{}] * 1000,
    ),
    "formats": ({"anyOf": [{"type": "string", "format": "email"}] * 200}, "a." * 10_000),
    "paths": (
        {"type": "object", "additionalProperties": items({"type": "integer"})},
        {"k" * 300_000: [0] * 1000},
    ),
    "wrong": (items({"type": "string"}), [0] * 30_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_ends_the_check(name: str) -> None:
    """In a number of steps, whatever it multiplies."""
    schema, value = HOSTILE[name]
    assert spent(schema, value)


def test_sets_inside_of_sets_count() -> None:
    """Each level reads all that is below it."""
    schema, value = {**SET, "items": {"type": "integer"}}, list(range(2000))
    for _ in range(100):
        schema, value = {**SET, "items": schema}, [value]
    assert spent(schema, value)


def test_comparing_with_what_was_counts() -> None:
    """What is wrong far down is compared again on each level above it."""
    new, old = [*range(1, 5000), 1], [*range(1, 5000), 2]
    schema, before = nested(items({"type": "integer", "maximum": 0}), old, 100)
    one = {"type": "object", "properties": {"a": items({"type": "integer", "minimum": 9000})}}
    assert spent(schema, nested({}, new, 100)[1], before)
    assert not spent(one, {"a": [9001] * 5000}, {"a": [9001] * 5000})


def test_long_texts_count_by_what_matches_them() -> None:
    """A pattern of many instructions takes them all for each character."""
    pytest.importorskip("re2")
    assert spent({"pattern": "^(([ab]{1,30}x?){1,30})+$"}, "ab" * 50_000)
    assert not spent({"pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}, "ab" * 50_000)


@pytest.mark.parametrize("text", ["1" * 300_000, "1 " * 150_000, "(" * 100_000])
@pytest.mark.parametrize("name", ["duration", "email"])
def test_formats_take_linear_time(name: str, text: str) -> None:
    """And no more stack than there is."""
    assert not FORMATS[name](text)


LEAVES: st.SearchStrategy[Any] = st.one_of(st.none(), st.integers(), st.text(max_size=5))
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
)


@given(VALUES, st.integers(0, 60))
def test_the_same_object_takes_the_same_steps(value: Any, most: int) -> None:
    """The first time and later, with whatever is remembered between."""
    leaf = {"anyOf": [{"type": "integer", "minimum": 3}, {"pattern": "^a"}, {"enum": ["b", 1]}]}
    schema = {"properties": {"a": leaf, "b": items(leaf)}, "items": leaf}
    checker, found = Checker(schema), []
    for _ in range(2):
        out = Out("", Effort(most))
        try:
            checker.check(value, "", None, out)
        except Exhausted:
            found.append([])
        else:
            found.append([*out])
    assert found[0] == found[1]


def test_an_object_of_three_megabytes_is_checked() -> None:
    """Of an ordinary schema, which looks at each part in several ways."""
    part = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "maxLength": 63, "pattern": "^[a-z0-9-]+$"},
            "port": {
                "x-kubernetes-int-or-string": True,
                "anyOf": [{"type": "integer"}, {"type": "string"}],
            },
            "mode": {"type": "string", "enum": ["a", "b"]},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }
    one = {"name": "n", "port": 1, "mode": "b", "labels": {"a": "b", "c": "d"}}
    value = [one] * (3 * 1024 * 1024 // len(encode(one)))
    out = Out()
    Checker(items(part)).check(value, "", None, out)
    assert out == []


# --- what is said ---


def checks(schema: Object) -> Validation:
    """Those of the objects of a schema."""
    shared = Shared(resource=GroupResource("zoo.example.com", "ks"))
    kind = Kind(
        group="zoo.example.com", version="v1", resource="ks", kind="K", singular="k",
        namespaced=False, verbs=frozenset(), storage_prefix="/registry/zoo.example.com/ks/",
    )  # fmt: skip
    return ObjectChecks(Version(schema, shared, status=True), Validation(), kind).validation()


TYPE = {"apiVersion": "zoo.example.com/v1", "kind": "K"}


TOO_MUCH = [
    Cause(
        "FieldValueForbidden",
        "Forbidden: checking the object by its schema takes more than 3000000 steps",
        "<nil>",
    )
]
SLOW = {
    "type": "object",
    "properties": {
        part: {"type": "object", "properties": {"a": items({"anyOf": [{"minimum": 1}] * 2000})}}
        for part in ("spec", "status")
    },
}


def test_too_much_work_is_one_cause() -> None:
    """Whatever else is wrong."""
    create = checks(SLOW).create
    assert create is not None
    causes: list[Cause] = []
    create({**TYPE, "spec": {"a": [0] * 1000}}, "", causes)
    assert causes == TOO_MUCH


@pytest.mark.parametrize("part", ["spec", "status"])
def test_finalizers_are_taken_off_what_is_too_much_work(part: str) -> None:
    """It was stored by another schema; other changes are refused."""
    rules = checks(SLOW)
    update = rules.update if part == "spec" else rules.subresources["status"]
    assert update is not None
    old = {**TYPE, "metadata": {"finalizers": ["a/b"]}, part: {"a": [0] * 1000}}
    causes: list[Cause] = []
    update({**old, "metadata": {}}, old, causes)
    assert causes == []
    update({**old, part: {"a": [0] * 1001}}, old, causes)
    assert causes == TOO_MUCH


def test_defaults_in_a_schema_are_checked_in_bounded_effort() -> None:
    """Those inside of others are looked at again with them."""
    schema, value = nested({"type": "string", "default": "x" * 2000}, "x" * 200_000, 0)
    for _ in range(150):
        value = {"a": value}
        schema = {"type": "object", "properties": {"a": schema}, "default": value}
    causes: list[Cause] = []
    defaults(schema, "schema", causes)
    assert [cause.message for cause in causes] == [
        "Forbidden: checking its defaults takes more than 3000000 steps"
    ]


# --- pruning and defaults ---


def test_of_much_that_is_dropped_some_is_told() -> None:
    """However deep it is."""
    schema, value = {"type": "object"}, {f"a{at}": 1 for at in range(3000)}
    schema, value = nested(schema, value, 100)
    assert len(prune(Node(schema, root=True), value)) == MOST_PATHS
    assert value == nested({}, {}, 100)[1]


@given(st.integers(0, 30), st.integers(0, 400))
def test_defaults_take_no_more_room_than_there_is(count: int, size: int) -> None:
    """They are all there, or it is said that they are not."""
    node = Node(items({"type": "object", "properties": {"a": {"default": "x" * 10}}}))
    value: list[Object] = [{} for _ in range(count)]
    room = Room(size)
    try:
        fill_in(node, value, room)
    except TooLarge:
        assert count * 14 > size
    else:
        assert room.left == size - count * 14
        assert value == [{"a": "x" * 10}] * count


def stored(count: int) -> Object:
    """An object of the schema `MANY`."""
    return {
        "apiVersion": "zoo.example.com/v1",
        "kind": "K",
        "metadata": {"name": "x"},
        "many": [{} for _ in range(count)],
    }


async def test_what_has_no_room_for_its_defaults_is_read_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Others beside it have theirs, as far as there is room for all of them."""
    monkeypatch.setattr(customtype, "READ_BYTES", 1_000_000)
    shared = Shared(resource=GroupResource("zoo.example.com", "ks"))
    version = shared.versions["v1"] = Version(MANY, shared)
    assert version.settled(stored(1000)) == stored(1000)
    assert len(encode(version.settled(stored(41)))) < MOST_BYTES + 1000

    class To:
        group, version, api_version = "zoo.example.com", "v1", "zoo.example.com/v1"

    asked = [stored(6), stored(1000), stored(6), stored(3)]
    found = await Settling(shared, None)(asked, To())  # type: ignore[arg-type]
    assert ["pad" in obj["many"][0] for obj in found] == [True, False, False, True]
    with pytest.raises(ApiError) as raised:
        version.fill_in(stored(1000))
    assert raised.value.status()["message"] == "etcdserver: request is too large"
