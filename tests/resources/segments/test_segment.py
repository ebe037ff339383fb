"""Segments: items one by one and joined, edits, what selectors look at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.resources.representation import Ages, Span
from kubetrio.resources.segments.piece import Piece, squeeze
from kubetrio.resources.segments.segment import (
    NEVER,
    SPAN_BYTES,
    SPLICED,
    Edit,
    Items,
    Marks,
    Segment,
)
from kubetrio.watch.choosing import Seen


def made(*items: bytes) -> Items:
    return Items(list(items))


def test_items_are_joined_once_all_are_made() -> None:
    """Parts of them as well, before and after."""
    items = Items([b"a", None, b"ccc"])
    assert items.missing(0, 3) == [1]
    assert items.joined(2, 3) == b"ccc"
    with pytest.raises(LookupError):
        items.joined(0, 3)
    items.fill(1, b"bb")
    items.fill(1, b"not this")
    assert items.joined(0, 3) == b"abbccc"
    items.fill(0, b"nor this")
    assert (items.joined(1, 3), items.joined(0, 1), items.get(1)) == (b"bbccc", b"a", b"bb")
    assert (items.missing(0, 3), items.size, items.sizes(1, 3)) == ([], 6, [2, 3])


def seconds(item: bytes, ages: Ages, now: float) -> tuple[bytes, Span]:
    """What tells how many seconds have passed, behind one byte."""
    text = b"%d" % int(now - ages[0])
    return item[:1] + text, Span(now, now + 1, (ages[0], 1, 1 + len(text)))


def test_items_that_are_good_for_a_time() -> None:
    """Those that are not are missing again, from memory too when they were joined."""
    items = Items([None, None])
    items.fill(0, b"1s", Span(10.0, 11.0))
    items.fill(1, b"5m", Span(10.0, 70.0))
    for now, missing in ((10.5, []), (10.9, []), (11.0, [0])):
        items.renew(range(2), now, seconds)
        assert items.missing(0, 2) == missing
        if not missing:
            assert items.joined(0, 2) == b"1s5m"
            assert not items.may_be_old(now)
    assert items.size == 2
    items.fill(0, b"2s", Span(11.0, 12.0))
    assert items.joined(0, 2) == b"2s5m"
    items.renew(range(2), 9.0, seconds)  # the clock was set back
    assert items.missing(0, 2) == [0, 1]
    assert items.size == 0


def test_items_that_tell_an_age_get_another() -> None:
    """Those that are asked for; all are joined again when all of them are."""
    items = Items([None] * 3)
    for at, name in enumerate((b"a", b"b", b"c")):
        items.fill(at, name + b"9", Span(9.0, 10.0, (0.0, 1, 2)))
    assert items.joined(0, 3) == b"a9b9c9"
    items.renew([1], 10.0, seconds)
    assert items.joined(1, 2) == b"b10"
    assert (items.missing(0, 3), items.size) == ([], 7)
    assert items.may_be_old(10.0)
    items.renew(range(3), 10.5, seconds)
    assert items.joined(0, 3) == b"a10b10c10"
    assert items.joined(0, 2) == b"a10b10"
    assert not items.may_be_old(10.9)
    assert items.may_be_old(11.0)
    assert items.kept == 3 * SPAN_BYTES


def test_what_is_joined_is_the_same_piece_each_time() -> None:
    """So that it is compressed once; at the beginning of a list too."""
    items = made(b",a", b",b")
    piece = items.joined(0, 2)
    assert isinstance(piece, Piece)
    assert items.led(items.joined(0, 2), 0) is piece
    first = items.led(piece, 1)
    assert (first, items.kept) == (b"a,b", 3)
    assert items.led(items.joined(0, 2), 1) is first
    assert items.led(items.joined(1, 2), 1) == b"b"
    piece.squeezed = squeeze(piece)
    assert items.kept == 3 + len(piece.squeezed.data)


def test_edits_in_the_order_in_which_they_were_made() -> None:
    """Other forms lose what was written."""
    segment = Segment(["b", "d"], made(b"B", b"D"), 3)
    segment.form("upper").fill(0, b"b!")
    segment.form("upper").fill(1, b"d!")
    segment.marked("of").fill(1, Seen({"x": "y"}, {}))
    after = segment.edited({"c": b"C", "d": None, "e": b"E", "b": b"BB", "gone": None}, 9)
    assert (after.keys, after.changed) == (["b", "c", "e"], 9)
    assert after.stored.joined(0, 3) == b"BBCE"
    assert after.form("upper").missing(0, 3) == [0, 1, 2]
    assert (segment.keys, segment.stored.joined(0, 2)) == (["b", "d"], b"BD")
    same = segment.edited({"a": b"A"}, 9)
    assert same.form("upper").missing(0, 3) == [0]
    assert same.marked("of").get(2).labels == {"x": "y"}
    assert Edit(0, False, None).make([], 1) is None


WRITES = st.dictionaries(
    st.sampled_from([f"k{number}" for number in range(8)]),
    st.one_of(st.none(), st.binary(max_size=5)),
    max_size=6,
)


@given(before=WRITES, writes=st.lists(WRITES, max_size=3))
def test_what_is_joined_is_edited_as_what_is_not(
    before: dict[str, bytes | None], writes: list[dict[str, bytes | None]]
) -> None:
    """Changes, new keys and deletions, also of keys that are not there, up to an empty segment."""
    items = {key: item for key, item in sorted(before.items()) if item is not None}
    apart = joined = Segment(list(items), made(*items.values()), 1)
    for changes in writes:
        joined.stored.joined(0, len(joined.keys))
        apart, joined = apart.edited(changes, 2), joined.edited(changes, 2)
        assert (joined.keys, joined.size) == (apart.keys, apart.size)
        count = len(joined.keys)
        assert joined.stored.parts() == apart.stored.parts()
        assert [joined.stored.get(at) for at in range(count)] == apart.stored.parts()
        assert joined.stored.sizes(0, count) == apart.stored.sizes(0, count)


def test_an_edit_of_what_is_joined_leaves_it_joined() -> None:
    """So that a list does not take a segment apart for one write; many are made together."""
    segment = Segment(["a", "b", "c"], made(b"1", b"2", b"3"), 5)
    assert segment.stored.joined(0, 3) == b"123"
    after = segment.edited({"b": b"22", "d": b"4"}, 6)
    assert after.stored._body == b"12234"
    assert isinstance(after.stored.joined(0, 4), Piece)
    many = {f"x{number}": b"y" for number in range(SPLICED + 1)}
    assert segment.edited(many, 6).stored._body is None
    assert segment.stored.joined(0, 3) == b"123"


def test_halves_and_pairs() -> None:
    """Halves keep other forms; a pair has them made again."""
    segment = Segment(["a", "b", "c"], made(b"1", b"2", b"3"), 5)
    for at in range(3):
        segment.form("f").fill(at, b"x%d" % at, NEVER if at else Span(0.0, 1.0))
    first, second = segment.divided()
    assert (first.keys, second.keys) == (["a"], ["b", "c"])
    assert second.form("f").get(1) == b"x2"
    first.form("f").renew(range(1), 2.0, seconds)
    assert first.form("f").missing(0, 1) == [0]
    pair = first.and_next(second)
    assert (pair.keys, pair.stored.joined(0, 3), pair.changed) == (segment.keys, b"123", 5)
    assert pair.form("f").missing(0, 3) == [0, 1, 2]
    assert first.and_next(Segment(["z"], made(b"9"), 8)).changed == 8
    assert Segment([], made(), 8).and_next(first).changed == 8
    assert pair.span("b", "d") == (1, 3)
    assert pair.size > 3


def test_places_of_labels_and_fields() -> None:
    """Once all objects were looked into."""
    marks = Marks([None, None, None])
    marks.fill(0, Seen({"a": "1"}, {"f": ""}))
    with pytest.raises(LookupError):
        marks.places(("label", "a", "1"))
    marks = Marks([Seen({"a": "1"}, {"f": ""}), Seen({"a": "2"}, {"f": "v"}), Seen({"a": "1"}, {})])
    assert marks.places(("label", "a", "1")) == [0, 2]
    assert marks.places(("field", "f", "v")) == [1]
    assert marks.places(("label", "f", "v")) == ()
    assert marks.missing(0, 3) == []
    after = marks.edited([Edit(1, True, b"new")])
    assert after.missing(0, 3) == [1]
    assert after.size < marks.size
