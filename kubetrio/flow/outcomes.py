"""What flow control answers: frozen values, of one level's queues and of all levels."""

from __future__ import annotations

from dataclasses import dataclass

from kubetrio.flow.ticket import Reason, Ticket

Started = tuple[Ticket, ...]
"""Requests that run now, in the order in which they should."""


# ---------------------------------------------------------------- of one level


@dataclass(frozen=True, slots=True)
class Rejected:
    """The request was refused at once."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Finished:
    """What follows from the end of a request.

    Args:
        started: requests that run now, in the order in which they should.
        lingers_until: when the seats of the finished request fall free, in seconds; None if
            they are free already.
    """

    started: Started
    lingers_until: float | None


# ---------------------------------------------------------------- of all levels


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request was refused.

    Args:
        reason: why.
        retry_after_s: for the ``Retry-After`` header, in seconds.
    """

    reason: Reason
    retry_after_s: int


@dataclass(frozen=True, slots=True)
class Abandoned:
    """A waiting request left.

    Args:
        started: requests that run now.
        retry_after_s: for the ``Retry-After`` header of its refusal, in seconds.
    """

    started: Started
    retry_after_s: int


@dataclass(frozen=True, slots=True)
class Reconfigured:
    """The configuration changed.

    Args:
        started: requests that run now.
        dangling: names of the schemas whose level is not among the levels given.
    """

    started: Started
    dangling: frozenset[str]


@dataclass(frozen=True, slots=True)
class Round:
    """What ``dispatch`` started.

    Args:
        started: requests that run now, in order.
        more: whether more wait that may find seats when asked again.
    """

    started: Started
    more: bool
