"""KMS plugins."""

from __future__ import annotations

import pytest

from kubetrio.testing.kms import Plugin


@pytest.fixture
def plugin() -> Plugin:
    return Plugin()
