"""How often addresses and node ports were given to Services, as metrics.

Source: pkg/registry/core/service/ipallocator/metrics.go and .../portallocator/metrics.go of
Kubernetes for names, labels and buckets.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kubetrio.observe import prometheus
from kubetrio.observe.series import Counts

STATIC, DYNAMIC = "static", "dynamic"
"""What was asked for, and what the server chose."""


class AllocationCounts:
    """Counts of one allocator.

    Args:
        what: ``clusterip`` or ``nodeport``.
        labels: names of labels that tell where it is allocated.
    """

    def __init__(self, what: str, *labels: str) -> None:
        prefix, labels = f"kube_apiserver_{what}_allocator_allocation", (*labels, "scope")
        self._made = Counts(f"{prefix}_total", "Values that Services got.", *labels)
        self._failed = Counts(f"{prefix}_errors_total", "Values that could not be had.", *labels)

    @contextmanager
    def counted(self, scope: str, *labels: str) -> Iterator[None]:
        """Count one allocation, done in the block.

        Args:
            scope: `STATIC` or `DYNAMIC`.
            labels: where.
        """
        try:
            yield
        except Exception:
            self._failed[*labels, scope] += 1
            raise
        self._made[*labels, scope] += 1

    def families(self) -> Iterator[prometheus.Metric]:
        """What a scrape shows."""
        yield from self._made.families()
        yield from self._failed.families()
