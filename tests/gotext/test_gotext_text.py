"""Values in Go's words."""

import pytest

from kubetrio.gotext import text as gotext

VALUE = {"b": [1, "x", None], "a": True}


def test_plain_form():
    """Maps print sorted, without quotes."""
    assert gotext.go_value(VALUE) == "&{map[a:true b:[1 x <nil>]]}"
    assert gotext.go_value(1.5) == "&{1.5}"


def test_source_form():
    """The form of a literal names the types."""
    assert gotext.go_literal(VALUE) == (
        '&value.valueUnstructured{Value:map[string]interface {}{"a":true, '
        '"b":[]interface {}{1, "x", interface {}(nil)}}}'
    )


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (True, "bool"),
        ("", "string"),
        (1, "int64"),
        (1.5, "float64"),
        ({}, "map[string]interface {}"),
        ([], "[]interface {}"),
    ],
)
def test_types(value, name):
    """Parsed JSON has few types in Go."""
    assert gotext.go_type(value) == name


@pytest.mark.parametrize(
    ("texts", "told"),
    [([], ""), (["a"], "a"), (["a", "a"], "a"), (["b", "a", "b"], "[b, a]")],
)
def test_aggregate(texts, told):
    """Each error is told once; brackets say that there are several."""
    assert gotext.aggregate(texts) == told
