"""AlwaysDeny on a whole server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from kubetrio.config import Admission, Config, Serving
from kubetrio.testing.client import Client
from kubetrio.testing.server import ACCOUNTS, open_api

PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


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


async def test_always_deny_denies(tmp_path: Path) -> None:
    """Every write of users, none of the server's own and no read."""
    async with chosen(tmp_path, enable_plugins=("AlwaysDeny",)) as client:
        answer = await client.request("POST", PODS, json=POD)
        assert (answer.status, answer.json()["message"]) == (
            403,
            'pods "p" is forbidden: admission control is denying all modifications',
        )
        gone = await client.request("DELETE", "/api/v1/namespaces/default/services/kubernetes")
        assert gone.status == 403
        assert (await client.request("GET", PODS)).status == 200
