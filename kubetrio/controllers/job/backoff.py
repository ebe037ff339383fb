"""How long a Job waits after pods failed before it makes new ones.

Source: k8s.io/kubernetes/pkg/controller/job (``backoff_utils.go``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kubetrio.controllers.podcontrol.view import Pod

FIRST_S, LONGEST_S = 10.0, 600.0


class Backoff(NamedTuple):
    """Failures of a Job since its last success.

    Args:
        failures: how many.
        last: when the last was, in seconds.
    """

    failures: int = 0
    last: float = 0.0

    def after(self, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> Backoff:
        """The failures when these pods ended too.

        Args:
            succeeded: pods that were not counted before.
            failed: the same.
        """
        if not succeeded and not failed:
            return self
        if not succeeded:
            return Backoff(self.failures + len(failed), max(pod.ended for pod in failed))
        success = max(pod.ended for pod in succeeded)
        later = [pod.ended for pod in failed if pod.ended > success]
        return Backoff(len(later), max(later, default=0.0))

    def left_s(self, now: float) -> float:
        """Seconds to wait from now on, the wall clock in seconds."""
        return remaining_s(self.failures, self.last, now)


def remaining_s(failures: int, last: float, now: float) -> float:
    """Seconds to wait after failures, each wait twice as long.

    Args:
        failures: how many in a row.
        last: when the last was, in seconds.
        now: wall clock, in seconds.
    """
    if failures == 0:
        return 0.0
    wait = min(FIRST_S * 2.0 ** min(failures - 1, 10), LONGEST_S)
    return max(wait - (now - last), 0.0)
