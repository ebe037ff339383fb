"""Flags of listening that say why a value is refused."""

from __future__ import annotations

import pytest

from kubetrio.config.flag import ConfigError
from kubetrio.config.serving import Serving


def test_reconcilers_of_endpoints() -> None:
    """Leases are the default; counting addresses is refused, and the reason says what is used."""
    assert Serving().endpoint_reconciler == "lease"
    assert Serving(endpoint_reconciler="none").endpoint_reconciler == "none"
    with pytest.raises(ConfigError, match="servers use leases"):
        Serving(endpoint_reconciler="master-count")
    with pytest.raises(ConfigError, match="none of lease, none"):
        Serving(endpoint_reconciler="other")
