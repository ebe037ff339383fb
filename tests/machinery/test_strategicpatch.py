"""Strategic merge patches, and the diff that makes them."""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
from random import Random  # noqa: TID251 (only for the annotation; Hypothesis seeds it)
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery.status import ApiError
from kubetrio.machinery.strategicdiff import create_two_way_patch
from kubetrio.machinery.strategicpatch import (
    apply_strategic_patch,
    merge_strategic_patch,
    undecodable,
)
from kubetrio.machinery.typeschema import TypeKind, TypeSchema
from kubetrio.schema.patchmeta import for_type

Json = dict[str, Any]

CASES: list[Json] = json.loads(Path(__file__).with_name("strategic_cases.json").read_text())
RECORDED = for_type("io.k8s.api.core.v1.PodTemplate")
POD = for_type("io.k8s.api.core.v1.Pod")
DEPLOYMENT = for_type("io.k8s.api.apps.v1.Deployment")
GENERATED = {
    name: for_type(f"io.k8s.api.{name}")
    for name in (
        "apps.v1.Deployment",
        "batch.v1.CronJob",
        "core.v1.Node",
        "core.v1.Pod",
        "core.v1.Service",
        "core.v1.ServiceAccount",
        "policy.v1.PodDisruptionBudget",
    )
}
ABSENT = "<absent>"


def part(obj: Any, pointer: str) -> Any:
    """What a pointer names, or ``<absent>``."""
    for name in pointer.strip("/").split("/"):
        if name not in obj:
            return ABSENT
        obj = obj[name]
    return obj


def without_empty(value: Any) -> Any:
    """A value without empty objects and lists, which the server does not print."""
    if isinstance(value, dict):
        members = {key: without_empty(item) for key, item in value.items()}
        return {key: item for key, item in members.items() if item not in ({}, [])}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


def applied(doc: Json, patch: Any, schema: TypeSchema = POD) -> Json:
    """The patched object, after a check that inputs stay as they were."""
    before = copy.deepcopy((doc, patch))
    try:
        return apply_strategic_patch(doc, patch, schema)
    finally:
        assert (doc, patch) == before


def spec(**members: Any) -> Json:
    return {"spec": members}


def names(doc: Json, field: str = "containers", key: str = "name") -> list[Any]:
    return [item[key] for item in doc["spec"][field]]


def containers(*wanted: str) -> list[Json]:
    return [{"name": name} for name in wanted]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_recorded(case: Json) -> None:
    """Patches do what they did on a real server, or fail with the same Status."""
    if "parts" in case:
        patched = applied(case["doc"], case["patch"], RECORDED)
        parts = {pointer: part(patched, pointer) for pointer in case["parts"]}
        assert without_empty(parts) == without_empty(case["parts"])
    elif "strict decoding" in case["error"]["message"]:
        rest = merge_strategic_patch(case["doc"], case["patch"], RECORDED).rest
        why = 'strict decoding error: unknown field "template.spec.bogus"'
        assert undecodable(rest, why).status() == case["error"]
    else:
        with pytest.raises(ApiError) as failure:
            applied(case["doc"], case["patch"], RECORDED)
        assert failure.value.status() == case["error"]


@pytest.mark.parametrize(
    ("doc", "patch", "expected"),
    [
        ({"a": 1}, None, {"a": 1}),
        ({"metadata": {"labels": {"a": "b"}}}, {"metadata": None}, {}),
        ({}, {"metadata": None}, {}),
        ({"metadata": {}}, {"metadata": {"labels": {"a": None, "b": "c"}}},
         {"metadata": {"labels": {"b": "c"}}}),
        ({"metadata": {"labels": {"a": "b"}}}, {"metadata": {"labels": {"$patch": "delete"}}},
         {"metadata": {"labels": {}}}),
        ({"metadata": {}}, {"metadata": {"labels": {"$patch": "replace", "a": "b"}}},
         {"metadata": {}}),
        ({"metadata": {"name": "x"}}, {"$patch": "replace", "kind": "Pod"}, {"kind": "Pod"}),
        ({"metadata": {"name": "x"}}, {"$patch": "delete"}, {}),
        ({"spec": None}, {"spec": {"hostname": "h"}}, {"spec": {"hostname": "h"}}),
        ({"spec": {"hostname": "h"}}, {"spec": 1}, {"spec": 1}),
        ({"kind": "a"}, {"Kind": "b"}, {"kind": "a", "Kind": "b"}),
    ],
)  # fmt: skip
def test_objects(doc: Json, patch: Any, expected: Json) -> None:
    """Nulls delete, directives empty or replace, and a directive in a new value drops it."""
    assert applied(doc, patch) == expected


