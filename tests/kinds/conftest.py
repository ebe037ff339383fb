"""A server that serves a kind that is not built in."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess
from kubetrio.testing.widgets import widgets


@pytest.fixture
async def made(server: InProcess) -> AsyncIterator[Client]:
    """An administrator of a server that serves widgets."""
    server.api.storage.registry.add(widgets())
    async with server.connect() as client:
        yield client
