"""A sample has what the server counts."""

from __future__ import annotations

from kubetrio.server.sampling import resident_bytes, sampler, written_bytes
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess


async def test_a_sample_counts_requests_writes_and_refusals(
    server: InProcess, client: Client
) -> None:
    """Of watches only how many are open."""
    edge, store = server.api.edge, server.api.storage.store
    read = sampler(edge.metrics, store, lambda: 7.0)
    before = read()
    body = b'{"metadata": {"name": "a"}}'
    await client.request("POST", "/api/v1/namespaces/default/configmaps", body=body)
    await client.request("GET", "/api/v1/namespaces/default/configmaps/a")
    after = read()
    assert after.time == 7.0
    assert after.requests - before.requests == 2
    assert after.revision - before.revision == 1
    assert after.slowest > 0
    assert after.watches == after.refused == 0
    assert after.size > 0


def test_numbers_of_the_process() -> None:
    """More than a megabyte of memory; bytes written never fall."""
    assert resident_bytes() > 1 << 20
    assert written_bytes() <= written_bytes()