@pytest.mark.parametrize(
    ("doc", "patch", "expected"),
    [
        ("abc", {"containers": containers("d")}, "dabc"),
        ("abc", {"containers": containers("d", "b")}, "dabc"),
        ("abc", {"containers": [{"name": "b", "$patch": "delete"}]}, "ac"),
        ("abc", {"containers": [{"$patch": "replace"}]}, ""),
        ("abc", {"containers": [{"$patch": "replace"}, *containers("z", "y")]}, "zy"),
        ("abc", {"containers": []}, "abc"),
        ("abc", {"$setElementOrder/containers": containers("c", "a")}, "bca"),
        ("abc", {"$setElementOrder/containers": containers("c", "b", "a")}, "cba"),
        ("abc", {"$setElementOrder/containers": []}, "abc"),
        ("ab", {"$setElementOrder/containers": [], "containers": containers("c")}, "abc"),
        ("abc", {"$setElementOrder/containers": containers("d", "b"),
                 "containers": [*containers("d", "b"), {"name": "a", "$patch": "delete"}]}, "dbc"),
        ("", {"$setElementOrder/containers": containers("b", "a"),
              "containers": containers("b", "a")}, "ba"),
    ],
)  # fmt: skip
def test_order_of_items(doc: str, patch: Json, expected: str) -> None:
    """Items come in the order set, then the patch's, then the object's."""
    assert "".join(names(applied(spec(containers=containers(*doc)), {"spec": patch}))) == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"finalizers": ["c/c"]}, ["c/c", "a/a", "b/b"]),
        ({"finalizers": ["b/b"]}, ["a/a", "b/b"]),
        ({"$deleteFromPrimitiveList/finalizers": ["a/a", "x/x"]}, ["b/b"]),
        ({"$deleteFromPrimitiveList/finalizers": []}, ["a/a", "b/b"]),
        ({"$setElementOrder/finalizers": ["b/b", "a/a"]}, ["b/b", "a/a"]),
        ({"$setElementOrder/finalizers": ["b/b", "c/c"], "finalizers": ["c/c"],
          "$deleteFromPrimitiveList/finalizers": ["a/a"]}, ["b/b", "c/c"]),
    ],
)  # fmt: skip
def test_lists_of_scalars(patch: Json, expected: list[str]) -> None:
    """Values are added once, deleted and put into order."""
    doc = {"metadata": {"finalizers": ["a/a", "b/b"]}}
    assert applied(doc, {"metadata": patch})["metadata"]["finalizers"] == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"$deleteFromPrimitiveList/finalizers": ["a/a"]}, {}),
        ({"$setElementOrder/finalizers": ["a/a"]}, {}),
        ({"$deleteFromPrimitiveList/": ["a/a"]}, {}),
    ],
)
def test_directives_for_absent_lists(patch: Json, expected: Json) -> None:
    """Deleting from, or ordering, what is not there does nothing."""
    assert applied({"metadata": {}}, {"metadata": patch}) == {"metadata": expected}


def test_deletion_from_an_atomic_list() -> None:
    """The directive works whatever the list's strategy is."""
    doc = spec(containers=[{"name": "a", "args": ["x", "y"]}])
    patch = {"name": "a", "$deleteFromPrimitiveList/args": ["x"]}
    patched = applied(doc, spec(containers=[patch]))
    assert patched == spec(containers=[{"name": "a", "args": ["y"]}])


def test_retained_keys_of_an_object() -> None:
    """Members that are not to be kept go before the patch's are merged."""
    doc = spec(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}})
    patch = spec(strategy={"$retainKeys": ["type"], "type": "Recreate"})
    assert applied(doc, patch, DEPLOYMENT) == spec(strategy={"type": "Recreate"})


def test_merge_key_types() -> None:
    """A port that is a string is another item than one that is a number."""
    doc = spec(containers=[{"name": "a", "ports": [{"containerPort": 80}]}])
    patch = spec(containers=[{"name": "a", "ports": [{"containerPort": "80"}]}])
    ports = applied(doc, patch)["spec"]["containers"][0]["ports"]
    assert ports == [{"containerPort": "80"}, {"containerPort": 80}]


def test_equal_merge_keys_in_a_patch() -> None:
    """The second of two new items with one merge key is merged into the first."""
    items = [{"name": "a", "image": "1"}, {"name": "a", "tty": True}]
    patched = applied(spec(containers=containers("b")), spec(containers=items))
    assert patched == spec(containers=[{"name": "a", "image": "1", "tty": True}, {"name": "b"}])


