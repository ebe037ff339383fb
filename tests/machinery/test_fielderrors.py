"""Causes of invalid objects."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery import fielderrors as fe
from kubetrio.machinery.status import Cause


@pytest.mark.parametrize(
    ("cause", "reason", "message"),
    [
        (fe.invalid("f", 0, "must be x"), "FieldValueInvalid", "Invalid value: 0: must be x"),
        (fe.invalid("f", None, "d"), "FieldValueInvalid", "Invalid value: null: d"),
        (fe.invalid("f", "x", ""), "FieldValueInvalid", 'Invalid value: "x"'),
        (
            fe.invalid("f", ["10.0.0.1"], "d"),
            "FieldValueInvalid",
            'Invalid value: ["10.0.0.1"]: d',
        ),
        (fe.invalid("f", {"a": "c"}, "d"), "FieldValueInvalid", 'Invalid value: {"a":"c"}: d'),
        (
            fe.type_invalid("f", "string", "f in body must be of type integer"),
            "FieldValueTypeInvalid",
            'Invalid value: "string": f in body must be of type integer',
        ),
        (fe.required("f"), "FieldValueRequired", "Required value"),
        (fe.required("f", "here"), "FieldValueRequired", "Required value: here"),
        (
            fe.not_supported("f", "Nope", ["Exact", ""]),
            "FieldValueNotSupported",
            'Unsupported value: "Nope": supported values: "Exact", ""',
        ),
        (fe.duplicate("f", "a"), "FieldValueDuplicate", 'Duplicate value: "a"'),
        (fe.forbidden("f", "no"), "FieldValueForbidden", "Forbidden: no"),
        (fe.too_long("f", 4), "FieldValueTooLong", "Too long: may not be more than 4 bytes"),
        (
            fe.too_long("f", 1, unit="character"),
            "FieldValueTooLong",
            "Too long: may not be more than 1 character",
        ),
        (
            fe.too_many("f", 3, 2),
            "FieldValueTooMany",
            "Too many: 3: must have at most 2 items",
        ),
        (fe.too_many("f", -1, 1), "FieldValueTooMany", "Too many: must have at most 1 item"),
        (fe.not_found("f", "v"), "FieldValueNotFound", 'Not found: "v"'),
        (fe.internal("f", "bug"), "InternalError", "Internal error: bug"),
    ],
)
def test_each_constructor_has_upstream_wording(cause: Cause, reason: str, message: str) -> None:
    """Reason, message and path are those of the error type."""
    assert cause == Cause(reason, message, "f")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('a"b\\', '"a\\"b\\\\"'),
        ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
        ("\0\x1f\x7f", '"\\x00\\x1f\\x7f"'),
        ("ž🚀", '"ž🚀"'),
        ("\x80\u2028\U000e0001", '"\\u0080\\u2028\\U000e0001"'),
        ("\ud800", '"\\ufffd"'),
        ("a<b>", '"a<b>"'),
    ],
)
def test_strings_are_quoted_as_go_does(value: str, text: str) -> None:
    """Escapes follow strconv.Quote."""
    assert fe.format_value(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (-3, "-3"),
        (0.7, "0.7"),
        (0.0, "0"),
        (100000.0, "100000"),
        (1000000.0, "1e+06"),
        (1234567.5, "1.2345675e+06"),
        (-0.00012, "-0.00012"),
        (0.000012, "1.2e-05"),
        (float("inf"), "+Inf"),
        ({"a": "<&>"}, '{"a":"\\u003c\\u0026\\u003e"}'),
        ([], "[]"),
    ],
)
def test_other_values_are_bare(value: object, text: str) -> None:
    """Numbers print as %v, the rest as compact JSON with Go's HTML escapes."""
    assert fe.format_value(value) == text


@settings(max_examples=50, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_keep_their_value(value: float) -> None:
    """What is printed reads back as the same number."""
    assert float(fe.format_value(value)) == value
