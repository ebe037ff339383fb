"""The fixture `world`: a store, and the writes of objects on it."""

from __future__ import annotations

import pytest

from .world import World


@pytest.fixture
def world() -> World:
    """An empty store."""
    return World()
