"""A seed and a script decide every byte."""

from __future__ import annotations

import trio
import trio.testing

from kubetrio.testing.client import converse, encode_request
from kubetrio.testing.server import open_api

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
JSON = {"Content-Type": "application/json"}
SCRIPT = [
    encode_request("POST", CONFIGMAPS, JSON, b'{"metadata":{"generateName":"a-"}}'),
    encode_request("POST", CONFIGMAPS, JSON, b'{"metadata":{"name":"b"},"data":{"x":"y"}}'),
    encode_request("PUT", CONFIGMAPS + "/b", JSON, b'{"metadata":{"name":"b"}}'),
    encode_request("GET", CONFIGMAPS),
    encode_request("GET", CONFIGMAPS + "?watch=1&timeoutSeconds=30&resourceVersion=5"),
]
LATER = [
    encode_request("POST", "/api/v1/namespaces", JSON, b'{"metadata":{"generateName":"n-"}}'),
    encode_request("DELETE", CONFIGMAPS + "/b"),
    encode_request("GET", "/api/v1/namespaces/default/events"),
    encode_request("GET", "/healthz"),
]


def heard(seed: int) -> bytes:
    """Every byte that a new server answers, its clock jumping over waits."""

    async def main() -> bytes:
        async with open_api(seed=seed) as server:
            first = await converse_to_the_end(server.api.handle, server.env)
            return first + await converse(server.api.handle, server.env, LATER)

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def converse_to_the_end(handle: object, env: object) -> bytes:
    """The script, and the wait for its watch to time out."""
    from kubetrio.testing.client import connect

    parts = []
    async with connect(handle, env) as client:  # type: ignore[arg-type]
        for raw in SCRIPT:
            await client.send(raw)
            head = await client.head()
            parts += [repr(head).encode(), await client.body(head)]
    return b"".join(parts)


def test_the_same_seed_gives_the_same_bytes() -> None:
    """Bodies, identities, times and headers of two runs."""
    first = heard(7)
    assert first.count(b"HTTP/1.1 200") >= 3
    assert heard(7) == first


def test_another_seed_gives_other_identities() -> None:
    """Randomness comes from the seed, not from nowhere."""
    assert heard(7) != heard(8)
