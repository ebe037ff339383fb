"""Defaults of discovery.k8s.io."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import (
    Default,
    Rules,
    each,
)

TABLES: dict[str, Rules] = {
    "io.k8s.api.discovery.v1.EndpointSlice": (
        each("ports", Default("name", ""), Default("protocol", "TCP")),
    ),
}
