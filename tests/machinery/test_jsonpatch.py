"""JSON patches."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery import jsonpatch
from kubetrio.machinery.jsonpatch import apply_json_patch, apply_merge_patch
from kubetrio.machinery.status import ApiError

Json = dict[str, Any]

DOC: Json = {"data": {"a": "1", "b": None}, "list": [1, 2, 3], "deep": {"x": [{"y": 1}]}}


def op(kind: str, path: str, **more: Any) -> Json:
    """One operation; ``from_`` stands for ``from``."""
    if "from_" in more:
        more["from"] = more.pop("from_")
    return {"op": kind, "path": path, **more}


@pytest.mark.parametrize(
    ("ops", "path", "value"),
    [
        ([op("add", "/data/c", value="3")], "data", {"a": "1", "b": None, "c": "3"}),
        ([op("add", "/data/a", value={})], "data", {"a": {}, "b": None}),
        ([op("add", "/data/c")], "data", {"a": "1", "b": None, "c": None}),
        ([op("replace", "/data/a", value="9")], "data", {"a": "9", "b": None}),
        ([op("replace", "/data/none", value="x")], "data", {"a": "1", "b": None, "none": "x"}),
        ([op("remove", "/data/b")], "data", {"a": "1"}),
        ([op("copy", "/data/c", from_="/data/a")], "data", {"a": "1", "b": None, "c": "1"}),
        ([op("copy", "/data/c", from_="/data/none")], "data", {"a": "1", "b": None, "c": None}),
        ([op("move", "/data/c", from_="/data/a")], "data", {"b": None, "c": "1"}),
        ([op("add", "/data/a~1b~0~01", value=1)], "data", {"a": "1", "b": None, "a/b~~1": 1}),
        ([op("add", "anything/data/c", value=1)], "data", {"a": "1", "b": None, "c": 1}),
        ([op("add", "/list/-", value=4)], "list", [1, 2, 3, 4]),
        ([op("add", "/list/0", value=0)], "list", [0, 1, 2, 3]),
        ([op("add", "/list/3", value=4)], "list", [1, 2, 3, 4]),
        ([op("add", "/list/-1", value=4)], "list", [1, 2, 3, 4]),
        ([op("add", "/list/-4", value=0)], "list", [0, 1, 2, 3]),
        ([op("replace", "/list/-1", value=9)], "list", [1, 2, 9]),
        ([op("replace", "/list/+1", value=9)], "list", [1, 9, 3]),
        ([op("remove", "/list/-3")], "list", [2, 3]),
        ([op("move", "/list/0", from_="/list/2")], "list", [3, 1, 2]),
        ([op("add", "/deep/x/0/z", value=2)], "deep", {"x": [{"y": 1, "z": 2}]}),
        ([op("test", "/data/a", value="1")], "data", DOC["data"]),
        ([op("test", "/data/none", value=None)], "data", DOC["data"]),
        ([op("test", "/deep", value={"x": [{"y": 1}]})], "deep", DOC["deep"]),
        ([op("test", "", value=DOC)], "data", DOC["data"]),
        ([op("replace", "", value={"data": 1})], "data", 1),
    ],
)
def test_operations_that_apply(ops: list[Json], path: str, value: Any) -> None:
    """Each operation does what kube-apiserver's library does, and the input stays as it was."""
    before = copy.deepcopy(DOC)
    assert apply_json_patch(DOC, ops)[path] == value
    assert before == DOC


@pytest.mark.parametrize(
    "bad",
    [
        op("frob", "/data/a"),
        {"op": "add"},
        {"path": "/data/a"},
        None,
        op("test", "/data/a", value="no"),
        op("test", "/list/0", value=1.0),
        op("test", "/list/0", value=True),
        op("test", "/list", value=[1, 2]),
        op("test", "/data", value=[]),
        op("test", "/list/7", value=None),
        op("remove", "/data/none"),
        op("remove", "/list/3"),
        op("remove", "/list/-4"),
        op("remove", "/list/x"),
        op("replace", "/list/3", value=1),
        op("replace", "/list/-", value=1),
        op("replace", "", value="text"),
        op("add", "/nope/x", value=1),
        op("add", "/data/a/x", value=1),
        op("add", "/data/b/x", value=1),
        op("add", "/list/4", value=1),
        op("add", "/list/-5", value=1),
        op("add", "/list/1.0", value=1),
        op("add", "", value={}),
        op("add", "data", value={}),
        op("move", "/x", from_="/data/none"),
        op("move", "/deep/x/y", from_="/deep"),
        op("copy", "/nope/x", from_="/data/a"),
        {"op": "copy", "path": "/x"},
    ],
)
def test_operations_that_do_not_apply(bad: Any) -> None:
    """Whatever is wrong, the answer is the same 422, and nothing is changed."""
    before = copy.deepcopy(DOC)
    with pytest.raises(ApiError) as error:
        apply_json_patch(DOC, [op("add", "/data/c", value=1), bad])
    assert before == DOC
    assert error.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }


