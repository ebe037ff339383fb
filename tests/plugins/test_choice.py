"""Plugins that flags switch off, on a whole server."""

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


async def test_plugins_can_be_switched_off(tmp_path: Path) -> None:
    """What they add is not added then, what they refuse is taken."""
    off = ("DefaultTolerationSeconds,Priority", "NamespaceLifecycle")
    async with chosen(tmp_path, disable_plugins=off) as client:
        spec = (await client.request("POST", PODS, json=POD)).json()["spec"]
        assert "tolerations" not in spec
        assert "priority" not in spec
        gone = await client.request("DELETE", "/api/v1/namespaces/kube-public")
        assert gone.status == 200
