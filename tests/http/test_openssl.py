"""Names of authorities in the request for a client certificate."""

from __future__ import annotations

import shutil
import ssl
import sys

import pytest
import trio

from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Response
from kubetrio.env import seeded
from kubetrio.http.openssl import name_authorities
from kubetrio.testing.server import listening
from kubetrio.tls import pki

OPENSSL = shutil.which("openssl")


async def anything(request: Request) -> AnyResponse:
    """An answer."""
    return Response(200, b"")


@pytest.mark.skipif(OPENSSL is None, reason="openssl is not on PATH")
@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
async def test_clients_are_told_whose_certificates_count(
    certificates: pki.Pki, version: str
) -> None:
    """As kube-apiserver tells them: the subjects of the authorities of client certificates."""
    assert OPENSSL is not None
    async with listening(anything, seeded(0), certificates) as listener:
        command = [OPENSSL, "s_client", version, "-connect", f"127.0.0.1:{listener.port}"]
        with trio.fail_after(10):
            done = await trio.run_process(command, capture_stdout=True, capture_stderr=True)
    names = done.stdout.decode().partition("Acceptable client certificate CA names\n")[2]
    assert names.splitlines()[0].replace(" ", "") == "CN=kubetrio-ca"


def test_an_interpreter_that_is_not_known_is_left_alone(
    certificates: pki.Pki, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a context keeps what is OpenSSL's is only known of some."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    monkeypatch.setattr(sys, "version_info", (4, 0, 0))
    assert not name_authorities(context, certificates.ca.cert)