@pytest.mark.parametrize(
    ("ops", "what"),
    [
        ({"op": "add"}, "object into Go value of type []handlers.jsonPatchOp"),
        ("x", "string into Go value of type []handlers.jsonPatchOp"),
        (True, "bool into Go value of type []handlers.jsonPatchOp"),
        ([1], "number into Go value of type handlers.jsonPatchOp"),
        ([{"op": []}], "array into Go struct field jsonPatchOp.op of type string"),
    ],
)
def test_what_is_not_a_patch(ops: Any, what: str) -> None:
    """A patch of another shape is a 400 with the decoder's words."""
    with pytest.raises(ApiError) as error:
        apply_json_patch(DOC, ops)
    assert error.value.code == 400
    assert error.value.message == f"error decoding patch: json: cannot unmarshal {what}"


def test_an_empty_patch_changes_nothing() -> None:
    """No operations, or null, leave an equal document."""
    assert apply_json_patch(DOC, []) == DOC
    assert apply_json_patch(DOC, None) == DOC


def test_there_is_a_limit_of_operations() -> None:
    """10,000 operations are done, 10,001 are 413."""
    ops = [op("test", "/data/a", value="1")] * jsonpatch.MAX_OPERATIONS
    assert apply_json_patch(DOC, ops) == DOC
    with pytest.raises(ApiError) as error:
        apply_json_patch(DOC, [*ops, ops[0]])
    assert (error.value.code, error.value.reason) == (413, "RequestEntityTooLarge")
    assert error.value.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, "
        "got 10001"
    )


def test_there_is_a_limit_of_copied_bytes() -> None:
    """Doubling a document does not end in a full memory."""
    doc = {"a": ["x" * 1000]}
    with pytest.raises(ApiError) as error:
        apply_json_patch(doc, [op("copy", "/a/-", from_="/a")] * 20)
    assert error.value.code == 422


def test_inserted_values_are_not_shared() -> None:
    """A value of an operation can be changed by a later one without harm to the patch."""
    ops = [op("add", "/v", value={"k": []}), op("add", "/v/k/-", value=1)]
    before = copy.deepcopy(ops)
    assert apply_json_patch({}, ops) == {"v": {"k": [1]}}
    assert ops == before
    copied = apply_json_patch({"v": []}, [op("copy", "/w", from_="/v"), op("add", "/w/-", value=1)])
    assert copied == {"v": [], "w": [1]}


def test_unknown_members_are_named() -> None:
    """Strict validation of a patch names what means nothing."""
    ops = [{"op": "test", "path": "/a", "extra": 1}, None, {"more": 2}]
    assert list(jsonpatch.unknown_members(ops)) == [
        'json patch unknown field "[0].extra"',
        'json patch unknown field "[2].more"',
    ]
    assert list(jsonpatch.unknown_members({})) == []


@pytest.mark.parametrize(
    ("doc", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": None}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({"a": 1}, {"a": {"b": None}}, {"a": {}}),
    ],
)
def test_the_examples_of_rfc_7386(doc: Json, patch: Json, result: Json) -> None:
    """The RFC's examples for objects hold."""
    assert apply_merge_patch(doc, patch) == result


def test_nulls_in_new_lists() -> None:
    """Null items stay, null members of objects in a new list go; over an object nothing goes."""
    new = [None, {"x": None, "y": 1}]
    assert apply_merge_patch({}, {"a": new}) == {"a": [None, {"y": 1}]}
    assert apply_merge_patch({"a": [1]}, {"a": new}) == {"a": [None, {"y": 1}]}
    assert apply_merge_patch({"a": {}}, {"a": new}) == {"a": new}


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (None, "Invalid JSON Patch"),
        (
            [1],
            (
                "error decoding patch: json: cannot unmarshal array into Go value of type "
                "map[string]interface {}"
            ),
        ),
        (
            "x",
            (
                "error decoding patch: json: cannot unmarshal string into Go value of type "
                "map[string]interface {}"
            ),
        ),
    ],
)
def test_what_is_not_a_merge_patch(patch: Any, message: str) -> None:
    """A merge patch is an object."""
    with pytest.raises(ApiError) as error:
        apply_merge_patch({}, patch)
    assert (error.value.code, error.value.message) == (400, message)


scalars = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "b"]))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


