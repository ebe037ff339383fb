"""Rules of custom resources about moments, spans of time and bytes, wherever these are."""

from __future__ import annotations

from base64 import b64encode
from datetime import date, time
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.cel.engine import available
from kubetrio.config import Config, Serving
from kubetrio.machinery.status import ApiError, Cause
from kubetrio.server import open_server
from kubetrio.structural.celrules import check_rules, compiled
from kubetrio.structural.valueformats import span
from kubetrio.structural.values import Checker
from kubetrio.wire.gojson import Float

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra cel")

Object = dict[str, Any]
GROUP = "timed.example.com"
KEY = (GROUP, "v1", "timeds")


def text(format_: str, **more: Any) -> Object:
    """A text of a format."""
    return {"type": "string", "format": format_, **more}


AT, DAY, SPAN, RAW = (text(one) for one in ("date-time", "date", "duration", "byte"))
SPEC: Object = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "at": AT,
        "until": text("date-time", nullable=True),
        "day": DAY,
        "d": SPAN,
        "b": RAW,
        "plain": {"type": "string"},
        "port": {"x-kubernetes-int-or-string": True},
        "my-day": DAY,
        "inner": {"type": "object", "properties": {"at": AT, "d": SPAN, "b": RAW}},
        "items": {"type": "array", "items": {"type": "object", "properties": {"at": AT}}},
        "times": {"type": "array", "items": AT},
        "grid": {"type": "array", "items": {"type": "array", "items": SPAN}},
        "files": {"type": "object", "additionalProperties": RAW},
        "spans": {"type": "object", "additionalProperties": SPAN},
        "open": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"at": AT},
        },
    },
}
VALUE: Object = {
    "n": 3,
    "at": "2024-02-29T12:30:15Z",
    "until": "2024-03-01T01:00:00+02:00",
    "day": "2024-02-29",
    "d": "1h30m",
    "b": "YWJj",
    "plain": "abc",
    "port": 80,
    "my-day": "2020-01-01",
    "inner": {"at": "2020-01-01T00:00:00.123456789Z", "d": "2 days", "b": "YQBi/w=="},
    "items": [{"at": "2020-01-01T00:00:00Z"}, {"at": "2021-01-01T00:00:00Z"}, {}],
    "times": ["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"],
    "grid": [["1s", "2s"], ["1m"]],
    "files": {"a": "YWJj", "b": "AAEC"},
    "spans": {"short": "1s", "long": "2w"},
    "open": {"at": "2020-01-01T00:00:00Z", "more": {"x": 1}},
}


def ruled(rule: str, value: Any = VALUE, old: Any = None, **more: Any) -> list[str]:
    """What a rule of an object says of it."""
    return about({**SPEC, "x-kubernetes-validations": [{"rule": rule, **more}]}, value, old)


def about(schema: Object, value: Any, old: Any = None) -> list[str]:
    """What the rules of a part of an object say."""
    root = {"type": "object", "properties": {"spec": schema}}
    place = compiled(root)
    assert place is not None
    assert place.properties["spec"].rules
    out: list[Cause] = []
    before = None if old is None else {"spec": old}
    check_rules(place, {"spec": value}, before, Checker(root), out)
    return [str(one) for one in out]


