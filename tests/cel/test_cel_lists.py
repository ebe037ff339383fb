"""Functions of lists."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubetrio.cel.engine import available
from kubetrio.cel.expressions import CompileError, admission_scope, check
from kubetrio.cel.programs import Inputs, Outcome, Program

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra cel")
SCOPE = admission_scope(params=False, authorizer=True, composed=False, patches=True)


def evaluated(source: str, **values: Any) -> Outcome:
    return Program(check(source, SCOPE)).evaluate(Inputs({"object": {"n": 1}, **values}))


@pytest.mark.parametrize(
    "source",
    [
        "lists.range(3) == [0, 1, 2] && lists.range(-1) == []",
        "[1, 2, 3].slice(1, 3) == [2, 3] && [1].slice(1, 1) == []",
        "[[1], [2, 3]].flatten() == [1, 2, 3]",
        "[[[1]], [[2], [3]]].flatten(2) == [1, 2, 3]",
        "[[1], [2]].flatten(0) == [[1], [2]]",
        "[3, 1, 2].sort() == [1, 2, 3] && ['b', 'a'].sort() == ['a', 'b']",
        "[duration('2s'), duration('1s')].sort()[0] == duration('1s')",
        "[3, 1, 2].reverse() == [2, 1, 3] && [].reverse() == []",
        "[1, 2, 1, 3, 2].distinct() == [1, 2, 3]",
        "[dyn(1), dyn(true), dyn('1'), dyn(b'1'), dyn(1.0)].distinct().size() == 4",
        "[{'a': 1}, {'a': 1}, {'a': 2}].distinct().size() == 2",
        "[-3, 1, 2].sortBy(x, x * x) == [1, 2, -3]",
        "['ccc', 'a', 'bb'].sortBy(x, x.size()) == ['a', 'bb', 'ccc']",
        "[{'n': 'b'}, {'n': 'a'}].sortBy(x, x.n).map(x, x.n) == ['a', 'b']",
        "[[2, 1], [4, 3]].map(x, x.sortBy(y, y)) == [[1, 2], [3, 4]]",
    ],
)
def test_lists(source: str) -> None:
    """The lists library of cel-go, version 3."""
    assert evaluated(source) == Outcome(True)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("[1].flatten()", "found no matching overload for 'flatten' applied to 'list(int).()'"),
        (
            "[{'a': 1}].sort()",
            "found no matching overload for 'sort' applied to 'list(map(string, int)).()'",
        ),
        ("'a'.reverse()", "found no matching overload for 'reverse' applied to 'string.()'"),
        ("[1].sortBy(1, 2)", "argument is not an identifier"),
        ("[1].all(1, x, true)", "argument must be a simple name"),
        ("[1].all(x, x, true)", "duplicate variable name: x"),
    ],
)
def test_lists_that_do_not_compile(source: str, problem: str) -> None:
    with pytest.raises(CompileError, match=re.escape(problem)):
        evaluated(source)
