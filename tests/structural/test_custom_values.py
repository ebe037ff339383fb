"""Values of custom resources against their schemas: causes and rules."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.machinery.status import Cause
from kubetrio.structural import structure
from kubetrio.structural.causes import Out
from kubetrio.structural.celrules import check_rules, compiled
from kubetrio.structural.valueformats import FORMATS
from kubetrio.structural.values import Checker, Old
from kubetrio.wire import gojson

Object = dict[str, Any]


def texts(found: list[Cause]) -> list[str]:
    """Causes as messages show them."""
    return [f"{cause.field}: {cause.message}" for cause in found]


def causes(schema: Object, value: Any, old: Any = None) -> list[str]:
    """What is wrong with a value."""
    checker, out = Checker(schema), Out()
    checker.check(value, "", None if old is None else Old(checker, old), out)
    return texts(out)


def inside(spec: Object) -> Object:
    """A schema of an object with a member ``a``."""
    return {"type": "object", "properties": {"a": spec}}


IN = "a in body"
NONE = '<nil>: Invalid value: "": '
CAUSES: list[tuple[Object, Any, str]] = [
    (
        {"type": "integer"},
        "x",
        f'a: Invalid value: "string": {IN} must be of type integer: "string"',
    ),
    (
        {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
        1,
        f"a: Invalid value: 1: {IN} should be greater than 1",
    ),
    (
        {"type": "number", "multipleOf": 0.5},
        0.7,
        f"a: Invalid value: 0.7: {IN} should be a multiple of 0.5",
    ),
    (
        {"type": "integer", "format": "int32"},
        1 << 31,
        f"{NONE}Checked value must be of type integer with format int32 in a",
    ),
    (
        {"type": "number", "format": "float"},
        3.5e39,
        f"{NONE}Checked value must be of type number with format float in a",
    ),
    (
        {"type": "string", "enum": ["x", "y"]},
        "z",
        'a: Unsupported value: "z": supported values: "x", "y"',
    ),
    (
        {"type": "string", "pattern": "^b$"},
        "b\n",
        f"a: Invalid value: \"b\\n\": {IN} should match '^b$'",
    ),
    (
        {"type": "array", "items": {"type": "string"}, "maxItems": 1},
        ["x", "y"],
        "a: Too many: 2: must have at most 1 item",
    ),
    ({"type": "object", "required": ["k"]}, {}, "a.k: Required value"),
    (
        {"not": {"required": ["k"]}, "type": "object"},
        {"k": 1},
        f'{NONE}"a" must not validate the schema (not)',
    ),
    (
        {"type": "integer", "oneOf": [{"minimum": 1}, {"minimum": 2}]},
        3,
        f'{NONE}"a" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ),
    ({"type": "string", "nullable": True}, None, ""),
    ({"type": "string"}, None, f'a: Invalid value: "null": {IN} must be of type string: "null"'),
    (
        {"x-kubernetes-int-or-string": True},
        True,
        f'a: Invalid value: "boolean": {IN} must be of type integer,string: "boolean"',
    ),
    ({"type": "integer"}, 3.0, ""),
]


@pytest.mark.parametrize(("spec", "value", "found"), CAUSES)
def test_causes(spec: Object, value: Any, found: str) -> None:
    """In the words of kube-openapi."""
    assert causes(inside(spec), {"a": value}) == ([found] if found else [])


_LARGE = {"type": "number", "maximum": 10**10}
_FACTOR = {"type": "number", "multipleOf": 10**7}


@pytest.mark.parametrize(
    ("schema", "number", "found"),
    [
        (_LARGE, "1e11", "1e+11: a in body should be less than or equal to 1e+10"),
        (
            _LARGE,
            "20000000000",
            "20000000000: a in body should be less than or equal to 10000000000",
        ),
        (
            {"type": "integer", "maximum": 2 * 10**7},
            "3e7",
            "3e+07: a in body should be less than or equal to 2e+07",
        ),
        (_FACTOR, "1.5e7", "1.5e+07: a in body should be a multiple of 1e+07"),
        (_FACTOR, "12345678", "12345678: a in body should be a multiple of 10000000"),
        (
            {"type": "number", "minimum": 10**21},
            "1e20",
            "1e+20: a in body should be greater than or equal to 1e+21",
        ),
    ],
)
def test_numbers_are_told_as_they_were_written(schema: Object, number: str, found: str) -> None:
    """A float64 stays one until it is stored, though it is whole; its bound is one then too."""
    value = gojson.parse(b'{"a":%b}' % number.encode()).value
    structure.as_go_numbers(value)
    assert causes(inside(schema), value) == [f"a: Invalid value: {found}"]


def test_a_bound_that_no_int64_holds_is_the_least_one() -> None:
    """As Go converts it on amd64, where an int64 is compared with it."""
    assert causes(inside({"type": "number", "minimum": 10**21}), {"a": 5}) == []


def test_values_of_an_enumeration_are_told_as_json() -> None:
    [text] = causes(inside({"type": "number", "enum": [1e10, 1.5]}), {"a": 2})
    assert text == 'a: Unsupported value: 2: supported values: "10000000000", "1.5"'


@pytest.mark.parametrize(
    ("allowed", "value", "fits"),
    [
        ([1, None], None, False),
        ([1, 2.5], 1.5, True),
        ([1, 2.5], 2.5, True),
        ([1, 2.5], 2, False),
        ([1.5], 1, False),
        (["A", 7], 65, True),
        (["A", 7], 66, False),
        ([True], 1, False),
        ([1], True, False),
    ],
)
def test_a_value_becomes_of_the_type_of_those_that_are_listed(
    allowed: list[Any], value: Any, fits: bool
) -> None:
    """As Go converts it: without its fraction, to the character with its number; null never."""
    spec = {"enum": allowed, "x-kubernetes-preserve-unknown-fields": True}
    nullable = {**spec, "type": "integer", "nullable": True} if value is None else spec
    assert (causes(inside(nullable), {"a": value}) == []) is fits


def test_nearest_alternative_is_told() -> None:
    """Of several that do not fit, the one of which most was good."""
    schema = inside({
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
        "anyOf": [{"required": ["z"]}, {"properties": {"x": {"minimum": 5}, "y": {"minimum": 0}}}],
    })  # fmt: skip
    assert causes(schema, {"a": {"x": 1, "y": 1}}) == [
        '<nil>: Invalid value: "": "a" must validate at least one schema (anyOf)',
        "a.x: Invalid value: 1: a.x in body should be greater than or equal to 5",
    ]


def test_what_did_not_change_is_let_be() -> None:
    """And what changed is not, an item of a list with keys apart from its neighbours."""
    item = {
        "type": "object",
        "properties": {"k": {"type": "string"}, "v": {"type": "integer", "minimum": 1}},
    }
    schema = inside({
        "type": "array", "items": item,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
    })  # fmt: skip
    old = {"a": [{"k": "x", "v": 0}, {"k": "y", "v": 0}]}
    new = {"a": [{"k": "y", "v": -1}, {"k": "x", "v": 0}]}
    assert causes(schema, new, old) == [
        "a[0].v: Invalid value: -1: a[0].v in body should be greater than or equal to 1"
    ]


def test_patterns_take_bounded_time() -> None:
    """A pattern and a text made for engines that try every way."""
    assert causes(inside({"type": "string", "pattern": "^(a+)+$"}), {"a": "a" * 5000 + "b"})


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("datetime", "2020-01-02T03:04:05.1Z", "2020-13-01T00:00:00Z"),
        ("date", "2020-02-29", "2021-02-29"),
        ("duration", "5 days", "5 parsecs"),
        ("email", "a@b.c", "nope"),
        ("ipv4", "010.0.0.1", "1.2.3.4.5"),
        ("ipv6", "::1", "1.2.3.4"),
        ("cidr", "10.0.0.0/8", "10.0.0.0"),
        ("uuid", "12345678-1234-1234-1234-123456789abc", "xyz"),
        ("isbn", "0-306-40615-2", "1"),
        ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
        ("rgbcolor", "rgb(1, 2, 255)", "rgb(256,0,0)"),
        ("byte", "aGk=", "not base64!"),
        ("hostname", "a.example", "-bad-"),
        ("uri", "https://x/y", "::"),
        ("mac", "00:11:22:33:44:55", "00:00"),
        ("k8sshortname", "a-b", "A"),
    ],
)
def test_formats(name: str, good: str, bad: str) -> None:
    """As Go reads them."""
    assert FORMATS[name](good)
    assert not FORMATS[name](bad)


def ruled(schema: Object, value: Any, old: Any = None) -> list[str]:
    """What the rules of a schema say."""
    place = compiled(schema)
    assert place is not None
    out: list[Cause] = []
    check_rules(place, value, old, Checker(schema), out)
    return texts(out)


def rules(*found: Object, **more: Any) -> Object:
    """A schema with rules."""
    return {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "a-b": {"type": "string"}},
        "x-kubernetes-validations": list(found),
        **more,
    }


def test_rules() -> None:
    """Messages, reasons and paths are those of the rule; escaped members are seen."""
    pytest.importorskip("cel_expr_python")
    schema = inside(
        rules(
            {"rule": "self.n > 1"},
            {"rule": "self.n > 2", "messageExpression": "'got ' + string(self.n)"},
            {
                "rule": "self.n > 3",
                "message": "no",
                "reason": "FieldValueForbidden",
                "fieldPath": ".n",
            },
            {"rule": "self.a__dash__b == 'x'"},
        )
    )
    assert ruled(schema, {"a": {"n": 1, "a-b": "x"}}) == [
        "a: Invalid value: failed rule: self.n > 1",
        "a: Invalid value: got 1",
        "a.n: Forbidden: no",
    ]


def test_rules_do_not_see_what_is_not_declared() -> None:
    """What a schema lets stand without declaring it, fractions among it, disturbs no rule."""
    pytest.importorskip("cel_expr_python")
    schema = rules({"rule": "self.n == 1"}, **{"x-kubernetes-preserve-unknown-fields": True})
    value = gojson.parse(b'{"a":{"n":1,"free":{"f":1.50}}}').value
    assert ruled(inside(schema), value) == []


def test_rules_have_a_budget() -> None:
    """A long list of items with rules that loop ends with a refusal, in kube-apiserver's words."""
    pytest.importorskip("cel_expr_python")
    item = {
        "type": "array",
        "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(x, x > 0)"}],
    }
    found = ruled(inside({"type": "array", "items": item}), {"a": [[1]] * 2000})
    budget = "validation failed due to running out of cost budget"
    told = f"{budget}, no further validation rules will be run"
    assert found == [f'a[1000]: Invalid value: "array": {told}']


