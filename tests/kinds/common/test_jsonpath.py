"""JSONPath as printer columns use it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.kinds.common import jsonpath

DATA = {
    "a": {"b": 1, "c.d": 2, "list": [10, 11, 12, 13]},
    "conditions": [
        {"type": "Ready", "status": "True", "n": 1},
        {"type": "Ok)]", "status": "False", "n": 2, "extra": None},
    ],
    "deep": [{"x": {"name": "p"}}, {"name": "q"}],
    "null": None,
    "text": "t",
}
FOUND = [
    (".", []),
    (".a.b", [1]),
    ("$.a.b", [1]),
    (r".a.c\.d", [2]),
    (r".a['c\.d']", [2]),
    (".a['c.d']", []),
    (".a['b']", [1]),
    (".missing.b", []),
    (".text.b", []),
    (".null", [None]),
    (".null.b", []),
    (".null[0]", []),
    (".a.list[0]", [10]),
    (".a.list[-1]", [13]),
    (".a.list[-2]", [12]),
    (".a.list[1:3]", [11, 12]),
    (".a.list[2:]", [12, 13]),
    (".a.list[::2]", [10, 12]),
    (".a.list[*]", [10, 11, 12, 13]),
    (".a.list[0,2]", [10, 12]),
    (".a['b','list'][0]", None),
    (".a.*", [1, 2, [10, 11, 12, 13]]),
    ("..name", ["p", "q"]),
    (".conditions[*].type", ["Ready", "Ok)]"]),
    ('.conditions[?(@.type=="Ready")].status', ["True"]),
    (".conditions[?(@.type == 'Ready')].status", ["True"]),
    ('.conditions[?(@.type=="Ok)]")].status', ["False"]),
    (".conditions[?(@.n>=1)].n", [1, 2]),
    (".conditions[?(@.n!=1)].n", [2]),
    (".conditions[?(@.extra)].n", [2]),
    (".conditions[?(@.missing==1)].n", []),
    # Asking the impossible
    (".a[0]", None),
    (".a.list[4]", None),
    (".a.list[3:9]", None),
    (".a.list[0:2:-1]", None),
    (".conditions[?(@.type==1)]", None),
    (".conditions[?(@.n==1.0)]", None),
    (".conditions[?(@.type=!2)]", None),
    (".text[?(@.x)]", None),
]


def find(path):
    try:
        return jsonpath.find(jsonpath.parse(path), DATA)
    except jsonpath.JsonPathError:
        return None


@pytest.mark.parametrize(("path", "found"), FOUND)
def test_find(path, found):
    """What a path leads to; None stands for an error."""
    assert find(path) == found


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".a[", "unterminated array"),
        (".a[b]", "invalid array index b"),
        (".a[?(@.b", "unterminated filter"),
        (".a[?(@.b)x", "unclosed array expect ]"),
        ("....a", "invalid multiple recursive descent"),
        (".a[-]", "invalid array index -"),
        (".a[1.2]", "invalid array index 1.2"),
        ("{.a", "unrecognized character in action: U+007B '{'"),
        (".a,.b", "unrecognized character in action: U+002C ','"),
        (".a'b' 'c", "unterminated quoted string"),
    ],
)
def test_parse_refuses(path, why):
    """What is not a path is refused when parsed, in the words of client-go."""
    with pytest.raises(jsonpath.JsonPathError) as caught:
        jsonpath.parse(path)
    assert str(caught.value) == why


@pytest.mark.parametrize("path", ["spec.a[0].b", ".a b", "a-b/c", ".a}b", ".a} {.b"])
def test_words_and_templates_parse(path):
    """What comes of words that stand for nothing is an error when they are followed."""
    assert jsonpath.parse(path)
    if "}" not in path:
        assert find(path) is None


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=".ab[]*?()@'\"=<0:-,\\ ", max_size=12))
def test_any_text_is_a_path_or_an_error(path):
    """No text raises anything but the error of this module."""
    try:
        jsonpath.find(jsonpath.parse(path), DATA)
    except jsonpath.JsonPathError:
        pass
