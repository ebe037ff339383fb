"""Calls in a server's thread, and its clock."""

from __future__ import annotations

import threading  # noqa: TID251  (who embeds a server has threads)
from typing import Any

import pytest
import trio

from kubetrio.machinery.status import ApiError
from kubetrio.threads import ServerThread

EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "default"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
}


def names(server: ServerThread, api_version: str, kind: str) -> list[str]:
    """Names of all objects of a kind."""

    async def ask() -> list[str]:
        client = server.server.client()
        found = await client.list(client.kind(api_version, kind))
        return [one["metadata"]["name"] for one in found.items]

    return server.call(ask)


def test_what_a_call_returns_and_raises_arrives_as_it_is(shared: ServerThread) -> None:
    """From the server's thread, under Trio."""

    async def where(number: int) -> tuple[int, str]:
        await trio.lowlevel.checkpoint()
        return number, threading.current_thread().name

    assert shared.call(where, 3) == (3, f"kubetrio {shared.config.name}")

    async def fails() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        shared.call(fails)
    client = shared.server.client()
    with pytest.raises(ApiError) as refused:
        shared.call(client.get, client.kind("v1", "Pod"), "none", "default")
    assert refused.value.code == 404


def test_the_clock_of_a_server_moves(shared: ServerThread) -> None:
    """What is written has the new time, and what has lived out its time is gone."""
    base = shared.snapshot()
    client = shared.server.client()
    shared.call(client.create, EVENT)
    shared.clock.move(seconds=3500)
    assert names(shared, "v1", "Event") == ["e"]
    shared.clock.move(seconds=200)
    assert names(shared, "v1", "Event") == []
    made = shared.call(client.create, EVENT)
    real = shared.server.api.edge.env.utcnow().isoformat()
    assert made["metadata"]["creationTimestamp"] > real
    shared.reset(base)
    made = shared.call(client.create, EVENT)
    assert made["metadata"]["creationTimestamp"][:10] == real[:10]
    shared.reset(base)
    assert names(shared, "v1", "Event") == []


def test_tokens_expire_when_the_clock_moves(shared: ServerThread) -> None:
    """Those of service accounts, asked for with a lifetime."""
    client = shared.server.client()
    spec = {"expirationSeconds": 600}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}

    async def token() -> str:
        made: dict[str, Any] = await client.create(
            {**body, "metadata": {"name": "default", "namespace": "default"}},
            subresource="token",
            name="default",
        )
        return str(made["status"]["token"])

    async def good(text: str) -> bool:
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "metadata": {},
            "spec": {"token": text},
        }
        made = await client.create(review)
        return bool(made["status"].get("authenticated"))

    base = shared.snapshot()
    text = shared.call(token)
    assert shared.call(good, text)
    shared.clock.move(seconds=500)
    assert shared.call(good, text)
    shared.clock.move(seconds=200)
    assert not shared.call(good, text)
    shared.reset(base)