DOC = {
    "metadata": {"labels": {"a": "b"}, "finalizers": ["a/a"]},
    "spec": {
        "containers": [{"name": "a"}],
        "hostname": "h",
        "volumes": [{"name": "v", "emptyDir": {}}],
        "tolerations": [{"key": "t"}],
    },
}
MAPS = "map[string]interface {}"
ORDER_MISMATCH = """The order in patch list:
[map[name:b]]
 doesn't match $setElementOrder list:
[map[name:a]]
"""


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        (1, 400, f"json: cannot unmarshal number into Go value of type {MAPS}"),
        ("x", 400, f"json: cannot unmarshal string into Go value of type {MAPS}"),
        (True, 400, f"json: cannot unmarshal bool into Go value of type {MAPS}"),
        ({"$patch": "merge", "a": [1, None]}, 500,
         "unknown patch type: merge in map: map[$patch:merge a:[1 <nil>]]"),
        ({"$patch": 7}, 500, "unknown patch type: %!s(int64=7) in map: map[$patch:7]"),
        ({"$patch": None}, 500, "unknown patch type: %!s(<nil>) in map: map[$patch:<nil>]"),
        ({"$patch": [True, None]}, 500,
         "unknown patch type: [%!s(bool=true) <nil>] in map: map[$patch:[true <nil>]]"),
        (spec(containers=[{"name": "a", "$patch": "merge"}]), 500,
         "merging lists cannot yet be specified in the patch"),
        (spec(containers=[{"$patch": "delete"}]), 500,
         "map: map[$patch:delete] does not contain declared merge key: name"),
        (spec(containers=["a"]), 500,
         "list element types are not identical: [[map[name:a]] [a]]"),
        (spec(containers=[["a"]]), 500,
         "list element types are not identical: [[map[name:a]] [[a]]]"),
        (spec(volumes=[{"name": "v", "$retainKeys": "name"}]), 400,
         "invalid patch format of retainKeys"),
        (spec(volumes=[{"name": "v", "$retainKeys": ["emptyDir"]}]), 400,
         "invalid patch format of retainKeys"),
        ({"$deleteFromPrimitiveListX/a": []}, 400, "invalid patch format of primitive list"),
        ({"$deleteFromPrimitiveList": []}, 400, "invalid patch format of primitive list"),
        ({"$setElementOrder": []}, 400, "invalid patch format of setElementOrder list"),
        ({"$setElementOrder/x": None}, 500,
         "expected a []interface {}, but received a %!s(<nil>)"),
        (spec(**{"$setElementOrder/containers": [], "containers": {}}), 500,
         f"expected a []interface {{}}, but received a {MAPS}"),
        (spec(**{"$setElementOrder/containers": ["a"], "containers": containers("a")}), 500,
         f"expected a {MAPS}, but received a string"),
        (spec(**{"$setElementOrder/containers": ["a"]}), 500,
         "value for key 0 is not a map."),
        (spec(**{"$setElementOrder/containers": containers("a"), "containers": containers("b")}),
         500, ORDER_MISMATCH),
        (spec(**{"$setElementOrder/hostname": []}), 500,
         "expected a []interface {}, but received a string"),
        (spec(**{"$setElementOrder/securityContext": []}), 500,
         "expected slice or array type, but got: struct"),
        (spec(**{"$setElementOrder/Volumes": [], "Volumes": []}), 500,
         "no elements in any of the given slices"),
        (spec(**{"$deleteFromPrimitiveList/tolerations": [{"key": "t"}]}), 500,
         "cannot merge lists without merge key for struct"),
        (spec(**{"$setElementOrder/tolerations": [{"key": "t"}]}), 500,
         "This request caused apiserver to panic. Look in the logs for details."),
        ({"metadata": {"labels": {"$setElementOrder/x": []}}}, 500,
         "merging an object in json but data type is not struct, instead is: map"),
    ],
)  # fmt: skip
def test_errors(patch: Any, code: int, message: str) -> None:
    """Patches that cannot be applied fail with Go's words."""
    with pytest.raises(ApiError) as failure:
        applied(DOC, patch)
    assert (failure.value.code, failure.value.message) == (code, message)
    assert failure.value.reason == ("BadRequest" if code == 400 else "")


def test_lists_of_lists() -> None:
    """They are the one error that is a 422, and kube-apiserver does not say why."""
    with pytest.raises(ApiError) as failure:
        applied({"metadata": {"finalizers": [[]]}}, {"metadata": {"finalizers": ["a/a"]}})
    assert (failure.value.code, failure.value.reason) == (422, "Invalid")
    assert failure.value.message == (
        "the server rejected our request due to an error in our request"
    )


