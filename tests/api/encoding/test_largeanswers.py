"""Answers that are encoded: large objects beside the event loop, and the same bytes."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.api.encoding.listwriters import CollectedListWriter, Kept, StagedListWriter, Step
from kubetrio.api.offloop import INLINE_BYTES
from kubetrio.env import Env, run_inline, seeded
from kubetrio.resources.representation import ListMeta
from kubetrio.store.model import KeyValue
from kubetrio.testing.client import Client
from kubetrio.testing.server import open_api

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
YAML, PROTOBUF = "application/yaml", "application/vnd.kubernetes.protobuf"
ENCODED = [YAML, PROTOBUF, TABLE, METADATA, "application/json;pretty=1"]
LARGE = "x" * INLINE_BYTES


class Thread:
    """Stands for the thread; counts what it was given."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, fn: Callable[..., Any], *args: Any) -> Any:
        self.calls += 1
        return await run_inline(fn, *args)

    def env(self) -> Env:
        """An environment in which large bodies go here."""
        return dataclasses.replace(seeded(0), bodies=self)


async def make(client: Client, name: str, text: str) -> None:
    body = {"metadata": {"name": name, "labels": {"app": "web"}}, "data": {"a": text}}
    assert (await client.request("POST", CONFIGMAPS, json=body)).status == 201


@pytest.mark.parametrize("accept", ENCODED)
async def test_large_objects_are_encoded_beside_the_loop(accept: str) -> None:
    """In one step each; what is small stays."""
    thread = Thread()
    async with open_api(env=thread.env()) as server, server.connect() as client:
        await make(client, "large", LARGE)
        await make(client, "small", "x")
        for name, calls in [("large", 1), ("small", 0)]:
            thread.calls = 0
            headers = {"accept": accept}
            answer = await client.request("GET", f"{CONFIGMAPS}/{name}", headers=headers)
            assert answer.status == 200
            assert thread.calls == calls


async def test_stored_json_needs_no_thread() -> None:
    """It is not encoded, however large it is."""
    thread = Thread()
    async with open_api(env=thread.env()) as server, server.connect() as client:
        await make(client, "large", LARGE)
        thread.calls = 0
        assert (await client.request("GET", f"{CONFIGMAPS}/large")).status == 200
        assert (await client.request("GET", CONFIGMAPS)).status == 200
        assert thread.calls == 0


async def test_answers_to_writes_of_large_objects_are_encoded_there() -> None:
    """A small patch too is answered with all of the object."""
    thread = Thread()
    async with open_api(env=thread.env()) as server, server.connect() as client:
        await make(client, "large", LARGE)
        headers = {"content-type": "application/merge-patch+json"}
        calls = []
        for accept in ["application/json", YAML]:
            thread.calls = 0
            answer = await client.request(
                "PATCH",
                f"{CONFIGMAPS}/large",
                body=b'{"data":{"b":"1"}}',
                headers={**headers, "accept": accept},
            )
            assert answer.status == 200
            calls.append(thread.calls)
        assert calls[1] == calls[0] + 1


@pytest.mark.parametrize("accept", [*ENCODED[:3], METADATA.replace("Metadata", "MetadataList")])
@pytest.mark.parametrize("query", ["", "?limit=4", "?labelSelector=app%3Dweb"])
async def test_large_objects_of_lists_are_encoded_there(accept: str, query: str) -> None:
    """Each in a turn of its own, and the end of the list; small ones in front stay."""
    thread = Thread()
    async with open_api(env=thread.env()) as server, server.connect() as client:
        for name, text in [("a", "x"), ("b", LARGE), ("c", "x"), ("d", LARGE)]:
            await make(client, name, text)
        thread.calls = 0
        headers = {"accept": accept}
        answer = await client.request("GET", f"{CONFIGMAPS}{query}", headers=headers)
        assert answer.status == 200
        # Two objects and the end, which in protobuf is no work.
        assert thread.calls == (2 if accept == PROTOBUF else 3)


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
async def test_lists_with_large_objects_are_whole(verb: str) -> None:
    """Everything is there once and in order, over several pages."""
    names = [f"n{number:02d}" for number in range(30)]
    async with open_api() as server, server.connect() as client:
        for number, name in enumerate(names):
            await make(client, name, LARGE * 2 if number % 3 else "x")
        selected = f"{CONFIGMAPS}?labelSelector=app%3Dweb"
        answer = await client.request(verb, selected, headers={"accept": YAML})
        items = yaml.safe_load(answer.body)["items"]
        assert [item["metadata"]["name"] for item in items] == names
        assert [len(item["data"]["a"]) > 1 for item in items] == [bool(n % 3) for n in range(30)]


@given(st.lists(st.lists(st.binary(max_size=6), max_size=4), max_size=4))
def test_a_staged_list_is_the_same_list(slices: list[list[bytes]]) -> None:
    """Whatever is left to steps is written in order, and large objects by steps alone."""
    steps: deque[Step] = deque()
    inline: list[bytes] = []

    def encode(value: bytes) -> bytes:
        inline.append(value)
        return value

    inner = CollectedListWriter(Kept(encode, lambda _, items: b",".join(items)))
    writer = StagedListWriter(inner, steps, 3)
    out = writer.open(ListMeta(resource_version="1"))
    for some in slices:
        out += writer.items([KeyValue("k", value, 1, 1) for value in some])
    out += writer.close()
    assert all(len(value) <= 3 for value in inline)
    out += b"".join(step.write() for step in steps)
    assert out == b",".join(value for some in slices for value in some)
