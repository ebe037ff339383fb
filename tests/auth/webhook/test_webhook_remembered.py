"""Answers of webhooks that are remembered."""

from __future__ import annotations

from kubetrio.auth.webhook.remembered import MOST_ANSWERS, Remembered
from kubetrio.auth.webhook.review import Status


class Clock:
    """Seconds that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_remembered_answers_expire() -> None:
    """At once where they are not to be remembered."""
    clock = Clock()
    kept = Remembered(clock)
    kept.put(b"a", Status(allowed=True), 10.0)
    kept.put(b"b", Status(), 0.0)
    assert kept.get(b"b") is None
    clock.now = 9.9
    assert kept.get(b"a") == Status(allowed=True)
    clock.now = 10.0
    assert kept.get(b"a") is None
    assert (len(kept), kept.bytes) == (0, 0)


def test_remembered_answers_are_bounded() -> None:
    """In number, and in bytes where a webhook gives long reasons."""
    kept = Remembered(Clock())
    for number in range(MOST_ANSWERS + 10):
        kept.put(b"%d" % number, Status(), 10.0)
    assert len(kept) == MOST_ANSWERS
    assert kept.get(b"0") is None
    for number in range(100):
        kept.put(b"x%d" % number, Status(reason="y" * 500_000), 10.0)
    assert len(kept) < 30
