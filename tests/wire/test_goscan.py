"""The exact reader: Go's wording, Go's repairs, repeated keys."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.testing.effort import calls
from kubetrio.wire.goscan import Float, GoJsonError, Scanner, quote_byte

END = "unexpected end of JSON input"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", END),
        (b"{", END),
        (b'{"kind":', END),
        (b'"a', END),
        (b"[]x", "invalid character 'x' after top-level value"),
        (b"01", "invalid character '1' after top-level value"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"{a", "invalid character 'a' looking for beginning of object key string"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\\u12g"', r"invalid character 'g' in \u hexadecimal character escape"),
        (b'"a\n"', r"invalid character '\n' in string literal"),
        (b"-x", "invalid character 'x' in numeric literal"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1e+x", "invalid character 'x' in exponent of numeric literal"),
        (b"nulx", "invalid character 'x' in literal null (expecting 'l')"),
        (b"\xff", "invalid character 'ÿ' looking for beginning of value"),
        ("é".encode(), "invalid character 'Ã' looking for beginning of value"),
    ],
)
def test_messages_are_those_of_go(body: bytes, message: str) -> None:
    """Malformed text is refused in the words of encoding/json."""
    with pytest.raises(GoJsonError) as caught:
        Scanner(body).scan()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("body", "context"),
    [
        (b'{"a":tru', "in literal true (expecting 'e')"),
        (b"-", "in numeric literal"),
        (b"1.", "after decimal point in numeric literal"),
        (b'"\\', "in string escape code"),
    ],
)
def test_the_end_of_a_token_is_a_space(body: bytes, context: str) -> None:
    """At the end of input Go's scanner sees one space and complains about it."""
    with pytest.raises(GoJsonError, match="invalid character ' ' ") as caught:
        Scanner(body).scan()
    assert str(caught.value).endswith(context)


@pytest.mark.parametrize(
    ("byte", "text"),
    [(0x27, r"'\''"), (0x22, "'\"'"), (0x5C, r"'\\'"), (1, r"'\x01'"), (0x85, r"'\u0085'")],
)
def test_bytes_are_quoted_as_go_does(byte: int, text: str) -> None:
    """Quotes, control characters and Latin-1 have their own forms."""
    assert quote_byte(byte) == text


def test_depth_is_bounded_without_recursion() -> None:
    """Ten thousand levels are read, one more is refused."""
    value = Scanner(b"[" * 10_000 + b"]" * 10_000).scan()
    assert type(value) is list
    with pytest.raises(GoJsonError, match=r"^invalid character '\[' exceeded max depth$"):
        Scanner(b"[" * 10_001 + b"]" * 10_001).scan()


def test_each_undecodable_byte_is_one_replacement() -> None:
    """A truncated sequence of two bytes becomes two U+FFFD, and so does an encoded surrogate."""
    assert Scanner(b'"\xe2\x82"').scan() == "\ufffd" * 2
    assert Scanner(b'"\xed\xa0\x80"').scan() == "\ufffd" * 3


def test_lone_surrogate_escapes_are_replaced() -> None:
    """Pairs are joined, halves become U+FFFD."""
    assert Scanner(rb'"\ud83d\ude80 \ud83d \ude80 \ud83dx\ud83d\u0041"').scan() == (
        "\U0001f680 \ufffd \ufffd \ufffdx\ufffdA"
    )


def test_repeated_keys_keep_their_members() -> None:
    """The last value counts; paths and all members are told."""
    scanner = Scanner(b'{"d":{"a":[{"x":1,"x":2,"x":3}],"a":4},"e":5}')
    value = scanner.scan()
    assert value == {"d": {"a": 4}, "e": 5}
    assert scanner.duplicates == ["d.a[0].x", "d.a"]
    assert scanner.repeated[id(value["d"])] == [("a", [{"x": 3}]), ("a", 4)]


def test_fractions_keep_their_text() -> None:
    """A Float is a float, survives copying, and knows how it was written."""
    (number,) = Scanner(b"[1.50]").scan()
    assert number == 1.5
    for twin in (copy.deepcopy(number), pickle.loads(pickle.dumps(number))):
        assert type(twin) is Float
        assert twin.text == "1.50"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None)
@given(json_values, st.sampled_from([None, 1]))
def test_valid_json_reads_as_in_the_standard_library(value: object, indent: int | None) -> None:
    """For text without surrogates both readers agree."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=True)
    if "Infinity" not in text:
        assert Scanner(text.encode("utf-8", "replace")).scan() == json.loads(
            text.encode("utf-8", "replace")
        )


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=30) | st.text('{}[]":,\\untrfales01.-e ', max_size=30).map(str.encode))
def test_any_bytes_are_a_value_or_a_refusal(body: bytes) -> None:
    """Nothing else than GoJsonError escapes."""
    message = "none"
    try:
        Scanner(body).scan()
    except GoJsonError as error:
        message = str(error)
    assert message


def test_keys_repeated_far_down() -> None:
    """A key that repeats a thousand times, a thousand levels down, is not spelled each time."""
    body = b'{"a":' * 1000 + b"{" + b'"b":1,' * 1000 + b'"b":1}' + b"}" * 1000
    scanner = Scanner(body)
    assert sum(calls(scanner.scan).values()) < 20 * len(body)
    assert scanner.duplicates == [".".join(["a"] * 1000 + ["b"])]


def test_objects_with_repeated_keys_far_down() -> None:
    """Nor is one whose parent repeats."""
    pieces = ",".join(['"c":{"b":1,"b":2}'] * 1000)
    body = b'{"a":' * 1000 + f"{{{pieces}}}".encode() + b"}" * 1000
    scanner = Scanner(body)
    assert sum(calls(scanner.scan).values()) < 20 * len(body)
    prefix = ".".join(["a"] * 1000)
    assert scanner.duplicates == [f"{prefix}.c.b", f"{prefix}.c"]


@given(st.binary(max_size=6), st.integers(0, 6))
@settings(max_examples=50)
def test_bytes_that_are_not_text_are_repaired_across_pieces(bad: bytes, before: int) -> None:
    """A body is made text piece by piece; where one ends shows nowhere."""
    bad = bad.translate(None, bytes(range(0x20)) + b'"\\')
    fill = b"a" * (256 * 1024 - before - 1)
    repaired = bad.decode("utf-8", "surrogateescape")
    expected = "".join("\ufffd" if 0xD800 <= ord(char) < 0xE000 else char for char in repaired)
    assert Scanner(b'"%b%b"' % (fill, bad)).scan() == fill.decode() + expected


@pytest.mark.parametrize("length", [65535, 65536, 65537, 131072])
def test_long_strings_are_whole(length: int) -> None:
    """They are read in pieces, up to their end and no further."""
    assert Scanner(b'["%b","b"]' % (b"x" * length)).scan() == ["x" * length, "b"]
    with pytest.raises(GoJsonError, match=END):
        Scanner(b'"%b' % (b"x" * length)).scan()
