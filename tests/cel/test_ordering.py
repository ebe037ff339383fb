"""The order in which loops go through maps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.cel.budget import Budget, budgeted
from kubetrio.cel.engine import available
from kubetrio.cel.expressions import admission_scope, check
from kubetrio.cel.ordering import KEYS, ROWS, key_order
from kubetrio.cel.programs import Inputs, Outcome, Program
from kubetrio.cel.spending import counting

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra cel")

SCOPE = admission_scope(params=False, authorizer=False, composed=False, patches=False)
LETTERS = "dbhfaceg"


def evaluated(source: str, data: dict[str, str] | None = None) -> Outcome:
    data = dict.fromkeys(LETTERS, "x") if data is None else data
    inputs = {"object": {"data": data}, "oldObject": None, "request": {}}
    return Program(check(source, SCOPE)).evaluate(Inputs(inputs))


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("object.data.map(k, k)", [*"abcdefgh"]),
        ("object.data.filter(k, k > 'd')", [*"efgh"]),
        ("object.data.map(k, k < 'c', object.data.map(j, j < 'c', k + j))",
         [["aa", "ab"], ["ba", "bb"]]),
        ("object.data.transformList(k, v, k + v)", [f"{one}x" for one in "abcdefgh"]),
        ("object.data.transformList(k, v, k > 'f', object.data.transformList(j, w, k + j))[1][0]",
         "ha"),
        ("{'d': 1, 'b': 2, 'c': 3, 'a': 4}.map(k, k)", [*"abcd"]),
        ("{'d': 1, 'b': 2, 'c': 3, 'a': 4}.transformList(k, v, v)", [4, 2, 3, 1]),
        ("dyn({'d': 1, 'b': 2, 'c': 3, 'a': 4}).transformList(k, v, v)", [4, 2, 3, 1]),
        ("{3: 'a', -1: 'b', 20: 'c'}.map(k, k)", [-1, 3, 20]),
        ("{true: 1, false: 2}.map(k, k)", [False, True]),
        ("{3u: 1, 20u: 2, 1u: 4}.map(k, k + 1u)", [2, 4, 21]),
        ("{3u: 1, 20u: 2, 1u: 4}.transformList(k, v, int(k + 1u) + v)", [6, 5, 23]),
        ("{18446744073709551615u: 1}.map(k, k)", [18446744073709551615]),
        ("{}.map(k, k)", []),
        ("{7u: 'x'}.transformList(k, v, [string(k + 1u), v])[0]", ["8", "x"]),
        ("{'a': 'x'}.transformList(k, v, [k, v])", [["a", "x"]]),
        ("dyn({'a': 'x'}).transformList(k, v, [k, v])", [["a", "x"]]),
    ],
)  # fmt: skip
def test_loops_over_maps_are_in_the_order_of_keys(source: str, value: Any) -> None:
    """With one variable and two, whether or not the checker knows the type of the map."""
    assert evaluated(source) == Outcome(value)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("['b', 'a'].map(x, x)", ["b", "a"]),
        ("['b', 'a'].transformList(i, x, x + string(i))", ["b0", "a1"]),
        ("dyn(['b', 'a']).transformList(i, x, x + string(i))", ["b0", "a1"]),
        ("['b', 'c', 'a'].sortBy(x, x)", ["a", "b", "c"]),
    ],
)
def test_lists_keep_their_order(source: str, value: Any) -> None:
    """Of items and indexes."""
    assert evaluated(source) == Outcome(value)


def test_a_name_that_an_inner_loop_declares_is_its_own() -> None:
    """Only names of the loop itself are replaced."""
    source = "object.data.transformList(k, v, ['y'].map(v, k + v))"
    assert evaluated(source, {"b": "1", "a": "2"}) == Outcome([["ay"], ["by"]])


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("object.nope.map(k, k)", "no such key: nope"),
        ("object.data.a.map(k, k)", "no such overload"),
        ("object.data.all(k, v, int(k) > 0)", "type conversion error from 'string' to 'int'"),
    ],
)
def test_errors_stay(source: str, error: str) -> None:
    """Of what is no map, and of the turns."""
    assert error in evaluated(source).error


def test_maps_come_out_in_the_order_of_keys() -> None:
    """What is written of them has that order."""
    outcome = evaluated("object.data.transformMap(k, v, v)")
    assert list(outcome.value) == [*"abcdefgh"]
    outcome = evaluated("{'z': {'d': 1, 'c': 2}, 'a': {'f': 1, 'e': 2}}")
    assert json.dumps(outcome.value) == '{"a": {"e": 2, "f": 1}, "z": {"c": 2, "d": 1}}'


@given(st.dictionaries(st.text(), st.text(), max_size=12))
def test_keys_are_sorted_by_code_points(data: dict[str, str]) -> None:
    """Whatever they are, and values go with their keys."""
    data = {key.replace("\0", ""): value.replace("\0", "") for key, value in data.items()}
    outcome = evaluated("object.data.transformList(k, v, [k, v])", data)
    assert outcome == Outcome([[key, data[key]] for key in sorted(data)])


def test_keys_of_several_types_have_an_order() -> None:
    """By type first; true is no number."""
    assert sorted(["b", 2, True, "a", 1], key=key_order) == [True, 1, 2, "a", "b"]


def test_the_lists_of_keys_are_emptied() -> None:
    """The engine keeps what functions returned."""
    keys_of = {name: function for name, _, _, function in ROWS}[KEYS]
    with budgeted(Budget()) as budget:
        keys = counting(keys_of)({"b": 1, "a": 2})
        assert keys == ["a", "b"]
        budget.go_on()
    assert keys == []


def test_equal_keys_are_one_object() -> None:
    """The engine keeps each object that it was given."""
    keys_of = {name: function for name, _, _, function in ROWS}[KEYS]
    letters = ["a", "b", "c"]
    (one,), (other,) = (keys_of({"".join(letters): 1}) for _ in range(2))
    assert one == "abc"
    assert one is other


@pytest.mark.e2e
def test_processes_agree() -> None:
    """With hash seeds of their own, and each time in one process."""
    code = (
        "from kubetrio.cel.expressions import admission_scope, check\n"
        "from kubetrio.cel.programs import Inputs, Program\n"
        "scope = admission_scope(params=False, authorizer=False, composed=False, patches=False)\n"
        "data = dict.fromkeys('dbhfaceg', 'x')\n"
        "for source in (\n"
        "    'object.data.map(k, k)', 'object.data.transformMap(k, v, k)',\n"
        "    'object.data.transformList(k, v, k + k)',\n"
        "    \"{'d': 1, 'b': 2, 'a': 3, 'c': 4}.map(k, k)\",\n"
        "    '{4: 1, 1: 2, 3: 3, 2: 4}', \"'%s'.format([object.data])\",\n"
        "):\n"
        "    for _ in range(3):\n"
        "        inputs = Inputs({'object': {'data': data}, 'oldObject': None, 'request': {}})\n"
        "        print(Program(check(source, scope)).evaluate(inputs))\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    (text,) = printed
    lines = text.splitlines()
    assert len(lines) == 18
    assert len(set(lines)) == 6
