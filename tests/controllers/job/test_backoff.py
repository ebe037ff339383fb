"""How long a Job waits after failures."""

from __future__ import annotations

import pytest

from kubetrio.controllers.job.backoff import Backoff, remaining_s
from kubetrio.controllers.podcontrol.view import Pod, view_of


def pod(ended: float) -> Pod:
    """A pod that ended."""
    return view_of({"metadata": {"name": "p"}})._replace(ended=ended)


@pytest.mark.parametrize(
    ("failures", "wait_s"), [(0, 0), (1, 10), (2, 20), (3, 40), (6, 320), (7, 600), (99, 600)]
)
def test_waits_double(failures: int, wait_s: float) -> None:
    """Up to ten minutes."""
    assert remaining_s(failures, 1000, 1000) == wait_s
    assert remaining_s(failures, 1000, 1004) == max(wait_s - 4, 0)
    assert remaining_s(failures, 1000, 9999) == 0


@pytest.mark.parametrize(
    ("succeeded", "failed", "found"),
    [
        ([], [], Backoff(2, 50)),
        ([], [70, 60], Backoff(4, 70)),
        ([60], [], Backoff()),
        ([60], [55, 70, 65], Backoff(2, 70)),
        ([60], [60], Backoff()),
    ],
)
def test_a_success_forgets_failures_before_it(
    succeeded: list[float], failed: list[float], found: Backoff
) -> None:
    """Those after it count."""
    before = Backoff(2, 50)
    assert before.after([pod(one) for one in succeeded], [pod(one) for one in failed]) == found
    assert Backoff(1, 50).left_s(52) == 8
