"""YAML bodies."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from examples import shortened
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.testing.effort import calls
from kubetrio.wire import yamlwire
from kubetrio.wire.yamlwire import Document, YamlError

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff\ufffe\uffff")
TEXT = st.text(CHARACTERS, max_size=12) | st.text("aA01 \n\t:-#'\"&*!{}[],.~y", max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda f: not f.is_integer()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=15,
)  # fmt: skip


@shortened(200)
@given(JSON)
def test_round_trip(value: Any) -> None:
    """JSON goes through unharmed."""
    assert yamlwire.decode(yamlwire.encode(value)).value == value


LAYOUTS = (
    {"separators": (",", ":")},
    {"indent": 2},
    {"indent": 0, "ensure_ascii": False},
    {"separators": (" ,\r\n", " :")},
    {"separators": (",", "\n:")},
    {"separators": ("\t,", ":\t")},
)


def outcome(read: Callable[[bytes], Document], body: bytes) -> str:
    """What a body says, or what is wrong with it."""
    try:
        return repr(read(body))
    except YamlError as error:
        return str(error)


@shortened(400)
@given(
    value=st.dictionaries(TEXT, JSON, max_size=4),
    layout=st.sampled_from(LAYOUTS),
    behind=st.text("}\n# ", max_size=3),
)
def test_json_is_read_as_yaml(value: dict[str, Any], layout: dict[str, Any], behind: str) -> None:
    """However it is laid out, the shortcut for JSON changes neither values nor errors."""
    body = (json.dumps(value, **layout) + behind).encode()
    assert outcome(yamlwire.decode, body) == outcome(yamlwire._as_yaml, body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":2}',
        b'{"a":{"b":[{"c":1,"c":2}]}}',
        b'{"a":1.0}',
        b'{"a":1e3,"b":-0,"c":0}',
        b'{"a":18446744073709551616,"b":9223372036854775808,"c":-9223372036854775809}',
        b'{"a":"\\u00e9\\/\\ud83d\\ude00"}',
        b'{"a":"\x7f"}',
        b'{"a":"\xc2\x85"}',
        b'{"<<":{"a":1},"b":2}',
        b'{"%b":1}' % (b"k" * 2000),
        b'{"a"%b:1}' % (b" " * 2000),
        b'{"a"\n:1}',
        b'{"a":"b\nc"}',
        b'{"a":\t1}',
        b'{"a":1}\n---\nb: 2\n',
        b'{"a":1} # said',
        b'{"a":1,}',
        b"{" + b'"a":{' * 198 + b"}" * 199,
        b"{" + b'"a":{' * 199 + b"}" * 200,
        b"{" + b'"a":{' * 200 + b"}" * 201,
    ],
)
def test_what_json_and_yaml_read_differently_is_read_as_yaml(body: bytes) -> None:
    """Duplicates, numbers, characters, keys, comments and depth."""
    assert outcome(yamlwire.decode, body) == outcome(yamlwire._as_yaml, body)


def test_plain_json_takes_the_short_way() -> None:
    """What clients apply is such."""
    assert yamlwire._as_json(b'{"a":[{"b":"c d","e":-5,"f":null,"g":true}]}\n') is not None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"a: [1,\n", "yaml: line 1: did not find expected node content"),
        (b"a:\n\t- b", "yaml: line 2: found character that cannot start any token"),
        (b"\x01", "yaml: control characters are not allowed"),
        (b"a: *q", "yaml: unknown anchor 'q' referenced"),
        (b"a: &a [*a]", "yaml: anchor 'a' value contains itself"),
        (b"a: &a {b: &a 1, c: *a}", "yaml: anchor 'a' value contains itself"),
        (b"? [a]\n: b", "yaml: invalid map key"),
        (b"? ~\n: b", "yaml: invalid map key"),
        (b"<<: 1", "yaml: map merge requires map or sequence of maps as the value"),
        (b"a: .nan", "json: unsupported value: NaN"),
        (b"!!int x", "yaml: cannot decode !!str `x` as a !!int"),
        (b"!!binary x", "yaml: !!binary value contains invalid base64 data"),
        (b"[" * 5000, "yaml: exceeded max depth of 200"),
        (b"? " * 5000, "yaml: invalid map key"),
        (b"- " * 5000, "yaml: exceeded max depth of 200"),
    ],
)
def test_errors(body: bytes, message: str) -> None:
    """Errors have the words of Go's library."""
    with pytest.raises(YamlError) as caught:
        yamlwire.decode(body)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"", None),
        (b"name: y\n", {"name": True}),
        (b"{a: 'b', 1: x, yes: z, 1.5: q}", {"a": "b", "1": "x", "true": "z", "1.5": "q"}),
        (b"a: 1.0\nb: 1e2\nc: 2024-01-01\nd: 'no'\n", {"a": 1, "b": 100, "c": "2024-01-01",
                                                        "d": "no"}),
        (b"a: &x {p: 1}\nb: {<<: *x, q: 2}\nc: *x\n", {"a": {"p": 1}, "b": {"p": 1, "q": 2},
                                                       "c": {"p": 1}}),
        (b"a: &x {p: 1}\nb: &y {p: 2}\nc: {<<: [*x, *y]}", {"a": {"p": 1}, "b": {"p": 2},
                                                            "c": {"p": 1}}),
        (b"? &k a\n: *k\n", {"a": "a"}),
        (b"&k a: 1\n*k : 2\n", {"a": 2}),
        (b"a: !!str 1\nb: !!binary aGk=\nc: !x y\nd: !!float 1\n! 7: 1", {"a": "1", "b": "hi",
                                                                   "c": "y", "d": 1, "7": 1}),
        (b"{a: 1}\n---\n[", {"a": 1}),
        (b'{"j": "s"}', {"j": "s"}),
        ("\ufeffa: é".encode("utf-16"), {"a": "é"}),
    ],
)  # fmt: skip
def test_values(body: bytes, value: Any) -> None:
    """What bodies mean, of the first document only."""
    assert yamlwire.decode(body).value == value


