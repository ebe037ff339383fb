"""How long pods stay on failing nodes, by flags."""

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


async def test_how_long_pods_stay_on_failing_nodes(tmp_path: Path) -> None:
    """Both times are flags."""
    times = {"not_ready_toleration_s": 30, "unreachable_toleration_s": -1}
    async with chosen(tmp_path, **times) as client:
        spec = (await client.request("POST", PODS, json=POD)).json()["spec"]
        seconds = {each["key"]: each["tolerationSeconds"] for each in spec["tolerations"]}
        assert seconds == {
            "node.kubernetes.io/not-ready": 30,
            "node.kubernetes.io/unreachable": -1,
        }
