"""The fast reader is the exact reader, only faster."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.wire.gojson import Float, GoJsonError, Parsed, float_text, parse, type_word
from kubetrio.wire.goscan import Scanner


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":2}',
        b'{"a" : 1 , "a" : 2}',
        b'{"a":"x:","a":"y"}',
        b'{"a":"\\u003a","a":":"}',
        b'{"a":"\\u003A","a":":"}',
        b'{"\\u0061":1,"a":2}',
        b'[{"k":":::"},{"b":[{"a":1,"a":1}]}]',
    ],
)
def test_no_repeated_key_is_missed(body: bytes) -> None:
    """Colons in strings, escapes and white space hide nothing."""
    assert parse(body).duplicates


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"a":1.10}', "1.10"),
        (b'{"a":1e3}', "1e3"),
        (b'{"a":1E400}', "1E400"),
        (b'{"a":-0.0}', "-0.0"),
    ],
)
def test_fractions_are_never_plain_floats(body: bytes, text: str) -> None:
    """Every number with a point or an exponent keeps its text."""
    number = parse(body).value["a"]
    assert type(number) is Float
    assert number.text == text
    assert type(parse(text.encode()).value) is Float


def test_integers_are_exact_at_any_size() -> None:
    """Integers beyond 64 bits are not rounded, and absurd ones do not fail."""
    number = 2**70 + 1
    assert parse(b'{"a":[%d]}' % number).value == {"a": [number]}
    assert parse(b"1" * 5000).value == float("inf")


def test_text_that_looks_like_a_fraction_is_left_alone() -> None:
    """Candidates inside strings are settled by a look at the values."""
    body = b'{"a":"v1.2,","b":"e5}","c":1}'
    assert parse(body).value == {"a": "v1.2,", "b": "e5}", "c": 1}


@pytest.mark.parametrize("body", [b"NaN", b"[Infinity]", b"{} {}", b"\xef\xbb\xbf{}", b""])
def test_what_json_does_not_have_is_refused(body: bytes) -> None:
    """NaN, infinities, trailing data, a byte order mark and nothing are errors."""
    with pytest.raises(GoJsonError):
        parse(body)


def test_what_orjson_does_not_take_is_read() -> None:
    """Depth beyond orjson's limits and invalid UTF-8 fall to the exact reader."""
    deep = parse(b"[" * 5000 + b"]" * 5000).value
    assert type(deep) is list
    assert parse(b'{"a":"\xff\xfe"}').value == {"a": "\ufffd\ufffd"}


texts = st.text(alphabet=':"\\.,]}e15a \u00e9', max_size=6)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=150, deadline=None)
@given(documents, st.booleans())
def test_both_readers_agree(value: object, ascii_only: bool) -> None:
    """The answer of the fast half is that of the exact half, types included."""
    try:
        body = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False).encode()
    except ValueError:
        return
    assert repr(parse(body).value) == repr(Scanner(body).scan())


pairs = st.lists(st.tuples(st.sampled_from(["a", "b", "c:"]), texts), max_size=4)


@settings(max_examples=100, deadline=None)
@given(pairs)
def test_duplicates_are_found_exactly(members: list[tuple[str, str]]) -> None:
    """A key that comes twice is reported once, one that comes once is not."""
    text = ",".join(f"{json.dumps(key)}:{json.dumps(value)}" for key, value in members)
    keys = [key for key, _ in members]
    expected = {key for key in keys if keys.count(key) > 1}
    parsed = parse(f"{{{text}}}".encode())
    assert set(parsed.duplicates) == expected
    assert parsed.value == dict(members)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (1.5, "1.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (-1.25e-10, "-1.25e-10"),
    ],
)
def test_floats_print_as_in_go(number: float, text: str) -> None:
    """Exponents only below 1e-6 and from 1e21 on."""
    assert float_text(number) == text


def test_infinities_need_their_text() -> None:
    """A number out of range prints as it came, a computed infinity not at all."""
    assert float_text(Float("1e999")) == "1e999"
    with pytest.raises(ValueError, match="unsupported value"):
        float_text(float("inf"))


@settings(max_examples=100, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_printed_floats_read_back(number: float) -> None:
    """Printing loses nothing."""
    assert float(float_text(number)) == number


def test_words_for_types() -> None:
    """Messages name JSON types."""
    values: list[object] = [None, True, 1, Float("1.5"), "x", [], {}]
    words = ["null", "bool", "number", "number", "string", "array", "object"]
    assert [type_word(value) for value in values] == words


def test_a_value_is_let_go_of_container_by_container(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never two in one step of the interpreter, however they are nested."""
    events: list[str] = []
    count = sys.getrefcount

    class Probe:
        def __del__(self) -> None:
            events.append("free")

    def noted(value: object) -> int:
        events.append("step")
        return count(value) - 1

    parsed = Parsed([[Probe()], {"a": [Probe(), {"b": Probe()}]}, [[[Probe()]]]])
    monkeypatch.setattr(sys, "getrefcount", noted)
    parsed.let_go()
    assert parsed.value is None
    assert events.count("free") == 4
    assert "free free" not in " ".join(events)


def test_what_others_hold_is_not_touched() -> None:
    """Parts of a value may have become parts of an object."""
    parsed = parse(b'{"a":{"b":[1,{"c":2}]},"d":[3]}')
    kept = parsed.value["a"]["b"]
    parsed.let_go()
    assert kept == [1, {"c": 2}]
