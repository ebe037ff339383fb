"""A server with another one behind it."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kubetrio.env import Env
from kubetrio.testing.aggregated import HOST, OtherServer, open_other
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess, open_api
from kubetrio.tls import pki


@pytest.fixture(scope="session")
def other_pki(tmp_path_factory: pytest.TempPathFactory) -> pki.Pki:
    """Certificates of another server."""
    folder: Path = tmp_path_factory.mktemp("other")
    return pki.ensure(folder, now=dt.datetime.now(dt.UTC), hosts=[HOST])


@pytest.fixture
async def other(other_pki: pki.Pki) -> AsyncIterator[OtherServer]:
    """Another server that listens on 127.0.0.1."""
    async with open_other(other_pki) as running:
        yield running


@pytest.fixture
async def front() -> AsyncIterator[InProcess]:
    """A server that does all that a server does, and whose calls go out to sockets."""
    env = Env()
    async with open_api(env=env, kept=True) as running:
        pki.ensure(running.config.pki_dir, now=env.utcnow(), hosts=[])
        yield running


@pytest.fixture
async def admin(front: InProcess) -> AsyncIterator[Client]:
    """An administrator of that server."""
    async with front.connect() as client:
        yield client
