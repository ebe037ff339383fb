"""`kubetrio.watch.group`: which watchers an event concerns, against asking each of them."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.machinery import fields, labels
from kubetrio.resources.selection import Selection
from kubetrio.store.model import Event, EventType
from kubetrio.watch.group import Group, Watcher
from kubetrio.watch.window import Batch


class Sinkhole:
    """A sink that no watcher here uses."""

    def offer(self, batch: Batch) -> bool:
        raise AssertionError(batch)

    def lag(self) -> None:
        raise AssertionError


def name(obj: dict[str, Any]) -> dict[str, str]:
    return {"metadata.name": obj["metadata"]["name"]}


def other(obj: dict[str, Any]) -> dict[str, str]:
    """Fields of another version of the kind."""
    return {"metadata.name": obj["metadata"]["name"].upper()}


TEXTS = ("a=x", "a=y", "b=x", "a in (x)", "a=x,b", "a", "!a", "a in (x,y)", "b!=x", "a=", "a=x,a=y")
selections = st.none() | st.builds(
    lambda by_label, by_field, values: Selection(
        labels.parse(by_label) if by_label else None,
        fields.parse(by_field) if by_field else None,
        values,
    ),
    st.sampled_from(TEXTS),
    st.sampled_from(["", "", "metadata.name=n", "metadata.name=N", "metadata.name!=n"]),
    st.sampled_from([name, other]),
)
values = st.builds(
    lambda labels, name: orjson.dumps({"metadata": {"name": name, "labels": labels}}),
    st.dictionaries(st.sampled_from("ab"), st.sampled_from(["x", "y", ""])),
    st.sampled_from("nm"),
)
events = st.builds(
    lambda value, previous: Event(1, "k/n", EventType.UPDATED, value, previous),
    values,
    st.none() | values,
)


def wants(selection: Selection | None, event: Event) -> bool:
    states = [event.value] if event.previous is None else [event.value, event.previous]
    return selection is None or any(map(selection.matches_bytes, states))


@given(st.lists(selections, max_size=12), st.data(), st.lists(events, min_size=1, max_size=3))
def test_who_is_concerned(
    chosen: list[Selection | None], data: st.DataObject, some: list[Event]
) -> None:
    """Exactly those that want an event, also when others have left."""
    group = Group("k/")
    watchers = [Watcher(group, 0, Sinkhole(), pulls=False, chooser=one) for one in chosen]
    for watcher in watchers:
        group.add(watcher)
    leaving = {watcher for watcher in watchers if data.draw(st.booleans())}
    for watcher in leaving:
        group.discard(watcher)
        group.discard(watcher)
    batch = Batch(some)
    found = [
        watcher
        for equals in group.candidates(batch)
        if equals.concerned(batch)
        for watcher in equals.watchers
    ]
    staying = [watcher for watcher in watchers if watcher not in leaving]
    assert len(found) == len(set(found))
    assert set(found) == {
        watcher
        for watcher, selection in zip(watchers, chosen, strict=True)
        if watcher in staying and any(wants(selection, event) for event in some)
    }
    for watcher in staying:
        group.discard(watcher)
    assert not group.watchers
    assert not group.reads()
    assert not group.candidates(batch)


def test_pinned_filters_of_other_values_are_not_asked() -> None:
    """However many there are."""
    group = Group("k/")
    for number in range(100):
        chosen = Selection(labels.parse(f"a=v{number}"), None, name)
        group.add(Watcher(group, 0, Sinkhole(), pulls=False, chooser=chosen))
    value = orjson.dumps({"metadata": {"name": "n", "labels": {"a": "v7"}}})
    [equals] = group.candidates(Batch([Event(1, "k/n", EventType.CREATED, value, None)]))
    assert str(equals.chooser and equals.chooser.identity) == "('a=v7', '')"
