"""How long rules of custom resources take to compile and to evaluate, as metrics.

The engine, and what it has compiled, belong to the process: servers in one process share these
numbers.

Source: k8s.io/apiserver/pkg/cel/metrics for names and buckets; only rules of schemas are counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubetrio.observe import prometheus
from kubetrio.observe.series import DEFAULT_BUCKETS, Histogram, histograms

COMPILATION = Histogram(DEFAULT_BUCKETS)
EVALUATION = Histogram(DEFAULT_BUCKETS)


def families() -> Iterator[prometheus.Metric]:
    """What a scrape shows."""
    for name, text, times in (
        ("compilation", "Seconds to compile the rules of a schema.", COMPILATION),
        ("evaluation", "Seconds to evaluate the rules of a schema for an object.", EVALUATION),
    ):
        yield from histograms(f"apiserver_cel_{name}_duration_seconds", text, (), {(): times})
