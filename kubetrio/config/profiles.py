"""Profiles: sets of defaults for a kind of machine.

What is given stands: a profile changes what would have its default.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kubetrio.config.flag import values
from kubetrio.config.root import Config

_MIB = 1024 * 1024

PROFILES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "edge": {
        "storage.journal_bytes": 4 * _MIB,
        "storage.quota_backend_bytes": 64 * _MIB,
        "storage.history_window_s": 60.0,
        "storage.compact_interval_s": 600.0,
        "storage.event_ttl_s": 600.0,
        "storage.lease_renew_s": 0.0,
        "storage.held_back_s": 30.0,
        "memory.cache_bytes": 4 * _MIB,
        "memory.limit_bytes": 128 * _MIB,
        "serving.max_connections": 128,
        "flowcontrol.max_requests_inflight": 40,
        "flowcontrol.max_mutating_requests_inflight": 20,
    },
}
"""Values by the path of their field."""


def edge(config: Config) -> Config:
    """A configuration for a small device: little memory, few bytes on flash, bounded history.

    Args:
        config: what differs from its defaults stays.
    """
    changed: dict[str, dict[str, Any]] = defaultdict(dict)
    profile = PROFILES["edge"]
    for row, value in values(config):
        if row.path in profile and value == row.default:
            changed[row.section][row.field] = profile[row.path]
    sections = {name: replace(getattr(config, name), **fields) for name, fields in changed.items()}
    return replace(config, **sections)
