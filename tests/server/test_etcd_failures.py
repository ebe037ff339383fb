"""A whole server on etcd that fails: what its clients are told, in kube-apiserver's words.

Source: kube-apiserver 1.36.2 on an etcd that is stopped and killed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
import trio
from trio.testing import MockClock

from kubetrio.resources.objects import restamp
from kubetrio.server.parts import Parts
from kubetrio.store.etcd.errors import Code
from kubetrio.testing.client import Client, encode_request
from kubetrio.testing.etcdmodel import CallError, EtcdModel, etcd_model
from kubetrio.testing.etcdstore import modelled
from kubetrio.testing.server import InProcess, in_memory, open_api

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
TOO_LATE = "Timeout: request did not complete within the allotted timeout"
LOST = "etcdserver: request timed out, possibly due to connection lost"


@asynccontextmanager
async def served(directory: Path) -> AsyncIterator[tuple[EtcdModel, InProcess, Client]]:
    """A server on a model, and a client of it."""
    async with etcd_model() as model, modelled(model, restamp) as store:

        @asynccontextmanager
        async def opened(*_: object) -> AsyncIterator[Any]:
            yield store

        parts = Parts(open_store=opened)
        async with (
            open_api(config=in_memory(directory), parts=parts) as server,
            server.connect() as client,
        ):
            yield model, server, client


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def told(status: Any) -> tuple[int, str | None, str]:
    """Code, reason and message of a Status."""
    return status["code"], status.get("reason"), status["message"]


async def test_an_etcd_that_is_silent(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Reads that promise freshness, and writes, time out; other reads are answered."""
    async with served(tmp_path) as (model, _, client):
        assert (await client.request("POST", CONFIGMAPS, json=config_map("a"))).status == 201
        for method, path, body in (
            ("GET", f"{CONFIGMAPS}/a", None),
            ("GET", CONFIGMAPS, None),
            ("POST", CONFIGMAPS, config_map("b")),
            ("DELETE", f"{CONFIGMAPS}/a", None),
        ):
            for call in ("Range", "Txn"):
                for _ in range(3):
                    model.fail(call, None)
            answer = await client.request(method, path, json=body)
            assert told(answer.json()) == (504, "Timeout", TOO_LATE)
            model.mend()
        model.held = True
        model.put(b"/t//registry/configmaps/default/other", b"")
        answer = await client.request("GET", CONFIGMAPS)
        code, reason, message = told(answer.json())
        assert (code, reason) == (504, "Timeout")
        assert "Too large resource version" in message
        answer = await client.request("GET", f"{CONFIGMAPS}?resourceVersion=0")
        assert "a" in [item["metadata"]["name"] for item in answer.json()["items"]]


async def test_a_write_whose_answer_is_lost(tmp_path: Path, autojump_clock: MockClock) -> None:
    """500 with etcd's words and no reason, whether or not it was made; it is not made twice."""
    async with served(tmp_path) as (model, _, client):
        for name, done in (("a", True), ("b", False)):
            model.fail("Txn", CallError(Code.UNAVAILABLE, LOST), done=done)
            answer = await client.request("POST", CONFIGMAPS, json=config_map(name))
            assert told(answer.json()) == (500, None, LOST)
            found = await client.request("GET", f"{CONFIGMAPS}/{name}")
            assert found.status == (200 if done else 404)


async def events_of(server: InProcess, query: str, taken: list[tuple[str, Any]]) -> None:
    """Watch until the stream ends; keep its events."""
    async with server.connect() as client:
        await client.send(encode_request("GET", f"{CONFIGMAPS}?watch=1&{query}"))
        await client.head()
        async for chunk in client.chunks():
            for line in chunk.splitlines():
                event = orjson.loads(line)
                taken.append((event["type"], event["object"]))


@pytest.mark.parametrize("begins", ["live", "later", "to come"])
async def test_watches_end_with_the_history_of_etcd(
    tmp_path: Path, autojump_clock: MockClock, begins: str
) -> None:
    """An etcd is restored: watches get 410, and the server goes on with what is there."""
    async with served(tmp_path) as (model, server, client):
        await client.request("POST", CONFIGMAPS, json=config_map("kept"))
        saved = model.save()
        lost = await client.request("POST", CONFIGMAPS, json=config_map("lost"))
        version = int(lost.json()["metadata"]["resourceVersion"])
        query = f"resourceVersion={version + 5 * (begins == 'to come')}"
        taken: list[tuple[str, Any]] = []
        async with trio.open_nursery() as nursery:
            if begins != "later":
                nursery.start_soon(events_of, server, query, taken)
                await trio.sleep(1)
            model.restore(saved)
            assert (await client.request("GET", f"{CONFIGMAPS}/lost")).status == 404
            assert (await client.request("GET", f"{CONFIGMAPS}/kept")).status == 200
            if begins == "later":
                nursery.start_soon(events_of, server, query, taken)
        [(kind, status)] = taken
        assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
        made = await client.request("POST", CONFIGMAPS, json=config_map("new"))
        assert made.status == 201
