"""Large texts are read as one call would read them, a piece at a time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from examples import shortened
from hypothesis import example, given
from hypothesis import strategies as st

from kubetrio.wire import gojson, jsonpieces
from kubetrio.wire.goscan import Float, GoJsonError, Scanner

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.sampled_from('ab",:[]{}\\é\n '), max_size=12)
)
keys = st.text(st.sampled_from('ab",:[]{}\\é'), max_size=3)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(keys, inner, max_size=8),
    max_leaves=40,
)
containers = st.lists(values, max_size=8) | st.dictionaries(keys, values, max_size=8)
sizes = st.integers(1, 40)


def typed(value: Any) -> Any:
    """A value with the types of its parts and the order of its keys."""
    if isinstance(value, dict):
        return [(key, typed(item)) for key, item in value.items()]
    if isinstance(value, list):
        return (list, [typed(item) for item in value])
    return (type(value), value.text if isinstance(value, Float) else value)


def in_pieces(text: bytes, size: int) -> Any:
    return jsonpieces.read(text, gojson.load_piece, size)


@shortened(100)
@given(containers, sizes, st.booleans(), st.booleans())
def test_a_text_says_the_same_in_pieces(
    value: Any, size: int, ascii_only: bool, spaced: bool
) -> None:
    """Values, types, numbers as they were written, order of keys."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=1 if spaced else None).encode()
    whole = gojson.parse(text).value
    assert typed(in_pieces(text, size)) == typed(whole)


@shortened(200)
@given(
    containers,
    sizes,
    st.lists(st.tuples(st.integers(0, 200), st.sampled_from(list('[]{},:"\\1 ax'))), max_size=4),
)
@example([1], 1, [(2, ",")])
@example([], 1, [(1, ",")])
@example([[]], 1, [(3, ",")])
@example({}, 1, [(1, ",")])
def test_what_is_not_json_is_not_read_in_pieces(
    value: Any, size: int, changes: list[tuple[int, str]]
) -> None:
    """Whatever is damaged: either all pieces are refused, or the text is JSON and says that."""
    text = json.dumps(value, separators=(",", ":"))
    for at, char in changes:
        text = text[:at] + char + text[at:]
    try:
        found = in_pieces(text.encode(), size)
    except ValueError:
        return
    scanner = Scanner(text.encode())
    assert typed(found) == typed(scanner.scan())
    assert not scanner.duplicates


@pytest.mark.parametrize("size", [1, 4, 8, 16, 64])
@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"b":2,"a":3}',
        b'{"a":{"b":1,"c":2,"b":3}}',
        b'{"a":[1,2,3,4,5,6],"b":1,"a":[7]}',
        b'[{"a":[1,2,3,4,5,6],"\\u0061":[7]}]',
        b"[1,2][3,4]",
        b"[1,2],[3,4]",
        b"[1,2,]",
        b"[,1]",
        b"[1,,2]",
        b'{"a":1,}',
        b'{,"a":1}',
        b"[1,2}",
        b"[1,[2,3]",
        b'["a,b]',
        b"1,2",
        b'"a,b,c,d,e"',
        b"",
    ],
)
def test_what_one_call_does_not_vouch_for_is_refused(text: bytes, size: int) -> None:
    """Repeated keys, also of a container that is open at a cut, and texts that are no container."""
    with pytest.raises(ValueError, match=r"."):
        in_pieces(text, size)


DENSE = {
    "numbers": b'{"x":[%b]}' % b",".join([b"1"] * 150_000),
    "fractions": b'{"x":[%b]}' % b",".join([b"1.5"] * 80_000),
    "lists": b'{"x":[%b]}' % b",".join([b"[[],[1]]"] * 35_000),
    "keys": b'{"data":{%b}}' % b",".join(b'"%d":""' % number for number in range(35_000)),
    "deep": b'{"x":[%b]}' % b",".join([b"[" * 200 + b"]" * 200] * 900),
    "strings": b'{"x":["%b"]}' % b'","'.join([b"a,[\\\\\\\"" * 20] * 4_000),
}  # fmt: skip


@pytest.mark.parametrize("shape", DENSE)
def test_no_call_is_given_more_than_a_piece(shape: str) -> None:
    """However small the values are, orjson has 64 KiB at a time, and the brackets around it."""
    sizes = []

    def load(text: bytes) -> Any:
        sizes.append(len(text))
        return gojson.load_piece(text)

    text = DENSE[shape]
    assert jsonpieces.read(text, load) == json.loads(text)
    assert max(sizes) <= jsonpieces.PIECE_BYTES + 1024
    assert len(sizes) >= 4


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(one, marks=pytest.mark.slow) if one in ("deep", "lists") else one
        for one in DENSE
    ],
)
def test_large_texts_are_read_in_pieces(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By all who read bodies and what is stored: nobody calls orjson with all of it."""
    text = DENSE[shape]
    whole = typed(Scanner(text).scan())
    loads, sizes = gojson.orjson.loads, []

    def noted(piece: bytes) -> Any:
        sizes.append(len(piece))
        return loads(piece)

    monkeypatch.setattr(gojson.orjson, "loads", noted)
    assert typed(gojson.parse(text).value) == whole
    assert typed(gojson.parse_printed(text)) == whole
    assert gojson.parse_stored(text) == json.loads(text)
    plain = gojson.parse_plain(text)
    assert plain is None if shape == "fractions" else typed(plain) == whole
    assert max(sizes) <= jsonpieces.PIECE_BYTES + 1024


def test_a_long_string_is_one_piece() -> None:
    """It is not cut, and nothing behind it is lost."""
    text = b'{"a":"%b","b":[1,2]}' % (b"x," * 300_000)
    assert gojson.parse(text).value == {"a": "x," * 300_000, "b": [1, 2]}


@shortened(100)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["x", ",", '"', "\\", '\\"', "\\\\", "é", "]", "}"]),
            st.integers(1, 120),
        ),
        max_size=12,
    ),
    st.integers(1, 40),
    st.integers(0, 3),
)
def test_long_strings_of_any_text_are_read(
    parts: list[tuple[str, int]], size: int, before: int
) -> None:
    """Of quotes and backslashes in particular."""
    text = "".join(part * count for part, count in parts)
    value = {"first": [1] * before, "long": text, "list": [text, 1, text], "k" + text[:99]: [2]}
    for encoded in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=2)):
        assert in_pieces(encoded.encode(), size) == value


def test_a_large_text_that_is_wrong_is_refused_in_the_words_of_go() -> None:
    """The exact reader says what is wrong and where, as for small ones."""
    text = b'{"x":[%b,]}' % b",".join([b"1"] * 100_000)
    with pytest.raises(GoJsonError) as caught:
        gojson.parse(text)
    assert str(caught.value) == "invalid character ']' looking for beginning of value"


def test_repeated_keys_of_a_large_text_are_told() -> None:
    """Although they are in different pieces."""
    members = b",".join(b'"%d":""' % number for number in range(30_000))
    parsed = gojson.parse(b'{"data":{%b,"7":"x"}}' % members)
    assert parsed.duplicates == ["data.7"]
    assert parsed.value["data"]["7"] == "x"


def test_long_keys_around_a_piece_are_not_said_each_time() -> None:
    """They would make a piece as large as the text; the exact reader takes over."""
    text = b'{"%b":[%b]}' % (b"k" * 100_000, b",".join([b"1"] * 100_000))
    with pytest.raises(jsonpieces.CannotCut):
        in_pieces(text, jsonpieces.PIECE_BYTES)
    assert len(gojson.parse(text).value["k" * 100_000]) == 100_000
