"""What plugins have in common."""

from __future__ import annotations

from kubetrio.controllers.scheduler.framework import normalized


def test_counts_become_ratings() -> None:
    """From 0 to 100; where all are 0, they are as good as can be, or as bad."""
    assert normalized([0, 1, 3]) == [0, 33, 100]
    assert normalized([0, 1, 3], reverse=True) == [100, 67, 0]
    assert normalized([0, 0]) == [0, 0]
    assert normalized([0, 0], reverse=True) == [100, 100]
    assert normalized([]) == []