def test_one_evaluation_has_a_limit() -> None:
    """A rule whose loops go on for too long is the last one that is looked at."""
    pytest.importorskip("cel_expr_python")
    rule = "self.all(x, self.all(y, x == y))"
    numbers = {
        "type": "array",
        "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": rule}, {"rule": "false"}],
    }
    told = (
        "'operation cancelled: actual cost limit exceeded': no further validation rules will be "
        f"run due to call cost exceeds limit for rule: {rule}"
    )
    found = ruled(inside(numbers), {"a": [1] * 200})
    assert found == [f'a: Invalid value: "array": {told}']


def test_transition_rules() -> None:
    """They are looked at where there was something before."""
    pytest.importorskip("cel_expr_python")
    schema = inside(rules({"rule": "self.n >= oldSelf.n", "message": "only up"}))
    assert ruled(schema, {"a": {"n": 1}}) == []
    assert ruled(schema, {"a": {"n": 1}}, {"a": {"n": 2}}) == ["a: Invalid value: only up"]


def test_transition_rules_below_atomic_objects() -> None:
    """Their members are told by their names, also in atomic items of a list with keys."""
    pytest.importorskip("cel_expr_python")
    atomic = {
        "type": "object",
        "properties": {
            "k": {"type": "string"},
            "n": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]},
        },
        "x-kubernetes-map-type": "atomic",
    }
    keyed = {
        "type": "array",
        "items": atomic,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    }
    loose = {"type": "array", "items": {**atomic, "x-kubernetes-map-type": "granular"}}
    for schema, new, old in (
        (atomic, {"n": 1}, {"n": 2}),
        (keyed, [{"k": "b", "n": 3}, {"k": "a", "n": 1}], [{"k": "a", "n": 2}]),
    ):
        [told] = ruled(inside(schema), {"a": new}, {"a": old})
        assert told.endswith("failed rule: self >= oldSelf")
        assert ruled(inside(schema), {"a": new}, {"a": new}) == []
    assert ruled(inside(loose), {"a": [{"n": 1}]}, {"a": [{"n": 2}]}) == []


