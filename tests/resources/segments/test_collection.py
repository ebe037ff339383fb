"""A collection in memory: writes noted and made, segments divided and joined."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.resources.segments import collection
from kubetrio.resources.segments.collection import Collection, Foreign, Shape
from kubetrio.resources.segments.segment import TARGET_BYTES
from kubetrio.store.model import Event, EventType, KeyValue, Range

SHAPE = Shape(b"{head", b",")
ALL = Range.prefix("/k/")


def value(text: str) -> bytes:
    return b"{head" + text.encode()


def event(revision: int, name: str, text: str | None) -> Event:
    if text is None:
        return Event(revision, f"/k/{name}", EventType.DELETED, b"", None)
    return Event(revision, f"/k/{name}", EventType.UPDATED, value(text), None)


def filled(objects: Mapping[str, str], revision: int = 1) -> Collection:
    found = Collection(SHAPE, revision)
    found.extend([KeyValue(f"/k/{name}", value(text), 1, 1) for name, text in objects.items()])
    return found


def shown(found: Collection, keys: Range = ALL) -> bytes:
    return b"".join(
        segment.stored.joined(first, last) for segment, first, last in found.parts(keys)
    )


def test_values_that_begin_otherwise() -> None:
    """Neither read nor written."""
    with pytest.raises(Foreign):
        Collection(SHAPE, 1).extend([KeyValue("/k/a", b"other", 1, 1)])
    found = filled({"a": "A"})
    assert found.note(Event(2, "/k/a", EventType.UPDATED, b"other", None))
    with pytest.raises(Foreign):
        found.parts(ALL)
    assert SHAPE.value(SHAPE.item(value("x"))) == value("x")


def test_which_objects_a_range_has() -> None:
    """And since when it has just these."""
    found = filled({name: name * (TARGET_BYTES // 2) for name in "abcdef"})
    assert len(found) == 6
    parts = found.parts(Range("/k/b", "/k/d"))
    assert sum(part.objects for part in parts) == 2
    found.note(event(7, "e", "new"))
    assert [part.segment.changed for part in found.parts(Range.single("/k/a"))] == [1]
    assert max(part.segment.changed for part in found.parts(Range.single("/k/e"))) == 7
    assert found.measure() == found.bytes > 5 * TARGET_BYTES // 2
    found.forget_forms()


def test_writes_without_a_list() -> None:
    """So many, or so many bytes, and it is not worth it; what is made in one go is bounded."""
    found = filled({})
    assert all(found.note(event(n + 2, f"{n:03}", "x")) for n in range(64))
    assert found.behind
    assert not found.note(event(99, "z", "x"))
    found.catch_up()
    found.catch_up()
    assert not found.behind
    assert shown(found) == b",x" * 65
    assert found.note(event(100, "y", "x"))
    assert not filled({}).note(event(2, "a", "x" * collection.UNREAD_BYTES))


@given(
    steps=st.lists(
        st.tuples(st.sampled_from("abcdefghijkl"), st.one_of(st.none(), st.integers(0, 60))),
        max_size=60,
    ),
    first=st.dictionaries(st.sampled_from("abcdefghijkl"), st.just("start")),
    each=st.integers(1, 9),
)
def test_a_collection_against_a_dictionary(
    steps: list[tuple[str, int | None]], first: dict[str, str], each: int
) -> None:
    """After any writes, however often it is read; segments stay of their size."""
    before, collection.TARGET_BYTES = collection.TARGET_BYTES, 64
    try:
        model = dict(sorted(first.items()))
        found = filled(model)
        for number, (name, size) in enumerate(steps):
            if size is None:
                model.pop(name, None)
            else:
                model[name] = name * size
            found.note(event(number + 2, name, None if size is None else name * size))
            if number % each == 0:
                assert shown(found) == b"".join(b"," + model[key].encode() for key in sorted(model))
        assert shown(found) == b"".join(b"," + model[key].encode() for key in sorted(model))
        assert len(found) == len(model)
        for segment, _, _ in found.parts(ALL):
            assert segment.stored.size <= 128 or len(segment.keys) <= 2
    finally:
        collection.TARGET_BYTES = before