@pytest.mark.parametrize(
    "rule",
    [
        # neighbours of such values
        "self.n > 0 && self.plain == 'abc' && self.port == 80 && type(self.n) == int",
        # properties
        "self.at < self.until && self.until > self.at && self.at != self.until",
        "self.at == timestamp('2024-02-29T12:30:15Z') && self.until >= self.at",
        "self.at.getFullYear() == 2024 && self.at.getMonth() == 1 && self.at.getHours() == 12",
        "self.until == timestamp('2024-02-29T23:00:00Z')",
        "type(self.at) == google.protobuf.Timestamp && has(self.at)",
        "string(self.at) == '2024-02-29T12:30:15Z' && int(self.at) == 1709209815",
        "self.day == timestamp('2024-02-29T00:00:00Z') && self.day < self.at",
        "self.day.getDate() == 29 && self.day.getDayOfWeek() == 4 && self.my__dash__day < self.day",
        "self.d > duration('1h') && self.d == duration('90m') && self.d.getMinutes() == 90",
        "type(self.d) == google.protobuf.Duration && string(self.d) == '5400s'",
        "self.b == b'abc' && size(self.b) == 3 && string(self.b) == self.plain",
        "type(self.b) == bytes && self.b + b'd' > self.b",
        # arithmetic
        "self.at + self.d == timestamp('2024-02-29T14:00:15Z')",
        "self.until - self.at == duration('10h29m45s') && self.d + self.d == duration('3h')",
        # nested, to the last nanosecond and NUL
        "string(self.inner.at) == '2020-01-01T00:00:00.123456789Z'",
        "self.inner.d == duration('48h') && self.inner.at.getMilliseconds() == 123",
        "size(self.inner.b) == 4 && self.inner.b == b'a\\x00b\\xff'",
        # lists
        "self.items.all(i, !has(i.at) || i.at < timestamp('2022-01-01T00:00:00Z'))",
        "self.items.exists(i, has(i.at) && i.at.getFullYear() == 2021)",
        "timestamp('2021-01-01T00:00:00Z') in self.times && self.times[0] < self.times[1]",
        "self.times.isSorted() && self.times.max() == self.times[1] && self.times.min() < self.at",
        "self.times.indexOf(self.times[1]) == 1 && sets.contains(self.times, [self.times[1]])",
        "self.grid.all(row, row.all(d, d <= duration('1m'))) && self.grid[0][1] > self.grid[0][0]",
        "self.grid[0].sum() == duration('3s')",
        # maps
        "self.files.all(name, size(self.files[name]) == 3)",
        "self.files['b'] == b'\\x00\\x01\\x02' && self.files.b < self.files.a",
        "self.spans['short'] < self.spans['long'] && self.spans.long == duration('336h')",
        "self.files.exists(name, self.files[name] == self.b)",
        # what keeps members that are not declared
        "self.open.at == self.times[0]",
        "'%s %s'.format([self.at, self.d]) == '2024-02-29T12:30:15Z 5400s'",
    ],
)
def test_rules_that_hold(rule: str) -> None:
    """Values have the types that the schema declares."""
    assert ruled(rule) == []


@pytest.mark.parametrize(
    ("schema", "value", "rule"),
    [
        (AT, "2020-01-02T00:00:00Z", "self > timestamp('2020-01-01T00:00:00Z')"),
        (AT, "2020-01-02T00:00:00Z", "self.getDayOfMonth() == 1"),
        (DAY, "2020-01-02", "self == timestamp('2020-01-02T00:00:00Z')"),
        (SPAN, "3 weeks", "self == duration('504h') && self.getHours() == 504"),
        (SPAN, "-1.5s", "self < duration('0s') && self.getMilliseconds() == -500"),
        (RAW, "YWJj", "self == b'abc' && size(self) == 3"),
        (RAW, "AAA+/w==", "size(self) == 4"),
        ({"type": "array", "items": AT}, ["2020-01-02T00:00:00Z"], "self[0].getFullYear() == 2020"),
        ({"type": "object", "additionalProperties": RAW}, {"a": "AA=="}, "size(self['a']) == 1"),
    ],
)
def test_rules_of_the_value_itself(schema: Object, value: Any, rule: str) -> None:
    """Where the rule is that of the text, or of a list or map of texts."""
    ruled_schema = {**schema, "x-kubernetes-validations": [{"rule": rule, "message": "no"}]}
    assert about(ruled_schema, value) == []
    ruled_schema["x-kubernetes-validations"] = [{"rule": f"!({rule})", "message": "no"}]
    assert len(about(ruled_schema, value)) == 1


@given(
    st.dates(date(1, 1, 3), date(9999, 12, 29)),
    st.times(),
    st.none() | st.integers(0, 999_999_999),
    st.sampled_from(["Z", "+00:00", "-00:30", "+05:45", "-11:00", "+14:00"]),
)
def test_any_moment(day: date, when: time, nanoseconds: int | None, zone: str) -> None:
    """As the function that makes one of a text reads it."""
    fraction = "" if nanoseconds is None else f".{nanoseconds:09}"
    written = f"{day}T{when:%H:%M:%S}{fraction}{zone}"
    schema = {**AT, "x-kubernetes-validations": [{"rule": f"self == timestamp('{written}')"}]}
    assert about(schema, written) == []


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_any_span(nanoseconds: int) -> None:
    """To the nanosecond."""
    rule = f"self == duration('{nanoseconds}ns')"
    assert about({**SPAN, "x-kubernetes-validations": [{"rule": rule}]}, f"{nanoseconds}ns") == []


@given(st.binary(max_size=20))
def test_any_bytes(value: bytes) -> None:
    """With NULs, and what is no text."""
    literal = "".join(f"\\x{byte:02x}" for byte in value)
    schema = {"type": "object", "properties": {"b": RAW}}
    rule = f"self.b == b'{literal}' && size(self.b) == {len(value)}"
    schema = {**schema, "x-kubernetes-validations": [{"rule": rule}]}
    assert about(schema, {"b": b64encode(value).decode()}) == []


