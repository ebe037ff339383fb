"""The algebra of field sets, against sets of tuples."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery.fieldset import MAX_DEPTH, FieldSet
from kubetrio.wire.goscan import Float

STEPS = st.sampled_from(["f:a", "f:b", 'k:{"n":1}', 'v:"x"'])
PATHS = st.lists(STEPS, min_size=1, max_size=4).map(tuple)
PLAIN = st.frozensets(PATHS, max_size=8)
quick = settings(max_examples=80, deadline=None)


def made(paths):
    return FieldSet.of(*paths)


@quick
@given(PLAIN)
def test_a_set_is_its_paths(paths):
    """Iteration gives each path once; length, truth and membership agree."""
    fields = made(paths)
    assert sorted(fields) == sorted(paths)
    assert len(fields) == len(paths)
    assert bool(fields) is bool(paths)
    assert all(path in fields for path in paths)


@quick
@given(PLAIN, PLAIN)
def test_operations_are_those_of_sets(left, right):
    """Union, intersection and difference are what they are for plain sets."""
    a, b = made(left), made(right)
    assert a.union(b) == made(left | right)
    assert a.intersection(b) == made(left & right)
    assert a.difference(b) == made(left - right)


@quick
@given(PLAIN, PLAIN)
def test_recursive_difference_takes_what_is_below(left, right):
    """A path goes if any of its beginnings is in the other set."""
    kept = {p for p in left if not any(p[:n] in right for n in range(1, len(p) + 1))}
    assert made(left).recursive_difference(made(right)) == made(kept)


@quick
@given(PLAIN)
def test_leaves_have_nothing_below(paths):
    """A leaf is a path that no other path goes through."""
    kept = {p for p in paths if not any(q != p and q[: len(p)] == p for q in paths)}
    assert made(paths).leaves() == made(kept)


@quick
@given(PLAIN, PLAIN)
def test_operations_change_nothing(left, right):
    """Sets share nodes, so no operation may write to them."""
    a, b = made(left), made(right)
    a.union(b), a.intersection(b), a.difference(b), a.recursive_difference(b), a.leaves()
    assert a == made(left)
    assert b == made(right)


@pytest.mark.parametrize("depth", [100, 149, 150, 300, 900])
def test_what_can_be_read_can_be_written(depth):
    """Up to a depth at which every representation of the object can be printed."""
    try:
        fields = FieldSet.from_fields_v1(nested(depth))
    except ValueError:
        assert depth >= MAX_DEPTH
    else:
        assert fields.to_fields_v1() == nested(depth)


@quick
@given(PLAIN, PLAIN)
def test_what_changes_nothing_gives_the_same_set(left, right):
    """So that what is known of a set, and its text, need not be found again."""
    all_of_it = made(left | right)
    assert all_of_it.union(made(right)) is all_of_it
    rest = made(left - right)
    assert rest.difference(made(right)) is rest


@quick
@given(PLAIN)
def test_fields_v1_round_trip(paths):
    """What is written is read again, and written the same."""
    fields = made(paths)
    text = fields.to_fields_v1()
    again = FieldSet.from_fields_v1(text)
    assert again == fields
    assert repr(again.to_fields_v1()) == repr(text)


@quick
@given(PLAIN, STEPS)
def test_below_is_the_rest_of_the_paths(paths, step):
    """Going down one step keeps what begins with it."""
    assert made(paths).below(step) == made({p[1:] for p in paths if p[0] == step and p[1:]})


def test_difference_without_effect_is_the_same_set():
    """Owners that lose nothing are not copied."""
    fields = made([("f:a", "f:b")])
    assert fields.difference(made([("f:c",), ("f:a", "f:z")])) is fields


def test_written_form():
    """A path with paths below says so with a dot, which comes first; a leaf is empty."""
    fields = made(
        [("f:z",), ("f:b",), ("f:b", "f:c"), ("f:y", 'k:{"p":80}'), ("f:y", 'k:{"p":443}')]
    )
    assert repr(fields.to_fields_v1()) == repr(
        {
            "f:b": {".": {}, "f:c": {}},
            "f:y": {'k:{"p":80}': {}, 'k:{"p":443}': {}},
            "f:z": {},
        }
    )


def test_results_are_not_shared():
    """Changing what was written changes neither the set nor what is written next."""
    fields = FieldSet.from_fields_v1({"f:a": {"f:b": {}}})
    fields.to_fields_v1()["f:a"]["f:c"] = {}
    assert fields.to_fields_v1() == {"f:a": {"f:b": {}}}


def test_reading_is_lenient_where_the_api_is():
    """Unknown kinds of steps are skipped; twins in other notation are one; a lone dot is a leaf."""
    text = {"f:a": {".": {}}, "z:1": {}, 'k:{"b":1,"a":2}': {}, 'k:{"a":2, "b":1}': {"f:x": {}}}
    assert FieldSet.from_fields_v1(text).to_fields_v1() == {
        "f:a": {},
        'k:{"a":2,"b":1}': {".": {}, "f:x": {}},
    }


def nested(depth):
    out = {}
    for _ in range(depth):
        out = {"f:a": out}
    return out


@pytest.mark.parametrize(
    "text",
    [
        [],
        [1],
        False,
        {"f:a": 1},
        {"f:a": Float("1.5")},
        {"f:a": 10**20},
        {"x": {}},
        {"k:1": {}},
        nested(5000),
    ],
)
def test_reading_refuses_what_is_no_set(text):
    """Anything but objects keyed by steps is an error."""
    with pytest.raises(ValueError):
        FieldSet.from_fields_v1(text)


def test_large_sets_are_read_without_being_kept():
    """A text over the limit of the cache gives the same set."""
    text = {f"f:{'x' * 100}{n}": {} for n in range(300)}
    assert FieldSet.from_fields_v1(text).to_fields_v1() == dict(sorted(text.items()))