def test_free_form_values() -> None:
    """One level of a free-form value merges; deeper, kube-apiserver has no type to merge by."""
    revision = for_type("io.k8s.api.apps.v1.ControllerRevision")
    doc = {"data": {"a": {"b": 1}, "c": 1}}
    assert applied(doc, {"data": {"c": 2}}, revision) == {"data": {"a": {"b": 1}, "c": 2}}
    with pytest.raises(ApiError) as failure:
        applied(doc, {"data": {"a": {"b": 2}}}, revision)
    assert failure.value.message == (
        'unable to find api field in struct RawExtension for the json field "a"'
    )


@pytest.mark.parametrize(
    ("schema", "path", "struct"),
    [
        (POD, (), "Pod"),
        (POD, ("spec",), "PodSpec"),
        (POD, ("metadata",), "ObjectMeta"),
        (DEPLOYMENT, ("spec", "template", "spec"), "PodSpec"),
        (DEPLOYMENT, ("spec", "template", "spec", "securityContext"), "PodSecurityContext"),
    ],
)
def test_lists_that_a_type_does_not_have(
    schema: TypeSchema, path: tuple[str, ...], struct: str
) -> None:
    """The error tells the Go name of the type."""
    patch: Json = {"$setElementOrder/foo": ["x"], "foo": ["x"]}
    doc: Json = {}
    for name in reversed(path):
        patch, doc = {name: patch}, {name: doc}
    with pytest.raises(ApiError) as failure:
        applied(doc, patch, schema)
    assert failure.value.message == (
        f'unable to find api field in struct {struct} for the json field "foo"'
    )


def test_what_is_left_of_a_patch() -> None:
    """Carried-out directives are not printed when the patched object does not decode."""
    patch = spec(
        **{"$setElementOrder/containers": containers("a"), "bogus": 1, "hostname": "i"},
        volumes=[{"name": "v", "$retainKeys": ["name"]}],
        containers=containers("a"),
    )
    rest = merge_strategic_patch(DOC, patch, POD).rest
    assert rest == spec(bogus=1, hostname="i", volumes=[{"name": "v"}])


def test_long_lists() -> None:
    """Lists with more items than Go sorts by insertion keep every item."""
    many = [f"c{number}" for number in range(50)]
    patch = {"$setElementOrder/containers": [], "containers": containers(*many)}
    patched = applied(spec(containers=containers("x")), {"spec": patch})
    assert sorted(names(patched)) == sorted(["x", *many])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (DOC, DOC, {}),
        (spec(hostname="h"), spec(hostname="i"), spec(hostname="i")),
        (spec(hostname="h"), {}, {"spec": None}),
        (spec(containers=containers("a", "b")), spec(containers=containers("b", "a")),
         spec(**{"$setElementOrder/containers": containers("b", "a")})),
        (spec(containers=containers("a", "b")), spec(containers=[{"name": "b", "image": "i"}]),
         spec(containers=[{"image": "i", "name": "b"}, {"name": "a", "$patch": "delete"}],
              **{"$setElementOrder/containers": containers("b")})),
        (spec(volumes=[{"name": "v", "emptyDir": {}}]), spec(volumes=[{"name": "v"}]),
         spec(volumes=[{"name": "v", "emptyDir": None, "$retainKeys": ["name"]}],
              **{"$setElementOrder/volumes": [{"name": "v"}]})),
        ({"metadata": {"finalizers": ["a", "b"]}}, {"metadata": {"finalizers": ["b", "c"]}},
         {"metadata": {"finalizers": ["c"], "$deleteFromPrimitiveList/finalizers": ["a"],
                       "$setElementOrder/finalizers": ["b", "c"]}}),
        (spec(tolerations=[{"key": "a"}]), spec(tolerations=[{"key": "b"}]),
         spec(tolerations=[{"key": "b"}])),
    ],
)  # fmt: skip
def test_diff(old: Json, new: Json, expected: Json) -> None:
    """A diff holds what changed, as kubectl writes it."""
    before = copy.deepcopy((old, new))
    assert create_two_way_patch(old, new, POD) == expected
    assert (old, new) == before


def test_diff_of_items_without_merge_key() -> None:
    """Items that cannot be told apart have no diff."""
    with pytest.raises(ApiError, match="does not contain declared merge key: name"):
        create_two_way_patch(spec(containers=[{}]), spec(containers=[{"tty": True}]), POD)


# Typed objects from schemas.  Few values, so that two objects have much in common.