def test_duplicates() -> None:
    """The last of equal keys counts; strict decoding tells the lines."""
    body = b"metadata:\n  name: a\n  name: b\nl:\n- {}\n- x: 1\n  x:\n    y: 2\n"
    found = yamlwire.decode(body)
    assert found.value["metadata"] == {"name": "b"}
    assert found.strict_error == (
        'yaml: unmarshal errors:\n  line 3: key "name" already set in map'
        '\n  line 8: key "x" already set in map'
    )
    assert yamlwire.decode(b"a: 1").strict_error == ""


def test_aliases_are_copies() -> None:
    """Changing one place does not change the other."""
    value = yamlwire.decode(b"a: &x {p: [1]}\nb: *x\n").value
    value["a"]["p"].append(2)
    assert value["b"] == {"p": [1]}


@pytest.mark.parametrize("wrap", [b"[%b]", b"{<<: [%b]}"])
def test_alias_bomb(wrap: bytes) -> None:
    """What aliases stand for is bounded."""
    lines = [b"a: &a {k: [x,x,x,x,x,x,x,x,x]}"]
    for letter in range(98, 106):
        aliases = b",".join([b"*%c" % (letter - 1)] * 10)
        lines.append(b"%c: &%c %b" % (letter, letter, wrap % aliases))
    with pytest.raises(YamlError, match="excessive aliasing"):
        yamlwire.decode(b"\n".join(lines))


def test_alias_depth() -> None:
    """Nesting by aliases counts as nesting."""
    body = b"a0: &a0 [1]\n" + b"".join(
        b"a%d: &a%d %b*a%d%b\n" % (i, i, b"[" * 50, i - 1, b"]" * 50) for i in range(1, 6)
    )
    with pytest.raises(YamlError, match="max depth"):
        yamlwire.decode(body)


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=40) | st.text("ab:-?[]{}&*!|>'\"#%@ \n\t0<~", max_size=30).map(str.encode)
)
def test_any_bytes(data: bytes) -> None:
    """Any bytes are read or refused with a ValueError."""
    try:
        yamlwire.decode(data)
    except YamlError:
        pass


