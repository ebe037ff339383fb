"""Backends."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from dialling import Resolver


@pytest.fixture
async def names() -> None:
    """One name is known."""
    trio.socket.set_custom_hostname_resolver(Resolver())
