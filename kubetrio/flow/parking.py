"""Requests parked at the gate: whose time is up, and whose client has left.

Nothing tells the gate that a client has left: its task waits for a seat, not for its socket.  So
parked requests are looked at every now and then, some at a time, since each costs a system call.
"""

from __future__ import annotations

from itertools import takewhile
from typing import NamedTuple

import trio

from kubetrio.flow.ticket import Ticket
from kubetrio.flow.ticketless import Request

# How often parked requests are looked at, and how many at a time.
SWEEP_S = 0.5
SWEPT = 256
SWEEP_AGAIN_S = 0.02


class Parked(NamedTuple):
    """A request that waits: its task, and itself (a tuple: made for each under load)."""

    task: trio.lowlevel.Task
    request: Request


class ParkedRequests(dict[Ticket, Parked]):
    """Parked requests by ticket, the oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self._to_probe: list[Ticket] = []  # to be asked whether their clients are there

    def due(self, now: float, patience_s: float) -> float:
        """Return when to look next; no request's time is up before.

        Args:
            now: by Trio's clock.
            patience_s: how long requests wait, in seconds.
        """
        for oldest in self.values():
            again = now + (SWEEP_AGAIN_S if self._to_probe else SWEEP_S)
            return max(now, min(again, oldest.request.started + patience_s))
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
                lambda item: now - item[1].request.started >= patience_s, self.items()
            )
        ]

    def left(self, now: float) -> list[Ticket]:
        """Return those of the next few requests whose clients have left.

        Args:
            now: by Trio's clock.
        """
        if not self._to_probe:
            self._to_probe = list(self)
            self._to_probe.reverse()  # the oldest first
        gone: list[Ticket] = []
        for _ in range(min(SWEPT, len(self._to_probe))):
            ticket = self._to_probe.pop()
            parked = self.get(ticket)
            if parked is None:
                continue
            request = parked.request
            if now - request.started < SWEEP_S:
                self._to_probe.clear()  # those after it are younger
                break
            if request.gone is not None and request.gone():
                gone.append(ticket)
        return gone
