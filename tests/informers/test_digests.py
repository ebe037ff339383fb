"""What is kept of a collection is what is stored, whoever asks and whenever."""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.testing.server import InProcess

PREFIX = "/registry/configmaps/"


def size_of(value: bytes) -> int:
    """How many keys a ConfigMap has."""
    return len(orjson.loads(value).get("data") or ())


def config_map(name: str, **data: str) -> dict[str, Any]:
    """A ConfigMap."""
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


async def test_values_follow_what_is_stored(server: InProcess) -> None:
    """Each change is told with the value before; nothing is left of what is gone."""
    client, informers = server.client(), server.api.storage.informers
    kind = client.kind("v1", "ConfigMap")
    await client.create(config_map("a", x="1"))
    digests = informers.digests(PREFIX, size_of)
    told: list[tuple[str, int | None, int | None]] = []

    def note(namespace: str, name: str, old: int | None, new: int | None) -> None:
        if namespace == "default":
            told.append((name, old, new))

    digests.on_change(note)
    assert digests.get("default", "a") is None
    await digests.sync()
    assert digests.get("default", "a") == 1
    await client.create(config_map("b"))
    await client.update(config_map("a", x="1", y="2"))
    assert dict(digests.within("default")) == {"a": 2, "b": 0}
    await client.delete(kind, "a", "default")
    await client.delete(kind, "b", "default")
    assert not digests.within("default")
    assert told == [("a", None, 1), ("b", None, 0), ("a", 1, 2), ("a", 2, None), ("b", 0, None)]


async def test_one_function_has_one_collection(server: InProcess) -> None:
    """Who comes later is told of what there is."""
    informers = server.api.storage.informers
    digests = informers.digests(PREFIX, size_of)
    await digests.sync()
    await server.client().create(config_map("a", x="1"))
    again = informers.digests(PREFIX, size_of)
    assert again is digests
    assert informers.digests(PREFIX, len) is not digests
    found: list[str] = []
    again.on_change(lambda namespace, name, old, new: found.append(f"{namespace}/{name}"))
    assert "default/a" in found
    everywhere = {(namespace, name) for namespace, name, _ in digests.everywhere()}
    assert ("default", "a") in everywhere
    assert len(digests) == len(everywhere)
