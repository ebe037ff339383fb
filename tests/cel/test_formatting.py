"""``format``: what its clauses print, and what is checked when an expression is written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubetrio.cel.expressions import CompileError, admission_scope, check
from kubetrio.cel.formatting import Problem, formatted

SCOPE = admission_scope(params=False, authorizer=False, composed=False, patches=False)
DAY = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("%d %s %f", [1, "a", 1.5], "1 a 1.500000"),
        ("%b %x %X %o", [5, 255, 255, 8], "101 ff FF 10"),
        ("%b %b %x", [True, -5, -255], "1 -101 -ff"),
        ("%x %X", ["hé", b"\x0f"], "68c3a9 0F"),
        ("%.3f %.0f %f", [1.23456, 2.5, 1234567.891], "1.235 2 1,234,567.891000"),
        ("%f %f %f", [float("nan"), float("inf"), "-Infinity"], "NaN ∞ -∞"),
        ("%e %.2e", [1234.5, -0.00012], "1.234500\u00d710⁰³ -1.200000\u00d710⁻⁰⁴"),
        ("%s %s %s", [None, True, b"abc"], "null true abc"),
        ("%s %s %s %s", [1.0, 1e6, 1e-7, 123456.789], "1 1e+06 1e-07 123456.789"),
        ("%s %s", [float("-inf"), float("nan")], "-Inf NaN"),
        ("%s %s", [timedelta(seconds=-1.5), DAY], "-1.5s 2020-01-01T00:00:00Z"),
        ("%s", [[1, "a", 2.5, None, True]], '[1, "a", 2.500000, null, true]'),
        ("%s", [[b"a", timedelta(seconds=1)]], '[b"a", duration("1s")]'),
        ("%s", [{"b": [1], "a": {}, 2: "x", True: 2}], '{"a":{}, "b":[1], 2:"x", true:2}'),
        ("100%% é", [], "100% é"),
    ],
)
def test_clauses(text: str, arguments: list[Any], expected: str) -> None:
    """As kube-apiserver prints them; what is inside of lists and maps is quoted."""
    assert formatted(text, arguments) == expected


@pytest.mark.parametrize(
    ("text", "arguments", "problem"),
    [
        ("%s %s", ["a"], "index 1 out of range"),
        ("%", [1], "unexpected end of string"),
        ("%z", [1], 'could not parse formatting clause: unrecognized formatting clause "z"'),
        (
            "%.f",
            [1.0],
            (
                "could not parse formatting clause: error while parsing precision: error while "
                'converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
            ),
        ),
        (
            "%d",
            [1.5],
            (
                "error during formatting: decimal clause can only be used on integers, "
                "was given double"
            ),
        ),
        (
            "%e",
            ["x"],
            (
                "error during formatting: scientific clause can only be used on doubles, "
                "was given string"
            ),
        ),
        (
            "%s",
            [{1.5: "a"}],
            "error during formatting: no formatting function for map key of type double",
        ),
    ],
)
def test_what_does_not_fit(text: str, arguments: list[Any], problem: str) -> None:
    """In cel-go's words."""
    with pytest.raises(Problem) as caught:
        formatted(text, arguments)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    "expression",
    [
        "'%s %d %s'.format(['a', 1, [2.5, 'b', {1: true, 'x': null}]]) == ''",
        "'%s'.format([object.metadata.name]) == ''",
        "[[], [1]] == [] && [[1], []] == []",
        "['a'].transformList(i, v, [i, 1]) == []",
        "[object.a, object.b] == []",
    ],
)
def test_what_may_be_mixed(expression: str) -> None:
    """What is formatted, and what is not known."""
    assert check(expression, SCOPE).type == "bool"


@pytest.mark.parametrize(
    ("expression", "problem", "column"),
    [
        ("'%d'.format(['a']) == ''", "decimal clause can only be used on integers, was", 14),
        ("'%s'.format([[1, ip('::1')]]) == ''", "durations, and timestamps, was given net.IP", 20),
        ("'%s'.format(['a', 'b']) == ''", "too many arguments supplied to string.format", 12),
        ("[1, 'a', true] == []", "expected type 'int' but found 'string'", 5),
        ("[1, object.a] == []", "expected type 'int' but found 'dyn'", 11),
        ("[null, 1] == []", "expected type 'null' but found 'int'", 8),
        ("[1].indexOf(2u) == 0", "'indexOf' applied to 'list(int).(uint)'", 12),
        ("sets.contains([1], ['a'])", "applied to '(list(int), list(string))'", 14),
    ],
)
def test_what_is_refused_when_it_is_written(expression: str, problem: str, column: int) -> None:
    """One problem each, where it is."""
    with pytest.raises(CompileError) as caught:
        check(expression, SCOPE)
    assert problem in str(caught.value)
    assert str(caught.value).count("ERROR") == 1
    assert f"<input>:1:{column}: " in str(caught.value)