def value_of(schema: TypeSchema, random: Random, depth: int) -> Any:
    """A value of a type; None where the patch has no rule for one that changes inside."""
    if schema.kind is TypeKind.SCALAR:
        choices = {"numeric": (0, 1, 2), "boolean": (False, True), "untyped": ("x", 1, "1")}
        return random.choice(choices.get(schema.scalar, ("a", "b", "c")))
    element = schema.element
    if schema.kind is TypeKind.LIST and element is not None:
        return items_of(schema, element, random, depth)
    if schema.fields:
        return object_of(schema, random, depth)
    if element is not None and element.kind is TypeKind.SCALAR:
        return {key: value_of(element, random, depth) for key in "abc" if random.random() < 0.5}
    return None


def object_of(schema: TypeSchema, random: Random, depth: int) -> Json:
    chance = min(1.0, 4 / len(schema.fields)) if depth else 0.0
    wanted = [name for name in schema.fields if random.random() < chance]
    made = {name: value_of(schema.fields[name], random, depth - 1) for name in wanted}
    return {name: value for name, value in made.items() if value is not None}


def items_of(schema: TypeSchema, element: TypeSchema, random: Random, depth: int) -> list[Any]:
    made = [value_of(element, random, depth - 1) for _ in range(random.randrange(4))]
    items = [item for item in made if item is not None]
    key = schema.patch_merge_key
    if "merge" not in schema.patch_strategy:
        return items
    if not key:
        return list(dict.fromkeys(items))
    for item in items:
        item[key] = value_of(element.fields[key], random, depth)
    return list({item[key]: item for item in items}.values())


def blend(schema: TypeSchema | None, one: Any, two: Any, random: Random) -> Any:
    """A value that has something of both."""
    if schema and isinstance(one, dict) and isinstance(two, dict):
        both = {**one, **two} if random.random() < 0.5 else {**two, **one}
        return {
            name: blend(schema.member(name), one.get(name, value), two.get(name, value), random)
            for name, value in both.items()
            if random.random() < 0.8
        }
    key = schema.patch_merge_key if schema else ""
    if schema and key and isinstance(one, list) and isinstance(two, list):
        first, second = ({item[key]: item for item in items} for items in (one, two))
        keys = [name for name in {**first, **second} if random.random() < 0.8]
        random.shuffle(keys)
        pairs = [(first.get(k, second.get(k)), second.get(k, first.get(k)), k) for k in keys]
        return [{**blend(schema.element, a, b, random), key: k} for a, b, k in pairs]
    return random.choice((one, two))


@pytest.mark.parametrize("name", GENERATED)
@given(random=st.randoms(use_true_random=True))
@settings(max_examples=40, deadline=None)
def test_patch_of_a_diff(name: str, random: Random) -> None:
    """Whatever two objects of one type are, the diff applied to one makes the other."""
    schema = GENERATED[name]
    old, other = (object_of(schema, random, 8) for _ in range(2))
    new = blend(schema, old, other, random)
    patch = create_two_way_patch(old, new, schema)
    assert applied(old, patch, schema) == new
    assert (not patch) == (old == new)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["a", "delete", "replace"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["name", "containers", "env", "ports", "containerPort", "$patch", "$retainKeys",
             "$setElementOrder/containers", "$deleteFromPrimitiveList/args", "args"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(patch=JSON_VALUES)
@settings(max_examples=150, deadline=None)
def test_any_patch(patch: Any) -> None:
    """Any JSON value is applied or refused with a Status, and changes no input."""
    doc = spec(
        containers=[
            {"name": "a", "args": ["a"], "env": [{"name": "a"}]},
            {"name": "b", "ports": [{"containerPort": 1}]},
        ]
    )
    with contextlib.suppress(ApiError):
        applied(doc, {"spec": patch})


DEEP = 5000


def nested(leaf: Any) -> Any:
    """Objects and lists in turn, around a leaf."""
    for _ in range(DEEP):
        leaf = {"a": [leaf]}
    return leaf


def test_a_deep_patch() -> None:
    """Nulls and directives are found, and values printed, however deep they are."""
    directive = nested({"b": {"$patch": "delete"}, "c": None, "d": [{"$patch": "delete"}, 1]})
    found = merge_strategic_patch({}, {"x": directive}, POD).doc["x"]
    for _ in range(DEEP):
        (found,) = found["a"]
    assert found == {"d": [1]}
    with pytest.raises(ApiError) as error:
        apply_strategic_patch({}, {"$patch": nested(True)}, POD)
    head, tail = "map[a:[" * DEEP, "]]" * DEEP
    assert error.value.message == (
        f"unknown patch type: {head}%!s(bool=true){tail} in map: map[$patch:{head}true{tail}]"
    )
