"""Servers whose flags choose admission plugins."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from kubetrio.config import Admission, Config, Serving
from kubetrio.testing.client import Client
from kubetrio.testing.server import ACCOUNTS, open_api


@asynccontextmanager
async def chosen(directory: Path, **flags: Any) -> AsyncIterator[Client]:
    """A client of a server with these flags."""
    off = (*ACCOUNTS, *flags.pop("disable_plugins", ()))
    config = Config(
        data_dir=directory,
        serving=Serving(secure_port=6443),
        admission=Admission(disable_plugins=off, **flags),
    )
    async with open_api(config=config) as server, server.connect() as client:
        yield client
