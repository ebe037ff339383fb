"""Defaults of the core group."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Rules
from kubetrio.kinds.core.defaults import cluster, pods, services

TABLES: dict[str, Rules] = {**pods.TABLES, **cluster.TABLES, **services.TABLES}
"""By full type name."""
