"""Request bodies that are still on their way: meanwhile their requests have no seat.

A seat is for work, and a client that sends one byte per second makes none.  So the seat is given
back while the body comes, and taken again before it is decoded.  Authorization comes first: the
body of a request that is refused is not read.  The bytes that the heads of such bodies announce
have a bound over all connections.  One user may have as much of it as is left for others: above
that the user's bodies wait for each other, unread and without a seat.  Where others have all of
it, a body is read with a seat.

Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches",
IEEE/ACM Transactions on Networking 6(2), 1998.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

import trio

MOST_BYTES = 64 * 1024 * 1024


@dataclass(slots=True, eq=False)
class BodyReservation:
    """Bytes that one body may take of the bound.

    Args:
        pending_bodies: where the bytes are counted.
        user: name of the sender.
        size: bytes.

    Attributes:
        taken: whether it is counted.
        decided: set when that is known.
    """

    pending_bodies: PendingBodies
    user: str
    size: int
    taken: bool = False
    decided: trio.Event = field(default_factory=trio.Event)

    async def wait(self) -> bool:
        """Wait until the bytes are free; False when they will not be."""
        if not self.decided.is_set():
            await self.decided.wait()
        return self.taken

    def leave(self) -> None:
        """Free the bytes; a second call does nothing."""
        self.pending_bodies.drop(self)


@dataclass(slots=True)
class PendingBodies:
    """Bodies of one server that come while their requests have no seat, and the bound of them.

    Args:
        most_bytes: for all of them.

    Attributes:
        held_bytes: what they have.
    """

    most_bytes: int = MOST_BYTES
    held_bytes: int = 0
    _held: Counter[str] = field(default_factory=Counter)
    _waiting: dict[str, deque[BodyReservation]] = field(default_factory=dict)

    def enter(self, user: str, size: int) -> BodyReservation | None:
        """Reserve bytes for a body, now or later; None when others have all of them.

        Args:
            user: name of the sender.
            size: bytes.
        """
        reservation = BodyReservation(self, user, size)
        if user not in self._waiting:
            if self._fits(reservation):
                self._take(reservation)
                return reservation
            if not self._held[user]:
                return None
        self._waiting.setdefault(user, deque()).append(reservation)
        return reservation

    def drop(self, reservation: BodyReservation) -> None:
        """See `BodyReservation.leave`."""
        user = reservation.user
        if not reservation.decided.is_set():
            self._waiting[user].remove(reservation)
            reservation.decided.set()
        elif reservation.taken:
            reservation.taken = False
            self.held_bytes -= reservation.size
            self._held[user] -= reservation.size
        else:
            return
        if not self._held[user]:
            del self._held[user]
        for each in tuple(self._waiting):
            self._move_up(each)

    def _fits(self, reservation: BodyReservation) -> bool:
        return self._held[reservation.user] + reservation.size <= self.most_bytes - self.held_bytes

    def _take(self, reservation: BodyReservation) -> None:
        reservation.taken = True
        self.held_bytes += reservation.size
        self._held[reservation.user] += reservation.size
        reservation.decided.set()

    def _move_up(self, user: str) -> None:
        """Start the bodies of a user that fit; let all go when none of theirs is under way."""
        queue = self._waiting[user]
        while queue and self._fits(queue[0]):
            self._take(queue.popleft())
        if queue and not self._held[user]:
            for reservation in queue:
                reservation.decided.set()
            queue.clear()
        if not queue:
            del self._waiting[user]