def test_members_that_are_null_are_not_there() -> None:
    """To rules, a null in an object with members is nothing; in a list or map it is a null."""
    value = {"until": None, "n": 1}
    assert ruled("!has(self.until) && !has(self.at) && self.n == 1", value) == []
    assert ruled("self.?until == optional.none()", value) == []
    [told] = ruled("self.until == null", value)
    assert "no such key: until" in told
    within: Object = {
        "type": "object",
        "properties": {
            "m": {"type": "object", "additionalProperties": {"type": "integer", "nullable": True}},
            "n": {"type": "integer", "nullable": True},
        },
        "x-kubernetes-validations": [{"rule": "has(self.m.a) && !has(self.n)"}],
    }
    assert about(within, {"m": {"a": None}, "n": None}) == []


@pytest.mark.parametrize(
    ("rule", "fails"),
    [
        ("self.n > 0", True),
        ("self.n == 1", True),
        ("self.n != 1", True),
        ("has(self.n)", True),
        ("self.n in [1]", True),
        ("self.l.all(x, x > 0)", True),
        ("self.m == 2 || self.n > 3", True),
        ("self.m == 1 || self.n > 3", False),
        ("self.m == 1 && self.l.size() == 2", False),
    ],
)
def test_fractions_in_place_of_whole_numbers(rule: str, *, fails: bool) -> None:
    """They are whole to the schema and none to rules; an expression that looks at one fails."""
    whole = {"type": "integer"}
    schema = {
        "type": "object",
        "properties": {"n": whole, "m": whole, "l": {"type": "array", "items": whole}},
        "x-kubernetes-validations": [{"rule": rule}],
    }
    found = about(schema, {"n": Float("1.0"), "m": 1, "l": [1, Float("2e0")]})
    told = f"invalid data, expected int, got float64 evaluating rule: {rule}"
    assert [one.endswith(told) for one in found] == [True] * fails
    if fails:
        either = {"type": "object", "properties": {"x": {"x-kubernetes-int-or-string": True}}}
        either["x-kubernetes-validations"] = [{"rule": "self.x == 1"}]
        [told] = about(either, {"x": Float("1.0")})
        assert "expected XIntOrString value to be either a string or integer" in told


@pytest.mark.parametrize("word", ["namespace", "package", "import", "for", "if", "as", "const"])
def test_members_called_like_words_of_the_language(word: str) -> None:
    """They go by their names and by escaped ones, wherever they are; keys of maps by their own."""
    here = {"type": "object", "properties": {word: {"type": "integer"}}}
    listed = {"type": "array", "items": {"type": "array", "items": here}}
    keyed = {"type": "object", "additionalProperties": {"type": "integer"}}
    rules = [
        f"self.{word} == 1 && self.__{word}__ == 1 && has(self.{word}) && has(self.__{word}__)",
        f"self.?{word}.orValue(2) == 1 && self.l.all(x, x.all(y, y.{word} == y.__{word}__))",
        f"self.m.{word} == 3 && !has(self.m.__{word}__)",
    ]
    schema = {
        "type": "object",
        "properties": {word: {"type": "integer"}, "l": listed, "m": keyed},
        "x-kubernetes-validations": [{"rule": rule} for rule in rules],
    }
    assert about(schema, {word: 1, "l": [[{word: 5}]], "m": {word: 3}}) == []


def test_transition_rules() -> None:
    """What was has the same types."""
    later = {**VALUE, "at": "2025-01-01T00:00:00Z", "b": "YWJk"}
    rule = "self.at >= oldSelf.at && self.d == oldSelf.d && self.files == oldSelf.files"
    assert ruled(rule, later, VALUE) == []
    assert ruled(rule, VALUE, later) == [f"spec: Invalid value: failed rule: {rule}"]
    assert ruled(rule, later) == []
    assert ruled("self.b == oldSelf.b", later, VALUE) != []
    assert ruled("self == oldSelf", VALUE, VALUE) == []
    assert ruled("self.at - oldSelf.at > duration('300h')", later, VALUE) == []
    optional = "!oldSelf.hasValue() || oldSelf.value().at < self.at"
    assert ruled(optional, VALUE, optionalOldSelf=True) == []
    assert ruled(optional, later, VALUE, optionalOldSelf=True) == []
    schema = {
        **AT,
        "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "only later"}],
    }
    assert about(schema, VALUE["at"], VALUE["until"])[0].endswith(": only later")


def test_what_did_not_change_is_let_be() -> None:
    """As with values of other types."""
    value = {**VALUE, "open": {"at": VALUE["at"]}}  # of other members no schema can tell
    assert ruled("self.at > self.until", value, value) == []
    assert ruled("self.at > self.until", {**value, "n": 4}, value) != []


