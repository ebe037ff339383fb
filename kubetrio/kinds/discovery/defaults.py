"""Defaults of discovery.k8s.io."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import (
    Default,
    Rules,
    each,
)

ENDPOINTSLICES: Rules = (each("ports", Default("name", ""), Default("protocol", "TCP")),)
