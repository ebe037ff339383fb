"""Which pod is next."""

from __future__ import annotations

from math import inf

from kubetrio.controllers.scheduler.framework import Happening
from kubetrio.controllers.scheduler.waiting import LONGEST_REST_S, Entry, WaitingPods

NODE, GONE = frozenset({Happening.NODE}), frozenset({Happening.GONE})


def take(waiting: WaitingPods, now: float = 0.0) -> Entry:
    """Take a pod that must be there."""
    entry = waiting.take(now)
    assert entry is not None
    return entry


def test_priority_comes_first_and_then_time() -> None:
    """One that comes again has its old place."""
    waiting = WaitingPods()
    for now, (key, priority) in enumerate((("a", 0), ("b", 5), ("c", 5), ("d", 0))):
        waiting.add(key, priority, now)
    waiting.remove("c")
    assert [take(waiting).key for _ in range(3)] == ["b", "a", "d"]
    assert waiting.take(9) is None


def test_back_off_is_longer_each_time() -> None:
    """From one second to ten, counted from the try."""
    waiting, now, waits = WaitingPods(), 0.0, []
    waiting.add("a", 0, now)
    for _ in range(6):
        waiting.retry(take(waiting, now))
        assert waiting.take(now) is None
        waits.append(waiting.next_due() - now)
        now = waiting.next_due()
    assert waits == [1, 2, 4, 8, 10, 10]


def test_a_pod_rests_until_something_helps_it() -> None:
    """Anything else does not, but five minutes do."""
    waiting = WaitingPods()
    waiting.add("a", 0, 0.0)
    waiting.rest(take(waiting), NODE, 0.0)
    waiting.happened(GONE)
    assert waiting.take(10.0) is None
    waiting.happened(NODE)
    waiting.rest(take(waiting, 10.0), NODE, 10.0)
    assert waiting.next_due() <= 10.0 + LONGEST_REST_S
    assert waiting.take(LONGEST_REST_S + 9) is None
    assert take(waiting, LONGEST_REST_S + 10).attempts == 3


def test_what_happens_while_a_pod_is_in_hand_counts() -> None:
    """It is tried again after its back-off, also when the pod itself changed."""
    waiting = WaitingPods()
    waiting.add("a", 0, 0.0)
    entry = take(waiting)
    waiting.happened(NODE)
    waiting.rest(entry, NODE, 0.0)
    entry = take(waiting, 1.0)
    waiting.add("a", 0, 1.0)
    waiting.rest(entry, GONE, 1.0)
    assert take(waiting, 3.0) is entry
    waiting.rest(entry, GONE, 3.0)
    assert waiting.take(100.0) is None


def test_a_pod_that_changes_is_tried_at_once() -> None:
    """Whether it rests or backs off."""
    waiting = WaitingPods()
    waiting.add("a", 0, 0.0)
    waiting.rest(take(waiting), NODE, 0.0)
    waiting.add("a", 0, 0.5)
    waiting.retry(take(waiting, 0.5))
    waiting.add("a", 0, 0.6)
    assert take(waiting, 0.6).attempts == 3


def test_pods_that_are_gone_do_not_come_again() -> None:
    """From wherever they were; one that comes back starts anew."""
    waiting = WaitingPods()
    for key in "abc":
        waiting.add(key, 0, 0.0)
    waiting.rest(take(waiting), NODE, 0.0)
    waiting.retry(take(waiting))
    in_hand = take(waiting)
    waiting.clear()
    waiting.rest(in_hand, NODE, 0.0)
    waiting.happened(NODE)
    assert (waiting.take(1000.0), len(waiting)) == (None, 0)
    waiting.put_back(in_hand)
    waiting.put_back(Entry("c", 0, 0.0, 9))
    assert take(waiting, 1000.0) is in_hand


def test_an_interrupted_try_does_not_count() -> None:
    """The pod is the next again."""
    waiting = WaitingPods()
    waiting.add("a", 0, 0.0)
    waiting.undo(take(waiting))
    assert take(waiting).attempts == 1
    assert WaitingPods().next_due() == inf