def test_messages() -> None:
    """Expressions of messages see the same values."""
    expression = "string(self.at) + ' + ' + string(self.d) + ' ' + string(self.b)"
    found = ruled("self.at > self.until", messageExpression=expression)
    assert found == ["spec: Invalid value: 2024-02-29T12:30:15Z + 5400s abc"]


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("at", "yesterday"),
        ("at", "2020-01-01t00:00:00z"),
        ("at", "2020-01-01T00:00:00+25:00"),
        ("at", "0001-01-01T00:00:00+01:00"),
        ("day", "0000-01-01"),
        ("d", "long"),
        ("b", "a-_="),
    ],
)
def test_what_cannot_be_read(member: str, value: str) -> None:
    """Only a rule that looks at it fails."""
    obj = {**VALUE, member: value}
    assert ruled(f"self.n > 0 && has(self.{member})", obj) == []
    less = {"d": "duration('1s')", "b": "b'a'"}.get(member, "self.until")
    assert "no such overload" in ruled(f"self.{member} < {less}", obj)[0]


def test_bytes_next_to_a_text_with_a_nul() -> None:
    """NULs of texts are replaced, those of bytes are kept."""
    assert (
        ruled("self.plain != 'abc' && size(self.inner.b) == 4", {**VALUE, "plain": "abc\0d"}) == []
    )


def test_texts_with_a_nul_by_themselves() -> None:
    """Rules of a text or of a list see all of it, too."""
    schema = {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'a'"}]}
    assert about(schema, "a\0b") == []
    listed = {"type": "array", "items": {"type": "string"}}
    schema = {**listed, "x-kubernetes-validations": [{"rule": "self.all(x, size(x) == 3)"}]}
    assert about(schema, ["a\0b", "abc"]) == []


def test_loops_have_their_limit() -> None:
    """Evaluations that loop for too long are stopped with such values, too."""
    rule = "self.times.all(a, self.times.all(b, a == b))"
    value = {"times": ["2020-01-01T00:00:00Z"] * 200}
    assert "actual cost limit exceeded" in ruled(rule, value)[0]


@pytest.mark.parametrize(
    ("written", "nanoseconds"),
    [
        ("1h30m", 5400 * 10**9),
        ("-1ns", -1),
        ("106751d", 106751 * 86400 * 10**9),
        ("1 day 2 hours", 26 * 3600 * 10**9),
        ("5 minutes", 300 * 10**9),
        ("10 seconds", 10 * 10**9),
        ("3 Hrs 2 wk", 1209600 * 10**9),
        ("2w 7 parsecs", 1209600 * 10**9),
        ("7 micros", 7000),
        ("9223372036854775807ns", 2**63 - 1),
        ("106752 d", 106752 * 86400 * 10**9 - 2**64),
    ],
)
def test_spans(written: str, nanoseconds: int) -> None:
    """In the forms of Go, and in those of Scala."""
    assert span(written) == nanoseconds


@pytest.mark.parametrize(
    "written", ["", "5 parsecs", "day", "9223372036854775808 d", "9" * 9999 + "d"]
)
def test_what_is_no_span(written: str) -> None:
    """No unit, no number, or one that no integer can be."""
    with pytest.raises(ValueError, match="unable to parse"):
        span(written)


async def test_requests(tmp_path: Path) -> None:
    """Objects are created, updated and refused by such rules."""
    rule = {
        "rule": "self.n > 0 && self.at < self.until && self.items.all(i, i.at <= self.until)",
        "messageExpression": "string(self.until)",
    }
    spec = {**SPEC, "required": ["at", "until"], "x-kubernetes-validations": [rule]}
    spec["properties"] = {
        **spec["properties"],
        "items": {**SPEC["properties"]["items"], "maxItems": 10},
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    config = Config(data_dir=tmp_path / "data", serving=Serving(secure_port=0))
    async with open_server(config) as server:
        client = server.client()
        await client.create(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": f"timeds.{GROUP}"},
                "spec": {
                    "group": GROUP,
                    "scope": "Namespaced",
                    "names": {"plural": "timeds", "kind": "Timed"},
                    "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
                },
            }
        )
        served = trio.Event()
        server.api.storage.registry.subscribe(
            lambda _, now: served.set() if KEY in now.resources else None
        )
        if KEY not in server.api.storage.registry.resources:
            with trio.fail_after(10):
                await served.wait()
        value = {**VALUE, "items": VALUE["items"][:2]}
        made: Object = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Timed",
            "metadata": {"name": "a", "namespace": "default"},
            "spec": value,
        }
        kept = await client.create(made)
        assert kept["spec"] == value
        kept["spec"]["n"] = 4
        assert (await client.update(kept))["spec"]["n"] == 4
        early = {**made, "metadata": {**made["metadata"], "name": "b"}}
        early["spec"] = {**value, "until": "2024-02-28T00:00:00Z"}
        with pytest.raises(ApiError) as refused:
            await client.create(early)
        assert refused.value.code == 422
        assert "2024-02-28T00:00:00Z" in str(refused.value)
