"""The client library of Prometheus, imported when metrics are asked for.

It brings an HTTP server and a mail parser with it: two megabytes, and a part of the start.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client import Counter, Gauge, Histogram, generate_latest
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
        Metric,
    )

    go_float: Callable[[float], str]
else:

    def __getattr__(name: str) -> Any:
        """See PEP 562."""
        import prometheus_client
        from prometheus_client import core, utils

        if name == "go_float":
            return utils.floatToGoString
        for module in (prometheus_client, core):
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(name)


def is_loaded() -> bool:
    """Whether it is there already."""
    return "prometheus_client.exposition" in sys.modules


def load() -> None:
    """Import it: blocking, for some tens of milliseconds."""
    import prometheus_client  # noqa: F401


__all__ = [
    "Counter",
    "CounterMetricFamily",
    "Gauge",
    "GaugeMetricFamily",
    "Histogram",
    "HistogramMetricFamily",
    "Metric",
    "generate_latest",
    "go_float",
    "is_loaded",
    "load",
]
