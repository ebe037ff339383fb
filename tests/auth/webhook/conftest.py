"""Webhooks."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kubetrio.env import Env
from kubetrio.outgoing.client import Outgoing


@pytest.fixture
async def outgoing() -> AsyncIterator[Outgoing]:
    """A client that is closed at the end."""
    made = Outgoing(Env())
    yield made
    await made.close()
