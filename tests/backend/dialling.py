"""Backends to dial."""

from __future__ import annotations

import ssl

import pytest
import trio
import trio.testing

from kubetrio.backend.backends import Backends, KubeletConfig, PeerVerification
from kubetrio.backend.dial import (
    DialError,
)
from kubetrio.backend.guard import Guard
from kubetrio.env import seeded
from kubetrio.testing.backend import ReceivedRequest
from kubetrio.tls import pki
from kubetrio.transport import Transport


async def silence(asked: ReceivedRequest) -> None:
    await asked.receive()


class Resolver(trio.abc.HostnameResolver):
    """Knows one name."""

    async def getaddrinfo(self, host, port, family=0, type=0, proto=0, flags=0):  # noqa: A002
        if host not in ("node.test", b"node.test"):
            raise OSError("no such host")
        return [
            (trio.socket.AF_INET, trio.socket.SOCK_STREAM, 6, "", ("127.0.0.2", port)),
            (trio.socket.AF_INET, trio.socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)),
        ]

    async def getnameinfo(self, sockaddr, flags):
        raise NotImplementedError


class Anywhere(Guard):
    """Lets tests connect to this machine."""

    def allows(self, address: str, port: int, *, kubelet: bool) -> bool:
        return True


async def connect(host: str, port: str, tls: ssl.SSLContext | None = None) -> Transport:
    made = Backends(KubeletConfig(timeout_s=5.0), seeded(0), unused, guard=Anywhere())
    if tls is None:
        return await made.connect(host, port, PeerVerification.PLAIN)
    made._contexts[PeerVerification.KUBELET] = (trio.current_time(), tls)
    return await made.connect(host, port, PeerVerification.KUBELET)


def unused() -> pki.KeyPair:
    raise AssertionError("nobody is shown a certificate")


async def refusal(host: str, port: str, tls: ssl.SSLContext | None = None) -> str:
    with pytest.raises(DialError) as caught:
        await connect(host, port, tls)
    return str(caught.value)
