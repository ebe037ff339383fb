"""Requests parked at the gate: whose time is up, and whose client has left.

Nothing tells the gate that a client has left: its task waits for a seat, not for its socket.  So
parked requests are looked at every now and then, some at a time, since each costs a system call.
"""

from __future__ import annotations

from itertools import takewhile
from typing import NamedTuple

import trio

from kubetrio.flow.passages import Asked
from kubetrio.flow.ticket import Ticket

# How often parked requests are looked at, and how many at a time.
SWEEP_S = 0.5
SWEPT = 256
SWEEP_AGAIN_S = 0.02


class Parked(NamedTuple):
    """A request that waits: its task, and itself (a tuple: made for each under load)."""

    task: trio.lowlevel.Task
    asked: Asked


class ParkedRequests(dict[Ticket, Parked]):
    """Parked requests by ticket, the oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self._suspects: list[Ticket] = []  # to be asked whether their clients are there

    def due(self, now: float, patience_s: float) -> float:
        """Return when to look next; no request's time is up before.

        Args:
            now: by Trio's clock.
            patience_s: how long requests wait, in seconds.
        """
        for oldest in self.values():
            again = now + (SWEEP_AGAIN_S if self._suspects else SWEEP_S)
            return max(now, min(again, oldest.asked.started + patience_s))
        return now + patience_s

    def late(self, now: float, patience_s: float) -> list[Ticket]:
        """Return the requests whose time is up.

        Args:
            now: by Trio's clock.
            patience_s: how long requests wait, in seconds.
        """
        return [
            ticket
            for ticket, parked in takewhile(
                lambda item: now - item[1].asked.started >= patience_s, self.items()
            )
        ]

    def left(self, now: float) -> list[Ticket]:
        """Return those of the next few requests whose clients have left.

        Args:
            now: by Trio's clock.
        """
        if not self._suspects:
            self._suspects = list(self)
            self._suspects.reverse()  # the oldest first
        gone: list[Ticket] = []
        for _ in range(min(SWEPT, len(self._suspects))):
            ticket = self._suspects.pop()
            suspect = self.get(ticket)
            if suspect is None:
                continue
            asked = suspect.asked
            if now - asked.started < SWEEP_S:
                self._suspects.clear()  # those after it are younger
                break
            if asked.gone is not None and asked.gone():
                gone.append(ticket)
        return gone
