"""How many connections there may be, and which one goes when there are too many.

Each connection costs a file descriptor and some memory before its user is known.  So those
without credentials have a bound of their own, well below the bound of all: behind a flood of them
there is always room for a client that has some.  When a bound is reached, the connection that has
waited longest without a request goes, and the new one is served; a client that has something to say
says it at once.

Source: prior art is PostgreSQL's ``reserved_connections`` and OpenSSH's ``MaxStartups``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

import trio

from kubetrio.machinery.identity import UserInfo
from kubetrio.observe import prometheus
from kubetrio.observe.logs import Log
from kubetrio.observe.series import counter

log = Log("kubetrio.http")
RESERVED_DESCRIPTORS = 128
MOST_STRANGERS = 1024
LOG_INTERVAL_S = 60.0
REASONS = ("address", "unauthenticated", "total", "descriptors")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Bounds of one listener.

    Args:
        total: connections at a time.
        per_address: connections at a time from one address.
        strangers: of all, those that have shown no credentials.
    """

    total: int = 8192
    per_address: int = 8192
    strangers: int = MOST_STRANGERS

    @classmethod
    def within(
        cls, descriptors: int, *, total: int = 0, per_address: int = 0, strangers: int = 0
    ) -> ConnectionLimits:
        """Bounds that leave file descriptors for the store, for backends and for imports.

        Args:
            descriptors: files that the process may have open.
            total: see above; 0 for what the descriptors allow.
            per_address: see above; 0 for all.
            strangers: see above; 0 for a quarter of all, at most 1,024.
        """
        reserved = max(RESERVED_DESCRIPTORS, descriptors // 8)
        most = max(16, descriptors - reserved)
        total = min(total, most) if total else most
        return cls(
            total=total,
            per_address=per_address or total,
            strangers=strangers or max(8, min(total // 4, MOST_STRANGERS)),
        )


class Peer:
    """One connection as the limits see it.

    Args:
        address: of the client.
    """

    __slots__ = ("address", "busy", "scope", "user")

    def __init__(self, address: str) -> None:
        self.address = address
        self.user = ""
        """Name of who has shown credentials on it, or empty."""
        self.busy: Callable[[], bool] = _idle
        """Whether a request is being served on it."""
        self.scope = trio.CancelScope()
        """Ends the connection."""


@dataclass(slots=True)
class Presence:
    """What the requests of an HTTP/2 connection or a WebSocket tell about it.

    Args:
        identified: called with the user of a request that had credentials.
        user: name of who has shown credentials on it, or empty.
        turn: waits for the turn of a request with a path, while no credentials were shown.
        requests: how many are being served.
    """

    identified: Callable[[UserInfo], None]
    user: Callable[[], str]
    turn: Callable[[str], Awaitable[None]]
    requests: int = 0

    def busy(self) -> bool:
        """Whether a request is being served."""
        return self.requests > 0


def _idle() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class ConnectionStatistics:
    """What metrics tell of connections.

    Args:
        strangers: open connections without credentials.
        known: open connections with credentials.
        closed: how many were closed to make room, by reason.
    """

    strangers: int
    known: int
    closed: dict[str, int]


def connection_families(listeners: Sequence[Connections]) -> Iterable[prometheus.Metric]:
    """Connections of all listeners as metrics."""
    numbers = [each.statistics() for each in listeners]
    text = "Open connections by whether credentials were shown on them."
    count = prometheus.GaugeMetricFamily("kubetrio_connections", text, labels=("authenticated",))
    count.add_metric(("false",), float(sum(each.strangers for each in numbers)))
    count.add_metric(("true",), float(sum(each.known for each in numbers)))
    text = "Connections closed to make room, by the bound that was reached."
    closed = prometheus.CounterMetricFamily(
        "kubetrio_connections_closed_total", text, labels=("reason",)
    )
    for reason in REASONS:
        closed.add_metric((reason,), float(sum(each.closed.get(reason, 0) for each in numbers)))
    failed = counter(
        "apiserver_tls_handshake_errors_total",
        "TLS handshakes that did not come to their end.",
        (),
        {(): sum(each.failed_handshakes for each in listeners)},
    )
    return count, closed, *failed


@dataclass(slots=True)
class Connections:
    """The open connections of one listener.

    Args:
        limits: its bounds.
        failed_handshakes: of TLS.
    """

    limits: ConnectionLimits
    failed_handshakes: int = 0
    _strangers: dict[Peer, None] = field(default_factory=dict)  # the oldest first
    _known: dict[str, dict[Peer, None]] = field(default_factory=dict)  # by user, the oldest first
    _addresses: Counter[str] = field(default_factory=Counter)
    _open: int = 0
    _closed: Counter[str] = field(default_factory=Counter)
    _unlogged: Counter[str] = field(default_factory=Counter)
    _log_after: float = 0.0

    def __len__(self) -> int:
        return self._open

    def enter(self, peer: Peer) -> None:
        """Count a new connection; others, or itself, are told to end where there are too many."""
        limits, address = self.limits, peer.address
        if self._addresses[address] >= limits.per_address:
            mine = (each for each in self._all() if each.address == address)
            self._make_room("address", mine, peer)
        elif len(self._strangers) >= limits.strangers:
            self._make_room("unauthenticated", self._strangers, peer)
        elif len(self) >= limits.total:
            self._make_room("total", self._all(), peer)
        self._strangers[peer] = None
        self._addresses[address] += 1
        self._open += 1

    def leave(self, peer: Peer) -> None:
        """A connection has ended."""
        self._drop(peer)
        peer.busy = _idle  # nothing is kept by what it knew about its requests
        self._open -= 1
        self._addresses[peer.address] -= 1
        if not self._addresses[peer.address]:
            del self._addresses[peer.address]

    def identified(self, peer: Peer, user: UserInfo) -> None:
        """Credentials were shown on a connection, for the first time or others than before."""
        if peer.user == user.name:
            return
        self._drop(peer)
        peer.user = user.name
        self._known.setdefault(user.name, {})[peer] = None

    def make_descriptor(self) -> None:
        """Give up a connection because the process has no file descriptor left."""
        self._make_room("descriptors", self._all(), None)

    def statistics(self) -> ConnectionStatistics:
        """Numbers for metrics."""
        known = sum(map(len, self._known.values()))
        return ConnectionStatistics(len(self._strangers), known, dict(self._closed))

    def _drop(self, peer: Peer) -> None:
        self._strangers.pop(peer, None)
        others = self._known.get(peer.user)
        if others is not None:
            others.pop(peer, None)
            if not others:
                del self._known[peer.user]

    def _all(self) -> Iterable[Peer]:
        """Every connection: strangers first, then those of the users who have most."""
        yield from tuple(self._strangers)
        for peers in sorted(self._known.values(), key=len, reverse=True):
            yield from tuple(peers)

    def _make_room(self, reason: str, candidates: Iterable[Peer], new: Peer | None) -> None:
        """End the first idle connection, else any stranger's, else the new one."""
        chosen = new
        for peer in candidates:
            if not peer.busy():
                chosen = peer
                break
            if chosen is new and not peer.user:
                chosen = peer
        self._count(reason)
        if chosen is not None:
            chosen.scope.cancel()
            self._drop(chosen)  # it is not ended a second time

    def _count(self, reason: str) -> None:
        self._closed[reason] += 1
        self._unlogged[reason] += 1
        now = trio.current_time()
        if now >= self._log_after:
            self._log_after = now + LOG_INTERVAL_S
            log.warning(
                "too many connections: some were closed",
                open=len(self),
                unauthenticated=len(self._strangers),
                closed=dict(self._unlogged),
            )
            self._unlogged.clear()
