"""Rules of custom resources: types of schemas, names of members, what is wrong with rules."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.cel.engine import available
from kubetrio.cel.escaping import escaped
from kubetrio.cel.ruleproblems import rule_problems

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra cel")

TEXT = {"type": "string"}
SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "on": {"type": "boolean"},
        "raw": {"type": "string", "format": "byte"},
        "since": {"type": "string", "format": "date-time"},
        "for": {"type": "string", "format": "duration"},
        "port": {"x-kubernetes-int-or-string": True},
        "my-key": {"type": "string"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "my-labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "nested": {
            "type": "object",
            "additionalProperties": {"type": "object", "additionalProperties": TEXT},
        },
        "lists": {"type": "object", "additionalProperties": {"type": "array", "items": TEXT}},
        "maps": {"type": "array", "items": {"type": "object", "additionalProperties": TEXT}},
        "grid": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
        "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "template": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"metadata": {"type": "object"}},
        },
    },
}


def problems(*rules: dict[str, Any], at: str = "spec") -> list[tuple[str, int, str, str]]:
    schema = {"type": "object", "properties": {"spec": dict(SPEC)}}
    target = schema if at == "root" else schema["properties"]["spec"]  # type: ignore[index]
    target["x-kubernetes-validations"] = list(rules)
    return [
        (found.place.path, found.index, found.member, found.text)
        for found in rule_problems(schema)
        if found.place is not None and not found.too_dear
    ]


@pytest.mark.parametrize(
    "rule",
    [
        "self.text.startsWith('a') && self.count + 1 > 2 && self.ratio < 1.5 && self.on",
        "self.raw == b'x' && self.since < timestamp('2030-01-01T00:00:00Z')",
        "self.__for__ > duration('1h') && self.my__dash__key == ''",
        "self.my__dash__labels['a'] == 'b' && 'c' in self.my__dash__labels",
        "self.port == 80 || self.port == 'http'",
        "self.labels.all(k, self.labels[k] != '') && self.grid[0][0] == 1",
        "self.nested['a']['b'] == 'c' && self.lists['a'][0] == 'b' && self.maps[0].a == 'b'",
        "self.items.exists_one(x, x.name == 'a') && self.items.map(x, x.name) == ['a']",
        "self.template.metadata.name == 'x' && self.template.kind == 'X'",
        "self.labels.all(k, v, k != v) && self.items.exists(i, x, i == 0 && x.name != '')",
        "oldSelf.count <= self.count",
        "!has(self.text) || self.text == ''",
    ],
)
def test_good_rules(rule: str) -> None:
    """Members have the types that the schema gives them."""
    assert problems({"rule": rule}) == []


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("self.zz == 1", "ERROR: <input>:1:5: undefined field 'zz'"),
        ("self.count == 'a'", "ERROR: <input>:1:12: found no matching overload for '_==_'"),
        ("self.my-key == ''", "ERROR: <input>:1:5: undefined field 'my'"),
        ("self.items.all(self, self.zz == 1)", "ERROR: <input>:1:26: undefined field 'zz'"),
        ("object.text == ''", "ERROR: <input>:1:1: undeclared reference to 'object'"),
        ("self.text == 'self.text' +", "ERROR: <input>:1:27: Syntax error: mismatched input"),
    ],
)  # fmt: skip
def test_bad_rules(rule: str, line: str) -> None:
    """They are told as they were written."""
    [(path, index, member, text)] = problems({"rule": "true"}, {"rule": rule})
    assert (path, index, member) == (".properties[spec]", 1, "rule")
    assert text.startswith(f"compilation failed: {line}")
    assert f"\n | {rule}\n" in text


def test_results() -> None:
    """Rules are true or false, messages are texts."""
    rule = {"rule": "self.text"}
    message = {"rule": "true", "messageExpression": "1"}
    broken = {"rule": "true", "messageExpression": "1 +"}
    fine = {"rule": "true", "messageExpression": "'no ' + self.text"}
    first, second, third = problems(rule, message, broken, fine)
    assert first[1:] == (0, "rule", "cel expression must evaluate to a bool")
    assert second[1:] == (1, "messageExpression", "messageExpression must evaluate to a string")
    assert third[3].startswith("messageExpression compilation failed: ERROR: <input>:1:4: ")


def test_what_was_may_be_optional() -> None:
    """With ``optionalOldSelf`` the old value is an optional, without it is not."""
    source = "!oldSelf.hasValue() || oldSelf.value().count == self.count"
    assert problems({"rule": source, "optionalOldSelf": True}) == []
    assert len(problems({"rule": source})) == 1


def test_the_root_has_names() -> None:
    """Kind, version and name are there without being declared; labels are not."""
    good = {"rule": "self.metadata.name != self.kind + self.apiVersion"}
    assert problems(good, at="root") == []
    [found] = problems({"rule": "self.metadata.labels == {}"}, at="root")
    assert "undefined field 'labels'" in found[3]


def test_items_that_cannot_be_told_apart() -> None:
    """What was is unknown below a list without keys."""
    item = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 9}},
        "x-kubernetes-validations": [{"rule": "self.name == oldSelf.name"}],
    }
    loose: dict[str, Any] = {"type": "array", "items": item, "maxItems": 3}
    keyed = {**loose, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    schema = {"type": "object", "properties": {"loose": loose, "keyed": keyed}}
    [found] = rule_problems(schema)
    text = "oldSelf cannot be used on the uncorrelatable portion of the schema within "
    assert (found.text, found.below) == (text, ".properties[loose]")


def test_members_of_atomic_objects_can_be_told_apart() -> None:
    """They have names, whoever owns them; so do those of atomic items of lists with keys."""
    text = {
        "type": "string",
        "maxLength": 9,
        "x-kubernetes-validations": [{"rule": "self == oldSelf"}],
    }
    atomic = {"type": "object", "properties": {"a": text}, "x-kubernetes-map-type": "atomic"}
    keyed = {
        "type": "array",
        "items": atomic,
        "maxItems": 3,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a"],
    }
    schema = {"type": "object", "properties": {"one": atomic, "many": keyed}}
    assert list(rule_problems(schema)) == []


def test_places_have_their_own_self() -> None:
    """Rules of several places are checked against the types there."""
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "x-kubernetes-validations": [{"rule": "self.size() > 1"}]},
            "b": {"type": "integer", "x-kubernetes-validations": [{"rule": "self.size() > 1"}]},
        },
    }
    [found] = rule_problems(schema)
    assert found.place is not None
    assert found.place.path == ".properties[b]"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("plain", "plain"),
        ("namespace", "__namespace__"),
        ("a.b-c/d", "a__dot__b__dash__c__slash__d"),
        ("a__b", "a__underscores__b"),
        ("1a", ""),
        ("a b", ""),
    ],
)
def test_escaped_names(name: str, wanted: str) -> None:
    """Names that are no identifiers have another in expressions, or none."""
    assert escaped(name) == wanted


def test_members_with_one_json_name() -> None:
    """Types do not depend on the names that protobuf gives members in JSON."""
    words = {"type": "object", "additionalProperties": TEXT}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"nestBox": TEXT, "nest_box": {"type": "integer"}, "aB": words, "a_b": words},
        "x-kubernetes-validations": [
            {"rule": "self.nestBox == 'x' && self.nest_box > 1"},
            {"rule": "self.aB['x'] == self.a_b['x']"},
            {"rule": "self.nest_box == 'x'"},
        ],
    }
    [found] = [one for one in rule_problems(schema) if not one.too_dear]
    assert found.index == 2
