"""The bound of bodies that come while their requests have no seat."""

from __future__ import annotations

from kubetrio.api.pendingbodies import PendingBodies


def test_one_user_leaves_room_for_another() -> None:
    """Each may have as much as is left for all others."""
    pending_bodies = PendingBodies(100)
    first = [pending_bodies.enter("a", 10) for _ in range(8)]
    assert [room is not None and room.taken for room in first] == [True] * 5 + [False] * 3
    other = [pending_bodies.enter("b", 10) for _ in range(4)]
    assert [room is not None and room.taken for room in other] == [True] * 3 + [False]
    third = pending_bodies.enter("c", 10)
    assert third is not None
    assert third.taken


def test_who_waits_for_room_gets_it_in_order() -> None:
    """When a body of the same user has come; who has left meanwhile is passed over."""
    pending_bodies = PendingBodies(20)
    reservations = [room for _ in range(4) if (room := pending_bodies.enter("a", 10))]
    assert [room.taken for room in reservations] == [True, False, False, False]
    reservations[1].leave()
    reservations[0].leave()
    reservations[0].leave()
    assert [room.taken for room in reservations] == [False, False, True, False]
    reservations[3].leave()
    reservations[2].leave()
    assert pending_bodies == PendingBodies(20)


def test_nobody_waits_for_the_bodies_of_others() -> None:
    """Who has none under way, and finds no room, reads with a seat."""
    pending_bodies = PendingBodies(40)
    mine = pending_bodies.enter("a", 20)
    assert mine is not None
    assert mine.taken
    assert pending_bodies.enter("b", 21) is None
    other = pending_bodies.enter("b", 20)
    assert other is not None
    assert other.taken
    more = pending_bodies.enter("a", 30)
    assert more is not None
    assert not more.decided.is_set()
    mine.leave()  # from here on only those of somebody else could make room
    assert more.decided.is_set()
    assert not more.taken
