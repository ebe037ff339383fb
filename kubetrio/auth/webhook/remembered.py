"""Answers of a webhook that are remembered for a while, bounded in number and bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from kubetrio.auth.webhook.review import Status

MOST_ANSWERS = 8192
MOST_BYTES = 32 * 1024 * 1024
ENTRY_BYTES = 300  # of an entry beside its texts


class Remembered:
    """Answers by question; the one that was not asked for the longest goes first.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._answers: OrderedDict[bytes, tuple[Status, float]] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: bytes) -> Status | None:
        """An answer that still holds, or None."""
        entry = self._answers.get(key)
        if entry is None:
            return None
        status, until = entry
        if self._clock() >= until:
            self._drop(key)
            return None
        self._answers.move_to_end(key)
        return status

    def put(self, key: bytes, status: Status, life_s: float) -> None:
        """Remember an answer.

        Args:
            key: the question.
            status: the answer.
            life_s: for how many seconds; not at all for none.
        """
        if key in self._answers:
            self._drop(key)
        if life_s <= 0:
            return
        self._answers[key] = (status, self._clock() + life_s)
        self.bytes += _size(key, status)
        while len(self._answers) > MOST_ANSWERS or self.bytes > MOST_BYTES:
            self._drop(next(iter(self._answers)))

    def _drop(self, key: bytes) -> None:
        status, _ = self._answers.pop(key)
        self.bytes -= _size(key, status)


def _size(key: bytes, status: Status) -> int:
    return ENTRY_BYTES + len(key) + 4 * len(status.reason)
