"""What a stopped server has left is read, and written by nobody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from kubetrio.api.request import Request, by_name
from kubetrio.cli.kept import open_kept
from kubetrio.config import Config, Local
from kubetrio.env import Env
from kubetrio.server import open_server

pytestmark = pytest.mark.e2e


async def test_a_copy_is_served_read_only(tmp_path: Path) -> None:
    """Objects, their history, and 403 for what would write; the directory stays as it is.

    What the server over the copy writes at its start is not told.
    """
    data = tmp_path / "data"
    config = Config(data_dir=data, local=Local(secure_serving=False))
    async with open_server(config) as server:
        made = {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "left", "namespace": "default"}, "data": {"k": "v"},
        }  # fmt: skip
        await server.client().create(made)
    before = (data / "kubetrio.db").read_bytes()
    with trio.fail_after(60):
        async with open_kept(data, None, Env()) as handle:

            async def ask(method: str, path: str) -> Any:
                headers = [(b"host", b"x"), (b"authorization", b"Bearer whatever")]
                return await handle(Request(method, path, "", by_name(headers), headers))

            maps = "/api/v1/namespaces/default/configmaps/left"
            assert b'"k":"v"' in (await ask("GET", maps)).body
            assert b'"verb":"create"' in (await ask("GET", f"/ui/history{maps}")).body
            about = json.loads((await ask("GET", "/ui/about")).body)
            assert "as a server has left it" in about["kept"]
            told = json.loads((await ask("GET", "/ui/history/")).body)
            assert told["items"][0]["revision"] == told["revision"] == about["at"]
            lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
            (now,) = json.loads((await ask("GET", lease)).body)["items"]
            own = f"/ui/history{lease}/{now['metadata']['name']}"
            past = json.loads((await ask("GET", own)).body)["items"]
            assert all(one["revision"] <= about["at"] for one in past)
            for method in ("DELETE", "PUT", "PATCH", "POST"):
                assert (await ask(method, maps)).status in (403, 405)
    assert (data / "kubetrio.db").read_bytes() == before
