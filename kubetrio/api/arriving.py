"""Request bodies that are still on their way: meanwhile their requests have no seat.

A seat is for work, and a client that sends a byte a second makes none.  So the seat is given back
while the body comes, and taken again before it is decoded; authorization came before, so that
nobody who may not has a body read.  Such bodies have a bound, of what their heads announce, over
all connections.  One user may have as much of it as is left for others: above that the user's
bodies wait for each other, unread and without a seat.  Who finds no room at all because others
have it reads with a seat.

Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches",
IEEE/ACM Transactions on Networking 6(2), 1998.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

import trio

MOST_BYTES = 64 * 1024 * 1024


@dataclass(slots=True, eq=False)
class Room:
    """What one body may take.

    Args:
        arrivals: whose room it is.
        user: who sends it.
        size: bytes.

    Attributes:
        taken: whether it is counted.
        decided: set when that is known.
    """

    arrivals: Arrivals
    user: str
    size: int
    taken: bool = False
    decided: trio.Event = field(default_factory=trio.Event)

    async def wait(self) -> bool:
        """Wait until there is room; False when there will be none."""
        if not self.decided.is_set():
            await self.decided.wait()
        return self.taken

    def leave(self) -> None:
        """The body is nobody's concern any more; once is enough, twice is fine."""
        self.arrivals.drop(self)


@dataclass(slots=True)
class Arrivals:
    """Room for the bodies of one server that come while their requests have no seat.

    Args:
        most_bytes: for all of them.

    Attributes:
        held_bytes: what they have.
    """

    most_bytes: int = MOST_BYTES
    held_bytes: int = 0
    _held: Counter[str] = field(default_factory=Counter)
    _waiting: dict[str, deque[Room]] = field(default_factory=dict)

    def enter(self, user: str, size: int) -> Room | None:
        """Room for a body, now or later; None when others have it all.

        Args:
            user: who sends it.
            size: bytes.
        """
        room = Room(self, user, size)
        if user not in self._waiting:
            if self._fits(room):
                self._take(room)
                return room
            if not self._held[user]:
                return None
        self._waiting.setdefault(user, deque()).append(room)
        return room

    def drop(self, room: Room) -> None:
        """See `Room.leave`."""
        user = room.user
        if not room.decided.is_set():
            self._waiting[user].remove(room)
            room.decided.set()
        elif room.taken:
            room.taken = False
            self.held_bytes -= room.size
            self._held[user] -= room.size
        else:
            return
        if not self._held[user]:
            del self._held[user]
        for each in tuple(self._waiting):
            self._move_up(each)

    def _fits(self, room: Room) -> bool:
        return self._held[room.user] + room.size <= self.most_bytes - self.held_bytes

    def _take(self, room: Room) -> None:
        room.taken = True
        self.held_bytes += room.size
        self._held[room.user] += room.size
        room.decided.set()

    def _move_up(self, user: str) -> None:
        """Give room to those of a user who wait; nothing of theirs comes to wait for: no more."""
        queue = self._waiting[user]
        while queue and self._fits(queue[0]):
            self._take(queue.popleft())
        if queue and not self._held[user]:
            for room in queue:
                room.decided.set()
            queue.clear()
        if not queue:
            del self._waiting[user]
