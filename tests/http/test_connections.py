"""How many connections there may be, and who goes."""

from __future__ import annotations

import logging

import pytest
import trio

from kubetrio.http.connections import (
    ConnectionLimits,
    Connections,
    Peer,
    Presence,
    connection_families,
)
from kubetrio.machinery.identity import UserInfo

ALICE, BOB = UserInfo("alice"), UserInfo("bob")


def entered(connections: Connections, address: str = "a", *, busy: bool = False) -> Peer:
    peer = Peer(address)
    peer.busy = lambda: busy
    connections.enter(peer)
    return peer


def ended(*peers: Peer) -> list[bool]:
    return [peer.scope.cancel_called for peer in peers]


@pytest.mark.parametrize(
    ("descriptors", "total", "strangers"), [(1024, 896, 224), (256, 128, 32), (20, 16, 8)]
)
def test_bounds_leave_descriptors_for_the_rest(
    descriptors: int, total: int, strangers: int
) -> None:
    """An eighth at least is not for connections, and three quarters of these are for users."""
    limits = ConnectionLimits.within(descriptors)
    assert (limits.total, limits.per_address, limits.strangers) == (total, total, strangers)


def test_bounds_that_are_asked_for() -> None:
    """They hold, unless the descriptors do not reach."""
    limits = ConnectionLimits.within(1024, total=5000, per_address=7, strangers=3)
    assert (limits.total, limits.per_address, limits.strangers) == (896, 7, 3)


async def test_the_oldest_idle_stranger_goes() -> None:
    """Who is being served stays, and so does the new one."""
    connections = Connections(ConnectionLimits(strangers=3))
    peers = [entered(connections, busy=number == 0) for number in range(4)]
    assert ended(*peers) == [False, True, False, False]
    peers.append(entered(connections))
    assert ended(*peers) == [False, True, True, False, False]


async def test_a_stranger_goes_although_it_is_busy() -> None:
    """Requests without credentials that never end keep nobody out."""
    connections = Connections(ConnectionLimits(strangers=2))
    peers = [entered(connections, busy=True) for _ in range(3)]
    assert ended(*peers) == [True, False, False]


async def test_who_has_shown_credentials_is_no_stranger() -> None:
    """Strangers fill their part only."""
    connections = Connections(ConnectionLimits(strangers=1, total=100))
    first = entered(connections)
    connections.identified(first, ALICE)
    others = [entered(connections) for _ in range(3)]
    assert ended(first, *others) == [False, True, True, False]
    assert connections.statistics().known == 1


async def test_the_user_with_most_connections_gives_one_up() -> None:
    """Only where all are taken, and an idle one."""
    connections = Connections(ConnectionLimits(strangers=2, total=4))
    known = []
    for at, user in enumerate((ALICE, ALICE, ALICE, BOB)):
        known.append(entered(connections, busy=at == 0))
        connections.identified(known[-1], user)
    new = entered(connections)
    assert ended(*known, new) == [False, True, False, False, False]


async def test_a_new_connection_goes_where_all_are_busy() -> None:
    """Nobody's request is ended for it."""
    connections = Connections(ConnectionLimits(strangers=8, total=2))
    known = [entered(connections, busy=True) for _ in range(2)]
    for peer in known:
        connections.identified(peer, ALICE)
    assert ended(*known, entered(connections)) == [False, False, True]


async def test_one_address_has_its_own_bound() -> None:
    """The others do not pay for it."""
    connections = Connections(ConnectionLimits(per_address=2))
    other = entered(connections, "b")
    mine = [entered(connections) for _ in range(3)]
    assert ended(other, *mine) == [False, True, False, False]


async def test_who_leaves_is_forgotten() -> None:
    """No count is left behind, whoever ended the connection."""
    connections = Connections(ConnectionLimits(strangers=2))
    peers = [entered(connections, str(number % 2)) for number in range(5)]
    connections.identified(peers[4], ALICE)
    connections.identified(peers[4], BOB)
    for peer in peers:
        connections.leave(peer)
    numbers = connections.statistics()
    assert (len(connections), numbers.strangers, numbers.known) == (0, 0, 0)
    assert not connections._addresses
    assert not connections._known


async def test_no_descriptor_is_left() -> None:
    """The oldest idle connection gives its own up."""
    connections = Connections(ConnectionLimits())
    peers = [entered(connections) for _ in range(2)]
    connections.make_descriptor()
    assert ended(*peers) == [True, False]


async def test_a_flood_is_one_line_a_minute(
    caplog: pytest.LogCaptureFixture, autojump_clock: trio.testing.MockClock
) -> None:
    """And counted in full."""
    connections = Connections(ConnectionLimits(strangers=1))
    with caplog.at_level(logging.WARNING, "kubetrio"):
        for _ in range(100):
            entered(connections)
        assert len(caplog.records) == 1
        await trio.sleep(61)
        entered(connections)
        assert len(caplog.records) == 2
    count, closed, *_ = connection_families([connections])
    assert [sample.value for sample in count.samples] == [1.0, 0.0]
    assert {s.labels["reason"]: s.value for s in closed.samples}["unauthenticated"] == 100.0


async def at_once(path: str) -> None:
    await trio.lowlevel.checkpoint()


def test_presence_counts_requests() -> None:
    """A connection with many streams is busy as long as one is."""
    presence = Presence(lambda user: None, str, at_once)
    assert not presence.busy()
    presence.requests += 1
    assert presence.busy()
