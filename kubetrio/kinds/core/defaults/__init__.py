"""Defaults of the core group."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Rules
from kubetrio.kinds.core.defaults import others, pods, services

TABLES: dict[str, Rules] = {**pods.TABLES, **others.TABLES, **services.TABLES}
"""By full type name."""
