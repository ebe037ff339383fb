"""Patches of webhooks, and what is said of those that do not apply."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.plugins.dynamic.patches import FailedPatch, UndecodablePatch, applied, operations_in

DOC = {"metadata": {"name": "c", "finalizers": ["a/b"]}}
MISSING = "missing value"

FAILED = [
    (
        {"op": "add", "path": "/nope/x", "value": 1},
        f'add operation does not apply: doc is missing path: "/nope/x": {MISSING}',
    ),
    (
        {"op": "add", "path": "/metadata/finalizers/7", "value": "x"},
        (
            "error in add for path: '/metadata/finalizers/7': Unable to access invalid index: 7: "
            "invalid index referenced"
        ),
    ),
    (
        {"op": "remove", "path": "/nope"},
        f"error in remove for path: '/nope': Unable to remove nonexistent key: nope: {MISSING}",
    ),
    (
        {"op": "move", "from": "/nope", "path": "/data"},
        f"error in move for path: 'nope': Unable to remove nonexistent key: nope: {MISSING}",
    ),
    (
        {"op": "copy", "from": "/nope/x", "path": "/data"},
        f"copy operation does not apply: doc is missing from path: /nope/x: {MISSING}",
    ),
    (
        {"op": "test", "path": "/metadata/name", "value": "z"},
        "testing value /metadata/name failed: test failed",
    ),
    (
        {"op": "test", "path": "/nope/x", "value": "z"},
        f"test operation does not apply: is missing path: /nope/x: {MISSING}",
    ),
    (
        {"op": "test", "path": "/metadata/finalizers/x", "value": "z"},
        (
            "error in test for path: '/metadata/finalizers/x': strconv.Atoi: parsing \"x\": "
            "invalid syntax"
        ),
    ),
    (
        {"op": "remove", "path": "/metadata/finalizers/x"},
        (
            "error in remove for path: '/metadata/finalizers/x': strconv.Atoi: parsing \"x\": "
            "invalid syntax"
        ),
    ),
    (
        {"op": "move", "from": "/metadata/finalizers/3", "path": "/data"},
        (
            "error in move for path: '3': Unable to access invalid index: 3: invalid index "
            "referenced"
        ),
    ),
    (
        {"op": "move", "from": "/metadata/name", "path": "/nope/x"},
        f"move operation does not apply: doc is missing destination path: /nope/x: {MISSING}",
    ),
    (
        {"op": "copy", "from": "/metadata/name", "path": "/metadata/finalizers/9"},
        (
            "error while adding value during copy: Unable to access invalid index: 9: invalid "
            "index referenced"
        ),
    ),
    (
        {"op": "move", "path": "/data"},
        f"move operation failed to decode from: operation, missing from field: {MISSING}",
    ),
    (
        {"op": "move", "from": "/metadata/name"},
        f"move operation failed to decode path: operation missing path field: {MISSING}",
    ),
    (
        {"op": "test", "path": 5},
        (
            "test operation failed to decode path: json: cannot unmarshal number into Go value of "
            "type string"
        ),
    ),
    ({"op": "add", "value": 1}, f"add operation failed to decode path: {MISSING}"),
    ({"op": "frob", "path": "/x"}, "Unexpected kind: frob"),
    ({"path": "/x"}, "Unexpected kind: unknown"),
    (None, "Unexpected kind: unknown"),
]


@pytest.mark.parametrize(("operation", "words"), FAILED)
def test_words(operation: Any, words: str) -> None:
    """They are those of kube-apiserver's library (recorded), also after operations that apply."""
    first = {"op": "add", "path": "/data", "value": {}}
    for operations in ([operation], [first, operation]):
        with pytest.raises(FailedPatch) as caught:
            applied(DOC, operations)
        assert str(caught.value) == words


@pytest.mark.parametrize("patch", [b"nope", b"{}", b'["x"]', b'[{"op":', b""])
def test_what_is_no_patch(patch: bytes) -> None:
    """It is told before anything is applied."""
    with pytest.raises(UndecodablePatch):
        operations_in(patch)


def test_too_many_operations() -> None:
    """More than 10,000 are refused."""
    with pytest.raises(FailedPatch):
        applied(DOC, [{"op": "add", "path": "/a", "value": 1}] * 10_001)


PATHS = st.sampled_from(
    ["", "/", "/metadata", "/metadata/finalizers/0", "/metadata/finalizers/-", "/x/y", "x", "/a~1b"]
)
VALUES = st.none() | st.integers() | st.text(max_size=3) | st.just({"a": []}) | st.just([1])
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"])},
    optional={"path": PATHS | VALUES, "from": PATHS | VALUES, "value": VALUES},
)


@given(st.lists(st.none() | OPERATIONS, max_size=5))
def test_any_operations(operations: list[Any]) -> None:
    """They apply, or fail with words; the object stays as it was."""
    before = repr(DOC)
    try:
        applied(DOC, operations)
    except FailedPatch as error:
        words = str(error)
    else:
        words = "none needed"
    assert words
    assert repr(DOC) == before
