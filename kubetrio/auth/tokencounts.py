"""How often tokens of service accounts were used, by their sort.

Source: ``pkg/serviceaccount/metrics.go`` of Kubernetes for names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kubetrio.observe import prometheus

VALID, STALE = "valid_tokens", "stale_tokens"
LEGACY = "legacy_tokens"
MANUAL, AUTOMATIC = "legacy_manual_token_uses", "legacy_auto_token_uses"
INVALID = "invalid_legacy_auto_token_uses"
TEXTS = {
    VALID: "Valid projected tokens of service accounts that were used.",
    STALE: "Projected tokens of service accounts that their clients should have replaced.",
    LEGACY: "Tokens of service accounts without audiences that were used.",
    MANUAL: "Tokens in Secrets made by hand that were used.",
    AUTOMATIC: "Tokens in Secrets made by a controller that were used.",
    INVALID: "Uses of tokens in Secrets that are marked as invalid.",
}


class TokenCounts:
    """Counts of one server."""

    def __init__(self) -> None:
        self._uses: Counter[str] = Counter()

    def used(self, sort: str) -> None:
        """A token of a sort was used."""
        self._uses[sort] += 1

    def families(self) -> Iterable[prometheus.Metric]:
        """The counts as metrics."""
        return [
            prometheus.CounterMetricFamily(f"serviceaccount_{name}", text, value=self._uses[name])
            for name, text in TEXTS.items()
        ]
