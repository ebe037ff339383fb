"""`kubetrio.watch.choosing`: what filters look at, and what they say."""

from __future__ import annotations

from kubetrio.machinery import fields, labels
from kubetrio.resources.selection import Selection
from kubetrio.store.model import Event, EventType
from kubetrio.watch.choosing import Decision, Seen, decide, look, sights
from kubetrio.watch.window import Batch

BEFORE = b'{"metadata":{"name":"n","labels":{"a":"b"}},"spec":{"node":"x"}}'
NOW = b'{"metadata":{"name":"n"},"spec":{"node":"y"}}'
CREATED = Event(1, "k", EventType.CREATED, BEFORE, None)
UPDATED = Event(2, "k", EventType.UPDATED, NOW, BEFORE)
EVENTS = [CREATED, UPDATED]


def node(obj: dict[str, dict[str, str]]) -> dict[str, str]:
    return {"spec.node": obj["spec"]["node"]}


def selection(by_label: str = "", by_field: str = "") -> Selection:
    return Selection(
        labels.parse(by_label) if by_label else None,
        fields.parse(by_field) if by_field else None,
        node,
    )


def test_labels_and_fields_are_read() -> None:
    """A label that is missing is none, a field that is missing the empty string."""
    seen = look(BEFORE, node)
    assert seen == Seen({"a": "b"}, {"spec.node": "x"})
    assert seen.has("label", "a") == "b"
    assert look(NOW, node).has("label", "a") is None
    assert (seen.has("field", "spec.node"), seen.has("field", "other")) == ("x", "")


def test_a_filter_says_what_it_wants_before_and_now() -> None:
    """A creation has nothing before it."""
    seen = sights(EVENTS, node)
    assert decide(seen, selection("a=b")) == [Decision(False, True), Decision(True, False)]
    assert decide(seen, selection("", "spec.node=y")) == [(False, False), (False, True)]
    assert decide(seen, selection("a", "spec.node=x")) == [(False, True), (True, False)]


def test_an_event_is_read_once_for_all_filters_of_a_kind() -> None:
    """And each filter asked once for all that are equal."""
    reads: list[str] = []

    def counted(obj: dict[str, dict[str, str]]) -> dict[str, str]:
        reads.append(obj["spec"]["node"])
        return node(obj)

    batch = Batch(EVENTS)
    assert batch.look(counted, 1)
    for text in ("a=b", "a=c", "a=b"):
        batch.decided(Selection(labels.parse(text), None, counted))
    assert not batch.look(counted, 1)
    assert reads == ["x", "x", "y"]
    some = Selection(labels.parse("a=b"), None, counted)
    again = Selection(labels.parse("a=b"), None, counted)
    assert batch.decided(some) is batch.decided(again)


def test_a_batch_concerns_who_wants_an_event_of_it() -> None:
    """Also one by which an object leaves."""
    assert Batch([UPDATED]).concerns(selection("a=b"))
    assert not Batch([UPDATED]).concerns(selection("a=c"))


def test_pins() -> None:
    """One value of a field or label; the first, where there are several."""
    assert selection("a=b").pin == ("label", "a", "b")
    assert selection("a in (b)").pin == ("label", "a", "b")
    assert selection("a=b", "spec.node=").pin == ("field", "spec.node", "")
    assert selection("a", "spec.node!=x").pin is None
    assert selection("a!=b,c notin (d),e in (f,g)").pin is None


def test_filters_by_labels_alone_read_no_fields() -> None:
    """The fields of a Pod take longer than its JSON."""
    by_label = selection("a=b")
    assert look(BEFORE, by_label.reads) == Seen({"a": "b"}, {})
    assert by_label.matches_bytes(BEFORE)
    assert look(BEFORE, selection("a=b", "spec.node=x").reads) == look(BEFORE, node)
