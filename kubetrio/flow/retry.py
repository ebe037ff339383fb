"""How long a refused client should stay away: ``Retry-After`` of one level.

Grows fast and shrinks slowly, as TCP's window does the other way round: while many requests are
dropped the value doubles, at most once per its own length; when few are, it falls by one.  Being
queued first, requests are dropped only in real overload, so the thresholds are low.
"""

from __future__ import annotations

from collections import deque

INITIAL_S = 1
MAXIMUM_S = 32


class RetryAfter:
    """Counts refused requests by whole second and derives the delay, 1 to 32 seconds."""

    __slots__ = ("_drops", "_raised_at", "_second", "_this_second", "seconds")

    def __init__(self) -> None:
        self.seconds = INITIAL_S
        self._drops: deque[tuple[int, int]] = deque()  # (second, requests dropped), ended ones
        self._second: int | None = None
        self._this_second = 0
        self._raised_at: int | None = None

    def dropped(self, t: float) -> int:
        """Count one refused request.

        Args:
            t: now, in seconds.

        Returns:
            The delay to announce, in seconds.  It changes only with the first refusal of a
            second, judging by the seconds that ended before.
        """
        second = int(t)
        if second == self._second:
            self._this_second += 1
            return self.seconds
        if self._second is not None:
            self._drops.append((self._second, self._this_second))
        self._second = second
        self._this_second = 1
        while self._drops and second - self._drops[0][0] > MAXIMUM_S:
            self._drops.popleft()
        self._adapt(second)
        return self.seconds

    def _adapt(self, second: int) -> None:
        window = self.seconds
        recent = sum(count for at, count in self._drops if second - window <= at < second)
        rested = self._raised_at is None or second - self._raised_at >= window
        if rested and recent >= 3 * window:
            self.seconds = min(2 * window, MAXIMUM_S)
            self._raised_at = second
        elif recent < window and window > INITIAL_S:
            self.seconds = window - 1
