"""Steps of paths."""

import pytest

from kubetrio.machinery import fieldpath


def test_keys_do_not_depend_on_order():
    """A keyed item has one step, however its key fields are ordered."""
    step = fieldpath.key([("protocol", "TCP"), ("port", 80)])
    assert (
        step
        == 'k:{"port":80,"protocol":"TCP"}'
        == fieldpath.key([("port", 80.0), ("protocol", "TCP")])
    )


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("f:a b", "f:a b"),
        ('k:{ "b":1, "a":"x" }', 'k:{"a":"x","b":1}'),
        ("v: 1.0", "v:1"),
        ('v:"<"', 'v:"\\u003c"'),
        ("i:03", "i:3"),
    ],
)
def test_parse_gives_the_canonical_text(text, canonical):
    """What others wrote is read into the one form of a step, and that form stays."""
    assert fieldpath.parse(text) == canonical == fieldpath.parse(canonical)


@pytest.mark.parametrize("text", ["", "f", "x", "k:[1]", "k:{", "v:", "i:a"])
def test_malformed_steps_are_refused(text):
    """A text that is no step is an error."""
    with pytest.raises(ValueError):
        fieldpath.parse(text)


def test_unknown_kinds_are_told_apart():
    """A kind of step that may come to be known is its own error."""
    with pytest.raises(fieldpath.UnknownStep):
        fieldpath.parse("z:1")


def test_order_is_by_kind_then_value():
    """Members come first, then keys (numbers by size), values and places."""
    steps = ["i:10", "i:9", 'v:"a"', "v:2", "v:true", 'k:{"p":80}', 'k:{"p":443}', "f:b", "f:a"]
    assert fieldpath.in_order(reversed(steps)) == [
        "f:a", "f:b", 'k:{"p":80}', 'k:{"p":443}', "v:2", 'v:"a"', "v:true", "i:9", "i:10",
    ]  # fmt: skip


def test_paths_print_as_in_messages():
    """The notation of conflicts and of errors about types."""
    path = ("f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:name")
    assert fieldpath.path_text(path) == '.spec.ports[port=80,protocol="TCP"].name'
    assert fieldpath.path_text(("f:s", 'v:"a"')) == '.s[="a"]'
    assert fieldpath.path_text(("f:s", "i:2")) == ".s[2]"


@pytest.mark.parametrize("step", ['k:{{"a":{}}}', "v:{}"])
def test_a_step_that_is_nested_too_deeply_is_none(step: str) -> None:
    for deep in ("[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900):
        with pytest.raises(ValueError, match="max depth"):
            fieldpath.parse(step.format(deep))
