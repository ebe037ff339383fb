"""A webhook server over TLS beside a whole server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kubetrio.auth.issuing import TokenIssuer
from kubetrio.env import Env
from kubetrio.testing.client import Client
from kubetrio.testing.hooks import HookServer, open_hook
from kubetrio.testing.server import InProcess, open_api
from kubetrio.tls import pki
from kubetrio.tls.pki import Pki


@pytest.fixture
async def hook(certificates: pki.Pki) -> AsyncIterator[HookServer]:
    """A webhook that listens on 127.0.0.1; it allows everything."""
    async with open_hook(certificates) as running:
        yield running


@pytest.fixture
async def real(certificates: Pki) -> AsyncIterator[InProcess]:
    """A server whose calls go out to sockets; its own clients are in memory."""
    async with open_api(env=Env(), issuer=TokenIssuer(certificates.sa_key)) as running:
        yield running


@pytest.fixture
async def asking(real: InProcess) -> AsyncIterator[Client]:
    """An administrator of that server."""
    async with real.connect() as client:
        yield client