PRINTED = """\
.: {}
a-b: 3
a9: 2
a10: 1
b60: "1:30"
col: 'a: b'
emoji: "\\U0001F680é"
f: 1.5
f:data:
  k:{"port":80}: {}
items: []
list:
- a: 1
  b:
  - 1
  - 2
- - x
long: word word word word word word word word word word word word word word word word
  word word end
m: |
  line1
  line2
metadata: {}
"n": null
num: "10"
s: ""
sp: ' x'
t: "2024-01-01T00:00:00Z"
tr: "x\\n y \\nz  "
"y": "yes"
"""


def test_printed() -> None:
    """The layout is that of kube-apiserver: order, indentation, quotes and width."""
    value = {
        "m": "line1\nline2\n", "metadata": {}, "items": [], "list": [{"a": 1, "b": [1, 2]}, ["x"]],
        "s": "", "y": "yes", "n": None, "t": "2024-01-01T00:00:00Z", "num": "10", "f": 1.5,
        "f:data": {'k:{"port":80}': {}}, ".": {}, "long": "word " * 18 + "end", "sp": " x",
        "col": "a: b", "emoji": "🚀é", "a10": 1, "a9": 2, "a-b": 3, "tr": "x\n y \nz  ",
        "b60": "1:30",
    }  # fmt: skip
    assert yamlwire.encode(value).decode() == PRINTED


def test_recorded_line_break() -> None:
    """A long text breaks where kube-apiserver was seen to break it."""
    text = (
        "BinaryData field. The keys stored in Data must not overlap with the keys in the "
        "BinaryData field, this is enforced during validation process."
    )
    first, second = yamlwire.encode([{"d": text}]).decode().splitlines()
    assert first.endswith("with the keys in the")
    assert second.strip() == "BinaryData field, this is enforced during validation process."


def test_too_deep_to_print() -> None:
    """Nesting is bounded when printing, too."""
    value: Any = 1
    for _ in range(5000):
        value = [value]
    with pytest.raises(ValueError, match="max depth"):
        yamlwire.encode(value)


def test_repeated_keys_are_told_up_to_a_number() -> None:
    """The first ones; the last of all counts."""
    found = yamlwire.decode(b"a: 1\n" * (yamlwire.MAX_DUPLICATES + 9))
    assert len(found.duplicates) == yamlwire.MAX_DUPLICATES
    assert found.duplicates[-1].line == yamlwire.MAX_DUPLICATES + 1


def test_repeated_keys_far_down() -> None:
    """Depth does not count again for each of them."""
    body = b"{a: " * 150 + b"{" + b"b: 1, " * 2000 + b"}" + b"}" * 150
    assert sum(calls(lambda: yamlwire.decode(body)).values()) < 5 * len(body)


def test_aliases_far_down() -> None:
    """Nor for each alias inside of collections with anchors."""
    opened = b"".join(b"&a%d [" % number for number in range(150))
    body = b"[&x 1, " + opened + b"*x, " * 2000 + b"1" + b"]" * 151
    assert sum(calls(lambda: yamlwire.decode(body)).values()) < 5 * len(body)


@pytest.mark.parametrize("coding", ["utf-8", "utf-16-le"])
def test_directives_are_bounded(coding: str) -> None:
    """The parser compares each with all others, and nothing could stop it."""
    count = 2 * yamlwire.MAX_TAG_DIRECTIVES
    lines = "".join(f"%TAG !a{number}! b\n" for number in range(count))
    mark = "" if coding == "utf-8" else "\ufeff"
    with pytest.raises(yamlwire.YamlError, match="excessive %TAG directives"):
        yamlwire.decode(f"{mark}{lines}--- a".encode(coding))


def test_percent_tags_inside_of_a_document() -> None:
    """Text is no directive, however often it says so."""
    text = "%TAG " * 2 * yamlwire.MAX_TAG_DIRECTIVES
    assert yamlwire.decode(f"a: |\n  {text}\n".encode()).value == {"a": f"{text}\n"}


def test_json_with_repeated_keys_is_read_once() -> None:
    """The exact JSON reader is not asked about what YAML reads anyway."""
    body = b'{"a":' + b'{"b":1,"b":2}' + b"}"
    made = calls(lambda: yamlwire.decode(body))
    assert "scan" not in made
    assert yamlwire.decode(body).value == {"a": {"b": 2}}
