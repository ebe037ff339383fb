"""Health of the components beside this server, as they tell it themselves."""

from __future__ import annotations

import pytest

from kubetrio.api.proxy.probing import MAX_BYTES, probe
from kubetrio.testing.backend import ReceivedRequest, open_backend, tls_of
from kubetrio.tls.pki import Pki

from .cluster import Cluster


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, b"ok", (True, "ok")),
        (200, b"x" * (MAX_BYTES + 1), (True, "x" * MAX_BYTES)),
        (302, b"there", (None, "Probe terminated redirects, Response body: there")),
        (500, b"broken", (False, "HTTP probe failed with statuscode: 500")),
    ],
)
async def test_a_component_tells_how_it_is(
    cluster: Cluster,
    certificates: Pki,
    status: int,
    body: bytes,
    expected: tuple[bool | None, str],
) -> None:
    """Over TLS, with a certificate of any authority; a redirect leaves it open."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(status, body)

    async with open_backend(answer, tls_of(certificates, ask=False)) as component:
        assert await probe(cluster.server.api.edge, str(component.port)) == expected
    [asked] = component.asked
    assert asked.path == "/healthz"
    assert str(asked.get("user-agent")).startswith("kube-probe/1.")
