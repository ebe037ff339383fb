"""What an HTTP/1.1 connection may take, and how long."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

import trio

from kubetrio.api.routing import passes_upgrades


class Phase(enum.Enum):
    """What a connection is doing, for the sweeper and for shutdown."""

    IDLE = "waiting for a request"
    HEAD = "reading a head"
    BODY = "reading a body"
    SERVING = "serving"
    WRITING = "writing"
    STREAMING = "streaming"


BUSY = frozenset({Phase.SERVING, Phase.WRITING, Phase.STREAMING})
"""Phases in which a request is being served."""


@dataclass(frozen=True, slots=True, kw_only=True)
class H1Config:
    """Limits of a connection.

    Args:
        max_head_bytes: request line and headers.
        max_body_bytes: request body.
        idle_timeout_s: seconds a connection may wait for its next request.
        head_timeout_s: seconds for a request head.
        write_timeout_s: seconds without progress in a response.
        tunnels: whether an upgrade is for a backend behind the server, by method and path.
    """

    max_head_bytes: int = 128 * 1024
    max_body_bytes: int = 3 * 1024 * 1024
    idle_timeout_s: float = 300.0
    head_timeout_s: float = 32.0
    write_timeout_s: float = 30.0
    tunnels: Callable[[str, str], bool] = passes_upgrades

    def limit(self, phase: Phase) -> float:
        """Seconds a phase may last without progress."""
        match phase:
            case Phase.IDLE:
                return self.idle_timeout_s
            case Phase.HEAD:
                return self.head_timeout_s
            case Phase.WRITING:
                return self.write_timeout_s
            case _:
                return float("inf")


class SweepClock:
    """Trio's time as of the last sweep: close enough for time-outs, and free to read."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = trio.current_time()

    def tick(self) -> float:
        """Move to the current time."""
        self.now = trio.current_time()
        return self.now
