"""How often requests were authorized, and how long that took.

Source: k8s.io/apiserver/pkg/endpoints/filters/metrics.go for names, labels and buckets.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubetrio.machinery.identity import Decision, Verdict
from kubetrio.observe import prometheus
from kubetrio.observe.series import Histogram, Labels, counter, exponential, histograms

BUCKETS = exponential(0.001, 2, 15)
ALLOWED, DENIED, NO_OPINION, ERROR = "allowed", "denied", "no-opinion", "error"
_WORDS = {Decision.DENY: DENIED, Decision.NO_OPINION: NO_OPINION}


class Authorizations:
    """Counts of one server.

    Attributes:
        at_once: requests of those who may do everything, which nothing was asked about.
        allowed: times of others that were allowed.
    """

    __slots__ = ("_refused", "allowed", "at_once")

    def __init__(self) -> None:
        self.at_once = 0
        self.allowed = Histogram(BUCKETS)
        self._refused: dict[str, Histogram] = {}

    def refused(self, verdict: Verdict, seconds: float) -> None:
        """Count a request that was not allowed."""
        word = ERROR if verdict.error else _WORDS.get(verdict.decision, DENIED)
        self._refused.setdefault(word, Histogram(BUCKETS)).observe(seconds)

    def families(self) -> Iterator[prometheus.Metric]:
        """What a scrape shows."""
        allowed = Histogram(BUCKETS)
        allowed.add(self.allowed)
        allowed.observe(0.0, self.at_once)
        rows: dict[Labels, Histogram] = {(ALLOWED,): allowed}
        rows |= {(word,): one for word, one in self._refused.items()}
        attempts: dict[Labels, float] = {labels: sum(one.counts) for labels, one in rows.items()}
        labels = ("result",)
        text = "Authorization of requests, by its result."
        yield from counter("authorization_attempts_total", text, labels, attempts)
        yield from histograms("authorization_duration_seconds", f"Seconds. {text}", labels, rows)