def test_transition_rules_that_run_at_creation_too() -> None:
    """With ``optionalOldSelf`` what was is an optional, in messages as well."""
    pytest.importorskip("cel_expr_python")
    same = {
        "rule": "!oldSelf.hasValue() || oldSelf.value().n == self.n",
        "messageExpression": "'was ' + string(oldSelf.value().n)",
        "optionalOldSelf": True,
    }
    first = {"rule": "oldSelf.hasValue() || self.n == 1", "optionalOldSelf": True}
    schema = inside(rules(same, first))
    assert ruled(schema, {"a": {"n": 1}}) == []
    assert ruled(schema, {"a": {"n": 2}}) == [f"a: Invalid value: failed rule: {first['rule']}"]
    assert ruled(schema, {"a": {"n": 2}}, {"a": {"n": 2}}) == []
    assert ruled(schema, {"a": {"n": 2}}, {"a": {"n": 1}}) == ["a: Invalid value: was 1"]
    assert ruled(schema, {"a": {"n": 2}}, {}) == [f"a: Invalid value: failed rule: {first['rule']}"]


def test_rules_about_what_did_not_change() -> None:
    """They are let be, unless they are about the change."""
    pytest.importorskip("cel_expr_python")
    schema = {
        "type": "object",
        "properties": {"a": rules({"rule": "self.n > 1"}), "b": {"type": "integer"}},
    }
    assert ruled(schema, {"a": {"n": 1}, "b": 2}, {"a": {"n": 1}, "b": 1}) == []
    assert ruled(schema, {"a": {"n": 0}, "b": 2}, {"a": {"n": 1}, "b": 1}) != []
