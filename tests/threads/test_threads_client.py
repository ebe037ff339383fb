"""The client of a server in a thread: each call waits, and watches come event by event."""

from __future__ import annotations

import pytest
import trio

from kubetrio.client import WrongThreadError
from kubetrio.config import Config
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.threads import in_thread


def config_map(name: str) -> dict[str, object]:
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def test_a_client_that_waits(config: Config) -> None:
    """What a call raises arrives as it is, and users are others'."""
    with in_thread(config) as server:
        client = server.client()
        maps = client.kind("v1", "ConfigMap")
        with client.watch(maps, "default", timeout_s=60) as events:
            client.create(config_map("a"))
            client.delete(maps, "a", "default")
            seen = []
            for event in events:
                seen.append(event.type)
                if event.type == "DELETED":
                    break
        assert seen[-2:] == ["ADDED", "DELETED"]
        with pytest.raises(ApiError, match="not found"):
            client.get(maps, "a", "default")
        with pytest.raises(ApiError) as caught:
            client.as_user(UserInfo("alice")).list(maps)
        assert caught.value.code == 403
        with pytest.raises(ApiError), client.watch(maps, resource_version="x"):
            raise AssertionError("it is refused")
        server.settled()


def test_the_servers_own_client_is_refused_in_other_runs(config: Config) -> None:
    """Another Trio run is as wrong as none."""
    with in_thread(config) as server:
        client = server.server.client()
        maps = client.kind("v1", "ConfigMap")
        with pytest.raises(WrongThreadError):
            trio.run(client.list, maps)
        assert server.call(client.list, maps).items


def test_a_client_that_waits_is_refused_in_the_run_it_waits_for(config: Config) -> None:
    """It would wait for ever; nothing is sent."""
    with in_thread(config) as server:
        client = server.client()

        async def create() -> object:
            return client.create(config_map("a"))

        with pytest.raises(WrongThreadError, match=r"handle\.server\.client\(\) there"):
            server.call(create)
        assert client.list(client.kind("v1", "ConfigMap"), "default").items[1:] == []
