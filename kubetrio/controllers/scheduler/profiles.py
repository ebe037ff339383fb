"""Profiles of a scheduler: which plugins look at the pods that name it, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubetrio.controllers.scheduler.framework import Filter, Score
from kubetrio.controllers.scheduler.plugins.profile import FILTERS, SCORES
from kubetrio.controllers.scheduler.shapes import NAMED

ENOUGH = 100
"""Nodes that fit after which no more are looked for, where a share of all is not more."""
USUAL_SHARE = 5
"""That share in hundredths, where nothing is said: the least that kube-scheduler takes."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile.

    Args:
        name: by which pods name it (``spec.schedulerName``).
        filters: plugins that refuse nodes; of several reasons the first is told.
        scores: plugins that rate nodes.
        preempts: whether pods of lower priority go for others.
        share: nodes that fit after which no more are looked for, in hundredths of all; 0 for the
            usual.
        candidates: nodes that are tried for preemption, at least.
        candidate_share: the same in hundredths of all.
        frees_devices: whether devices of idle claims are taken back for others.
        names_nodes: whether only those nodes are looked at that a pod's affinity names, if it does.
    """

    name: str = NAMED
    filters: tuple[Filter, ...] = FILTERS
    scores: tuple[Score, ...] = SCORES
    preempts: bool = True
    share: int = 0
    candidates: int = 100
    candidate_share: int = 10
    frees_devices: bool = True
    names_nodes: bool = True

    def enough(self, count: int) -> int:
        """How many nodes that fit are enough, of so many."""
        return max(ENOUGH, count * (self.share or USUAL_SHARE) // 100)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The profiles of a scheduler, and its back-offs.

    Args:
        profiles: by name.
        first_backoff_s: how long a pod waits that was tried once, in seconds.
        longest_backoff_s: how long at most.
    """

    profiles: Mapping[str, Profile] = field(default_factory=lambda: {NAMED: Profile()})
    first_backoff_s: float = 1.0
    longest_backoff_s: float = 10.0