def merged(target: Any, patch: Any) -> Any:
    """MergePatch of RFC 7386, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def has_null_in_list(value: Any, inside: bool = False) -> bool:
    """Whether an object below a list has a null member: there kube-apiserver leaves the RFC."""
    if isinstance(value, dict):
        return any(
            (inside and item is None) or has_null_in_list(item, inside) for item in value.values()
        )
    return isinstance(value, list) and any(has_null_in_list(item, True) for item in value)


@settings(max_examples=150, deadline=None)
@given(objects, objects)
def test_merging_against_the_rfc(doc: Json, patch: Json) -> None:
    """Merging is the RFC's function, pure and idempotent, but for nulls inside lists."""
    before = copy.deepcopy((doc, patch))
    result = apply_merge_patch(doc, patch)
    assert (doc, patch) == before
    if not has_null_in_list(patch):
        assert result == merged(doc, patch)
        assert apply_merge_patch(result, patch) == result


def difference(path: str, one: Any, two: Any) -> list[Json]:
    """Operations that make one value into another."""
    if not (isinstance(one, dict) and isinstance(two, dict)):
        return [] if one is two else [op("replace", path, value=two)]
    ops = [op("remove", f"{path}/{name}") for name in one if name not in two]
    for name, value in two.items():
        if name in one:
            ops += difference(f"{path}/{name}", one[name], value)
        else:
            ops.append(op("add", f"{path}/{name}", value=value))
    return ops


@settings(max_examples=100, deadline=None)
@given(objects, objects)
def test_a_difference_applied_gives_the_other(doc: Json, other: Json) -> None:
    """Operations compose, tests hold before and after, and inputs are left alone."""
    before = copy.deepcopy((doc, other))
    ops = [op("test", "", value=doc), *difference("", doc, other), op("test", "", value=other)]
    assert apply_json_patch(doc, ops) == other
    assert (doc, other) == before


@settings(max_examples=150, deadline=None)
@given(
    objects,
    st.lists(
        st.fixed_dictionaries(
            {
                "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
                "path": st.sampled_from(["", "/a", "/a/b", "/b/0", "/c/-", "/a/-1", "x"]),
            },
            optional={"from": st.sampled_from(["/a", "/b/c", "/b/0", ""]), "value": values},
        ),
        max_size=4,
    ),
)
def test_any_patch_applies_or_is_refused(doc: Json, ops: list[Json]) -> None:
    """No patch breaks the patcher or changes its inputs."""
    before = copy.deepcopy((doc, ops))
    code = 200
    try:
        apply_json_patch(doc, ops)
    except ApiError as error:
        code = error.code
    assert code in (200, 422)
    assert (doc, ops) == before


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        ({}, '{"a":{"d":1,"c":{"y":1,"x":2}},"z":{"n":1,"m":2}}'),
        ({"a": {"c": {"x": 3}}}, '{"a":{"c":{"x":3,"y":1},"d":1},"z":{"n":1,"m":2}}'),
        (
            {"z": {"q": {"b": 1, "a": [{"d": 1, "c": 2}]}}},
            '{"a":{"d":1,"c":{"y":1,"x":2}},"z":{"m":2,"n":1,"q":{"a":[{"c":2,"d":1}],"b":1}}}',
        ),
        ({"z": [{"b": 1, "a": 2}]}, '{"a":{"d":1,"c":{"y":1,"x":2}},"z":[{"b":1,"a":2}]}'),
    ],
)
def test_members_of_what_a_merge_patch_opened_are_sorted(patch: Json, text: str) -> None:
    """Others stay as they were stored: Go's library keeps what it did not look into as bytes."""
    doc = {"z": {"n": 1, "m": 2}, "a": {"d": 1, "c": {"y": 1, "x": 2}}}
    result = apply_merge_patch(doc, patch)
    shown = jsonpatch.marshalled_merge(doc, patch, result)
    assert shown == result
    assert _text(shown) == text


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (
            op("add", "/b", value={"y": 1, "x": 2}),
            '{"a":{"d":1,"c":[{"y":1,"x":2}]},"b":{"y":1,"x":2}}',
        ),
        (op("add", "/a/b", value=1), '{"a":{"b":1,"c":[{"y":1,"x":2}],"d":1}}'),
        (op("replace", "/a/c/0/x", value=3), '{"a":{"c":[{"x":3,"y":1}],"d":1}}'),
        (op("test", "/a/c", value=[{"x": 2, "y": 1}]), '{"a":{"c":[{"x":2,"y":1}],"d":1}}'),
    ],
)
def test_members_of_what_operations_opened_are_sorted(operation: Json, text: str) -> None:
    doc = {"a": {"d": 1, "c": [{"y": 1, "x": 2}]}}
    result, marshalled = jsonpatch.patched_json(doc, [operation])
    assert marshalled() == result
    assert _text(marshalled()) == text
